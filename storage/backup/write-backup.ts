import { createHash } from "node:crypto";
import { open, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { pack as createPack, type Pack } from "tar-stream";
import type { DataDirectory } from "../data-directory.ts";
import { StorageError } from "../engine/database.ts";
import { backupDatabase } from "../engine/sqlite-maintenance.ts";
import {
  CONFIG,
  DATABASE,
  FOLDERS,
  INFO,
  KEY_RECORD,
  MANIFEST,
  SEALED_KEYS,
  sealKeys,
  type SettingsCopy,
} from "./contents.ts";

export interface BackupOptions {
  readonly directory: DataDirectory;
  /** The folder of repositories, which may lie outside of the data directory. */
  readonly repositories: string;
  /** The file or folder of the backup, which may lie in the home; it is not backed up itself. */
  readonly target?: string | undefined;
  /** Reads the config file; resolves with undefined when there is none. */
  readonly readSettings: () => Promise<SettingsCopy | undefined>;
  /** Includes `keys/` and the whole config file, sealed with this passphrase. */
  readonly passphrase: string | undefined;
  /** Returns the files of `keys/` that hold the master key; called with a passphrase only. */
  readonly exportKeys: () => Promise<ReadonlyMap<string, Buffer>>;
  /** The version of croft. */
  readonly version: string;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Distinguishes the temporary files of this backup, such as the process id. */
  readonly mark: string;
  /** Receives the archive; resolves when it can take more. */
  readonly write: (chunk: Uint8Array) => Promise<void>;
  /** Syncs the written bytes to disk if the archive is a file; called every few MiB. */
  readonly flush?: (() => Promise<void>) | undefined;
}

/**
 * On ext4, an `fsync` of any file waits for all unflushed data of the file system. At most two of these portions of
 * the archive are unflushed, so that commits of the daemon wait for no more.
 */
const FLUSH_BYTES = 8 * 1024 * 1024;

/** Counts of the contents of a backup; `bytes` is the size of the archive. */
export interface BackupSummary {
  readonly files: number;
  readonly bytes: number;
}

/**
 * Writes a backup of a data directory with an embedded database, whether a daemon serves it or not, in constant memory.
 * The database is copied first, by SQLite's online backup. References of a repository are read before its objects, so a
 * concurrent push does no harm; data that is deleted meanwhile may be missing from the backup.
 * @throws StorageError, and errors of `write`
 */
export async function writeBackup(options: BackupOptions): Promise<BackupSummary> {
  const { directory, mark, write, flush } = options;
  const copy = join(directory.tmp, `backup-${mark}.db`);
  const manifest = join(directory.tmp, `backup-${mark}.sha256`);
  try {
    // An earlier process with this mark may have died during its backup.
    await rm(copy, { force: true });
    await removeAbandoned(directory.tmp);
    await backupDatabase(directory.database, copy);
    const pack = createPack();
    const contents = writeContents(pack, options, copy, manifest);
    // The reader below reports the failure.
    const produced = contents.catch((error: Error) => {
      pack.destroy(error);
      return 0;
    });
    let bytes = 0;
    // One chunk is written while the next one is read and hashed.
    let writing = Promise.resolve();
    let flushing = Promise.resolve();
    let unflushed = 0;
    try {
      for await (const chunk of pack) {
        bytes += (chunk as Uint8Array).byteLength;
        await writing;
        writing = write(chunk as Uint8Array);
        // The next iteration reports the failure, or the code after the loop.
        writing.catch(() => undefined);
        unflushed += (chunk as Uint8Array).byteLength;
        if (flush === undefined || unflushed < FLUSH_BYTES) continue;
        unflushed = 0;
        await flushing;
        flushing = flush();
        flushing.catch(() => undefined);
      }
      await Promise.all([writing, flushing]);
    } finally {
      pack.destroy();
      await produced;
    }
    return { files: await contents, bytes };
  } finally {
    await rm(copy, { force: true });
    await rm(manifest, { force: true });
  }
}

/** Removes the temporary files of backups whose process was killed. They are as large as the database. */
async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const [, pid] = /^backup-(\d+)\.(?:db|db-journal|sha256)$/.exec(name) ?? [];
    if (pid !== undefined && Number(pid) !== process.pid && isOver(Number(pid)))
      await rm(join(folder, name), { force: true });
  }
}

function isOver(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}

/** Estimates the bytes of a backup: the sizes of all files, as far as they can be read, with their headers. */
export async function estimateBackup({
  directory,
  repositories,
}: Pick<BackupOptions, "directory" | "repositories">): Promise<number> {
  let bytes = (await sizeOf(directory.database)) ?? 0;
  const count = async (path: string): Promise<void> => {
    const entries = await readdir(path, { withFileTypes: true }).catch(ignoreMissing);
    for (const entry of entries ?? []) {
      const at = join(path, entry.name);
      if (entry.isDirectory()) await count(at);
      else bytes += HEADER_BYTES + ((await sizeOf(at)) ?? 0);
    }
  };
  for (const folder of FOLDERS) await count(pathOf(folder, directory, repositories));
  return bytes;
}

function pathOf(
  folder: (typeof FOLDERS)[number],
  { root }: DataDirectory,
  repositories: string,
): string {
  return folder === "repositories" ? repositories : join(root, folder);
}

/** A header and the padding of a file in a tar archive. */
const HEADER_BYTES = 1024;

async function writeContents(
  pack: Pack,
  {
    directory,
    repositories,
    target,
    readSettings,
    passphrase,
    exportKeys,
    version,
    now,
  }: BackupOptions,
  copy: string,
  manifestPath: string,
): Promise<number> {
  const manifest = await open(manifestPath, "w", 0o600);
  const mtime = new Date(now);
  let files = 0;
  const add = async (name: string, size: number, content: AsyncIterable<Buffer>) => {
    const hash = createHash("sha256");
    const entry = pack.entry({ name, size, mode: 0o600, mtime });
    for await (const chunk of content) {
      hash.update(chunk);
      if (!entry.write(chunk)) await drained(entry);
    }
    entry.end(undefined);
    if (name === MANIFEST) return;
    files += 1;
    await manifest.writeFile(`${hash.digest("hex")}  ${name}\n`);
  };
  const addBytes = (name: string, bytes: Buffer) => add(name, bytes.byteLength, once(bytes));
  const addFile = async (name: string, path: string) => {
    const size = await sizeOf(path);
    if (size === undefined) return;
    // A small file may be replaced at any moment; it is read at once.
    if (size > SMALL_BYTES) return add(name, size, readExactly(path, size));
    const bytes = await readFile(path).catch(ignoreMissing);
    if (bytes !== undefined) await addBytes(name, bytes);
  };
  /** A daemon that starts meanwhile empties `tmp/`: without these files an archive cannot be restored. */
  const addOwn = async (name: string, path: string) => {
    if ((await sizeOf(path)) === undefined)
      throw new StorageError(
        "failed",
        `${path} was removed while the backup ran, as by a daemon that started; back up once more`,
      );
    await addFile(name, path);
  };
  const addFolder = async (name: string, path: string): Promise<void> => {
    const entries = await readdir(path, { withFileTypes: true }).catch(ignoreMissing);
    if (entries === undefined) return;
    pack.entry({ name: `${name}/`, type: "directory", mode: 0o700, mtime });
    const isObjects = (entry: { readonly name: string }) => Number(entry.name === "objects");
    for (const entry of entries.toSorted((a, b) => isObjects(a) - isObjects(b))) {
      const [below, at] = [`${name}/${entry.name}`, join(path, entry.name)];
      if (at === target) continue;
      if (entry.isDirectory()) await addFolder(below, at);
      else if (entry.isFile()) await addFile(below, at);
    }
  };

  try {
    const settings = await readSettings();
    const leftOut = settings?.leftOut ?? [];
    const info = {
      format: 1,
      version,
      created_at: mtime.toISOString(),
      ...(leftOut.length > 0 && { settings_left_out: leftOut }),
    };
    await addBytes(INFO, Buffer.from(`${JSON.stringify(info)}\n`));
    await addOwn(DATABASE, copy);
    if (settings?.withoutSecrets !== undefined) await addBytes(CONFIG, settings.withoutSecrets);
    await addFile(KEY_RECORD, join(directory.keys, KEY_RECORD));
    if (passphrase !== undefined) {
      const files = await readKeys(directory, await exportKeys());
      if (settings !== undefined) files.set(CONFIG, settings.whole);
      await addBytes(SEALED_KEYS, sealKeys(files, passphrase));
    }
    for (const folder of FOLDERS) await addFolder(folder, pathOf(folder, directory, repositories));
  } finally {
    await manifest.close();
  }
  await addOwn(MANIFEST, manifestPath);
  pack.finalize();
  return files;
}

const SMALL_BYTES = 1024 * 1024;

/** Returns the files of `keys/`, those of the master key in the form in which they are restored. */
async function readKeys(
  { keys }: DataDirectory,
  exported: ReadonlyMap<string, Buffer>,
): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  for (const name of await readdir(keys)) files.set(name, await readFile(join(keys, name)));
  for (const [name, bytes] of exported) files.set(name, bytes);
  return files;
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer, void, void> {
  yield bytes;
}

async function* readExactly(path: string, size: number): AsyncGenerator<Buffer, void, void> {
  const file = await open(path, "r");
  let read = 0;
  for await (const chunk of file.createReadStream({ end: size - 1, highWaterMark: 256 * 1024 })) {
    read += (chunk as Buffer).byteLength;
    yield chunk as Buffer;
  }
  if (read < size)
    throw new StorageError("failed", `${path} was changed while it was read; back up once more`);
}

/** Resolves when an entry can take more. @throws Error when the archive was or is closed early */
function drained(entry: ReturnType<Pack["entry"]>): Promise<void> {
  return new Promise((resolve, reject) => {
    const close = () => reject(new Error("the archive was closed early"));
    // An entry that was closed while a file was read sends no event any more.
    if (entry.destroyed) return close();
    entry.once("close", close);
    entry.once("drain", () => {
      entry.removeListener("close", close);
      resolve();
    });
  });
}

async function sizeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(ignoreMissing))?.size;
}

/** Files come and go under a running daemon. */
function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
