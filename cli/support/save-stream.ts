import { createHash } from "node:crypto";
import { type BigIntStats, createReadStream, createWriteStream } from "node:fs";
import { link, lstat, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { toPartPath } from "./file-names.ts";
import { createPartFolders, type PartFolders, toOwnerMark } from "./part-files.ts";

/** The target of a stream, and what is known of its bytes. */
export interface StreamTarget {
  /** Absolute. */
  readonly path: string;
  readonly mayReplace: boolean;
  /** In hexadecimal. */
  readonly sha256?: string | undefined;
  /** In bytes. */
  readonly size?: number | undefined;
  /** The permissions of a new file; 0666 by default. */
  readonly mode?: number;
  /** The advice for a file that exists. */
  readonly hint?: string;
  /** The folders of a command that saves many files; each is searched once for what killed runs have left. */
  readonly parts?: PartFolders;
  /** Receives the total number of bytes that have arrived. */
  readonly onProgress?: (bytes: number) => void;
}

/**
 * Writes a stream to a file, which appears under its name when it is complete and has the expected size and hash. Until then
 * its bytes are in a part file that no other process has. After a failure the part is removed; the next save to the same
 * path removes that of a killed process.
 * @throws CliError `conflict` when the file exists, `provider_failed` when other bytes arrived
 */
export async function saveStream(
  cli: CliContext,
  stream: Readable,
  { path, mayReplace, sha256, size, mode = 0o666, hint, parts, onProgress }: StreamTarget,
): Promise<void> {
  const part = toPartPath(path, toOwnerMark(cli.system));
  const hash = createHash("sha256");
  let bytes = 0;
  async function* counted(chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      hash.update(chunk);
      bytes += chunk.byteLength;
      onProgress?.(bytes);
      yield chunk;
    }
  }
  try {
    if (!mayReplace) await assertFree(path, hint);
    await (parts ?? createPartFolders()).sweep(path, cli.system);
    const { signal } = cli;
    await pipeline(stream, counted, createWriteStream(part, { flags: "wx", mode }), { signal });
    const isWhole = size === undefined || bytes === size;
    if (!isWhole || (sha256 !== undefined && hash.digest("hex") !== sha256))
      throw new CliError(
        "provider_failed",
        isWhole
          ? `${path}: the bytes that arrived have another SHA-256`
          : `${path}: ${bytes} of ${size} bytes arrived`,
        { hint: "repeat the download" },
      );
    if (mayReplace) await rename(part, path);
    else await putNew(part, path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    // The name of the part file would mean nothing to a user.
    throw new CliError("file_error", `${dirname(path)}: there is no such folder`, {
      hint: "create it first, or name another one",
      cause: error,
    });
  } finally {
    stream.destroy();
    await rm(part, { force: true });
  }
}

/** As `saveStream`, and shows the progress under a name. */
export async function saveWithProgress(
  cli: CliContext,
  name: string,
  stream: Readable,
  target: StreamTarget,
): Promise<void> {
  const progress = await cli.progress();
  const transfer = progress.begin(name, target.size);
  let outcome: "done" | "failed" = "failed";
  try {
    await saveStream(cli, stream, { ...target, onProgress: (bytes) => transfer.update(bytes) });
    outcome = "done";
  } finally {
    transfer.end(outcome);
    progress.finish();
  }
}

/** @throws CliError `conflict` when there is anything at `path`, be it a link that leads nowhere */
export async function assertFree(path: string, hint = TREE_HINT): Promise<void> {
  if ((await lstatIfThere(path)) !== undefined) throw toTaken(path, hint);
}

const TREE_HINT = "--force replaces it, --skip-existing leaves what is the same";
/** For a command that downloads one file. */
export const ONE_FILE_HINT = "--force replaces it, --output takes another name";

/**
 * Gives a complete part its name. Unlike a rename, this cannot replace a file that another process created meanwhile. A file
 * of the same bytes, as from a second download at the same time, is kept. @throws CliError `conflict` for other bytes
 */
export async function putNew(part: string, path: string): Promise<void> {
  try {
    await link(part, path);
  } catch (error) {
    if (codeOf(error) === "EEXIST") {
      if (!(await hasSameBytes(part, path))) throw toTaken(path, TREE_HINT);
    } else {
      if (!withoutLinks.has(codeOf(error))) throw error;
      await assertFree(path);
      return rename(part, path);
    }
  }
  await rm(part);
}

/** Error codes of file systems without hard links. */
const withoutLinks: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

async function hasSameBytes(part: string, path: string): Promise<boolean> {
  const [one, other] = [await lstatIfThere(part), await lstatIfThere(path)];
  if (one === undefined || other?.isFile() !== true || one.size !== other.size) return false;
  const hashes = await Promise.all([hashOf(part), hashOf(path)]);
  return hashes[0] === hashes[1];
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

function toTaken(path: string, hint: string): CliError {
  return new CliError("conflict", `${path} exists`, { hint });
}

export async function lstatIfThere(path: string): Promise<BigIntStats | undefined> {
  return lstat(path, { bigint: true }).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  });
}

export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "";
}
