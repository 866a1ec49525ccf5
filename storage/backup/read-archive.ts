import { createHash } from "node:crypto";
import { pipeline } from "node:stream/promises";
import { extract as createExtract, type Header } from "tar-stream";
import { StorageError } from "../engine/database.ts";
import { DATABASE, INFO, isContent, MANIFEST } from "./contents.ts";

/** What is done with the entries of an archive while it is read. */
export interface ArchiveVisitor {
  /** The end of an error's message. */
  readonly consequence: string;
  /** Receives a folder, without the slash at its end. */
  readonly onFolder: (path: string, header: Header) => Promise<void>;
  /** Reads the content of a file to its end, and returns its SHA-256 in hexadecimal. */
  readonly onFile: (
    path: string,
    content: AsyncIterable<Buffer>,
    header: Header,
  ) => Promise<string>;
}

/**
 * Reads an archive to its end, and returns the number of its files. Both a restore and the writer of a backup read it so:
 * what this function refuses is never a backup. @throws StorageError `corrupt` when it is damaged or incomplete, holds
 * anything that no backup holds, or has a file that differs from its SHA-256
 */
export async function readArchive(
  archive: AsyncIterable<Uint8Array>,
  name: string,
  { consequence, onFolder, onFile }: ArchiveVisitor,
): Promise<number> {
  const damaged = (reason: string, cause?: unknown) =>
    new StorageError("corrupt", `${name} is not a whole backup (${reason})${consequence}`, {
      cause,
    });
  const extract = createExtract();
  const reading = pipeline(archive, extract);
  // Reported by the loop, which ends with it.
  reading.catch(() => undefined);
  const required = new Set([INFO, DATABASE]);
  const found = createHash("sha256");
  let files = 0;
  let listed: string | undefined;
  try {
    for await (const entry of extract) {
      const { header } = entry;
      const path = header.name.replace(/\/$/, "");
      const isFolder = header.type === "directory";
      if (isFolder ? !isContent(`${path}/x`) : header.type !== "file" || !isContent(path))
        throw damaged(`it holds ${JSON.stringify(header.name)}`);
      if (listed !== undefined) throw damaged("it has bytes after its end");
      if (isFolder) {
        await onFolder(path, header);
        entry.resume();
        continue;
      }
      const hash = await onFile(path, entry as AsyncIterable<Buffer>, header);
      required.delete(path);
      if (path === MANIFEST) {
        listed = hash;
        continue;
      }
      files += 1;
      found.update(`${hash}  ${path}\n`);
    }
    await reading;
  } catch (error) {
    if (error instanceof StorageError || isFileError(error)) throw error;
    throw damaged(error instanceof Error ? error.message : String(error), error);
  }
  if (listed === undefined) throw damaged("its end is missing");
  if (listed !== found.digest("hex")) throw damaged("a file differs from its SHA-256");
  const [missing] = required;
  if (missing !== undefined) throw damaged(`it has no ${missing}`);
  return files;
}

/** A failure of this disk does not mean a damaged archive, except for names that croft never writes. */
function isFileError(error: unknown): boolean {
  const code = String((error as NodeJS.ErrnoException).code ?? "");
  return /^E[A-Z]+$/.test(code) && !["EEXIST", "ENOTDIR", "EISDIR", "ENAMETOOLONG"].includes(code);
}

/** Reads an archive without keeping anything of it. */
export const proof: ArchiveVisitor = {
  consequence: "",
  onFolder: async () => undefined,
  async onFile(_path, content) {
    const hash = createHash("sha256");
    for await (const chunk of content) hash.update(chunk);
    return hash.digest("hex");
  },
};
