import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { type Entry, openPromise, type ZipFile } from "yauzl";
import type { CliContext } from "../context.ts";
import { CliError } from "../errors.ts";
import { createPartFolders, type PartFolders } from "./part-files.ts";
import { saveStream } from "./save-stream.ts";

const ENTRIES_MAX = 100_000;
/** Maximum total of unpacked bytes of one archive: a zip bomb of a few megabytes would fill the disk. */
const UNPACKED_BYTES_MAX = 64 * 1024 ** 3;
const FILE_TYPE_MASK = 0o170000;
const SYMBOLIC_LINK = 0o120000;

/**
 * Unpacks the files of a ZIP archive into a folder and returns how many there are. Names that lead out of the folder
 * and symbolic links are refused. Each file appears when it is complete; after a failure those that are unpacked stay.
 * @throws CliError `file_error` for a damaged archive, `conflict` for a file that exists, without `overwrite`
 */
export async function extractArchive(
  cli: CliContext,
  archive: string,
  folder: string,
  { overwrite }: { readonly overwrite: boolean },
): Promise<number> {
  const zip = await openPromise(archive, { lazyEntries: true, autoClose: false }).catch(
    (error: unknown) => {
      throw toFileError("the archive is damaged", error);
    },
  );
  try {
    const parts = createPartFolders();
    let files = 0;
    let bytes = 0;
    for (let entry = await readEntry(zip); entry !== undefined; entry = await readEntry(zip)) {
      files += 1;
      bytes += entry.uncompressedSize;
      if (files > ENTRIES_MAX || bytes > UNPACKED_BYTES_MAX)
        throw new CliError("file_error", "the archive is too large to be unpacked");
      await extractEntry(cli, zip, entry, { folder, overwrite, parts });
    }
    return files;
  } finally {
    zip.close();
  }
}

interface Extraction {
  readonly folder: string;
  readonly overwrite: boolean;
  readonly parts: PartFolders;
}

async function extractEntry(
  cli: CliContext,
  zip: ZipFile,
  entry: Entry,
  { folder, overwrite, parts }: Extraction,
): Promise<void> {
  const { fileName } = entry;
  const target = join(folder, fileName);
  const mode = entry.externalFileAttributes >>> 16;
  if ((mode & FILE_TYPE_MASK) === SYMBOLIC_LINK)
    throw new CliError("file_error", `the archive has the symbolic link ${fileName}`);
  try {
    if (fileName.endsWith("/")) {
      await mkdir(target, { recursive: true });
      return;
    }
    await mkdir(dirname(target), { recursive: true });
    const isProgram = (mode & 0o111) !== 0;
    await saveStream(cli, await openEntry(zip, entry), {
      path: target,
      mayReplace: overwrite,
      mode: isProgram ? 0o777 : 0o666,
      hint: "--force replaces it",
      parts,
    });
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw toFileError(`could not unpack ${fileName}`, error);
  }
}

function openEntry(zip: ZipFile, entry: Entry): Promise<Readable> {
  return new Promise((resolve, reject) =>
    zip.openReadStream(entry, (error, stream) =>
      error === null ? resolve(stream) : reject(error),
    ),
  );
}

/** Returns the next entry; undefined at the end. */
function readEntry(zip: ZipFile): Promise<Entry | undefined> {
  return new Promise((resolve, reject) => {
    const settle = (work: () => void) => {
      zip.removeAllListeners("entry").removeAllListeners("end").removeAllListeners("error");
      zip.on("error", () => undefined);
      work();
    };
    zip.once("entry", (entry: Entry) => settle(() => resolve(entry)));
    zip.once("end", () => settle(() => resolve(undefined)));
    zip.once("error", (error) =>
      settle(() => reject(toFileError("the archive is damaged", error))),
    );
    zip.readEntry();
  });
}

function toFileError(text: string, error: unknown): CliError {
  const reason = error instanceof Error ? error.message : String(error);
  return new CliError("file_error", `${text}: ${reason}`, { cause: error });
}
