import { createHash } from "node:crypto";
import { once } from "node:events";
import type { Dirent } from "node:fs";
import { open, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { pack as createPack, type Pack } from "tar-stream";
import type { DataDirectory } from "../data-directory.ts";
import { StorageError } from "../engine/database.ts";
import { backupDatabase } from "../engine/sqlite-maintenance.ts";
import {
  CONFIG,
  DATABASE,
  FOLDERS,
  INFO,
  isContent,
  KEY_RECORD,
  MANIFEST,
  SEALED_KEYS,
  sealKeys,
  type SettingsCopy,
  USER_FILES,
} from "./contents.ts";
import { proof, readArchive } from "./read-archive.ts";
import { inOne, READ_FLAGS, readWhole } from "./read-files.ts";

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
  /** What the archive lacks, at most `LEFT_OUT_MAX` of it. */
  readonly leftOut: readonly LeftOut[];
  readonly leftOutCount: number;
}

/** Something in a folder of the home that a backup does not hold as it is. */
export interface LeftOut {
  /** From the home on. */
  readonly path: string;
  /**
   * `link`: a symbolic link. `special`: a device, socket or named pipe. `name`: not valid UTF-8, or no archive may hold it.
   * `unreadable`: the system refused to read it. `truncated`: it became
   * shorter or unreadable while it was read, and ends in zeros.
   */
  readonly reason: "link" | "special" | "name" | "unreadable" | "truncated";
}

const LEFT_OUT_MAX = 100;

/**
 * Writes a backup of a data directory with an embedded database, whether a daemon serves it or not, in constant memory.
 * The database is copied first, by SQLite's online backup. References of a repository are read before its objects, so a
 * concurrent push does no harm; data that is deleted meanwhile may be missing from the backup. The archive is read back as a
 * restore would while it is written. What cannot be read is left out and named in the result.
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
    const leftOut: LeftOut[] = [];
    let leftOutCount = 0;
    const leaveOut = (path: string, reason: LeftOut["reason"]) => {
      leftOutCount += 1;
      if (leftOut.length < LEFT_OUT_MAX) leftOut.push({ path, reason });
    };
    const contents = writeContents(pack, options, { copy, manifest, leaveOut });
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
    const proving = new PassThrough();
    const proven = readArchive(proving, "what was written", proof);
    // The loop reports the failure.
    proven.catch(() => undefined);
    try {
      for await (const chunk of pack) {
        bytes += (chunk as Uint8Array).byteLength;
        await writing;
        writing = write(chunk as Uint8Array);
        // The next iteration reports the failure, or the code after the loop.
        writing.catch(() => undefined);
        if (!proving.write(chunk)) await Promise.race([once(proving, "drain"), proven]);
        unflushed += (chunk as Uint8Array).byteLength;
        if (flush === undefined || unflushed < FLUSH_BYTES) continue;
        unflushed = 0;
        await flushing;
        flushing = flush();
        flushing.catch(() => undefined);
      }
      await Promise.all([writing, flushing]);
      // A failure to read the home is the cause of an archive without end.
      await contents;
      proving.end();
      await proven;
    } finally {
      pack.destroy();
      proving.destroy();
      await produced;
    }
    return { files: await contents, bytes, leftOut, leftOutCount };
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
    // The backup itself reports what cannot be read.
    const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) {
      const at = join(path, entry.name);
      if (entry.isDirectory()) await count(at);
      else if (entry.isFile()) bytes += HEADER_BYTES + ((await sizeOf(at)) ?? 0);
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
  {
    copy,
    manifest: manifestPath,
    leaveOut,
  }: {
    readonly copy: string;
    readonly manifest: string;
    readonly leaveOut: (path: string, reason: LeftOut["reason"]) => void;
  },
): Promise<number> {
  const manifest = await open(manifestPath, "w", 0o600);
  const mtime = new Date(now);
  let files = 0;
  const add = async (header: FileHeader, content: AsyncIterable<Buffer>) => {
    const { name } = header;
    const hash = createHash("sha256");
    const entry = pack.entry({ mode: 0o600, mtime, ...header });
    for await (const chunk of content) {
      hash.update(chunk);
      if (!entry.write(chunk)) await drained(entry);
    }
    entry.end(undefined);
    if (name === MANIFEST) return;
    files += 1;
    await manifest.writeFile(`${hash.digest("hex")}  ${name}\n`);
  };
  const addBytes = (name: string, bytes: Buffer) =>
    add({ name, size: bytes.byteLength }, inOne(bytes));
  const addFile = async (name: string, path: string) => {
    // Opened before the archive names it: a file that cannot be read is left out.
    const file = await open(path, READ_FLAGS).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") leaveOut(name, "unreadable");
    });
    if (file === undefined) return;
    try {
      const stats = await file.stat();
      const attributes = name.startsWith(USER_FILES) && {
        mode: stats.mode & 0o777,
        mtime: stats.mtime,
      };
      const content = await readWhole(file, stats.size);
      if (content === undefined) leaveOut(name, "unreadable");
      else if (Buffer.isBuffer(content))
        await add({ name, size: content.byteLength, ...attributes }, inOne(content));
      else
        await add(
          { name, size: stats.size, ...attributes },
          content(() => leaveOut(name, "truncated")),
        );
    } finally {
      await file.close();
    }
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
    const options = { withFileTypes: true, encoding: "buffer" } as const;
    const entries = await readdir(path, options).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") leaveOut(name, "unreadable");
    });
    const stats = entries && (await stat(path).catch(ignoreMissing));
    if (entries === undefined || stats === undefined) return;
    const attributes = name.startsWith(USER_FILES)
      ? { mode: stats.mode & 0o777, mtime: stats.mtime }
      : { mode: 0o700, mtime };
    pack.entry({ name: `${name}/`, type: "directory", ...attributes });
    const isObjects = (entry: Dirent<Buffer>) => Number(entry.name.equals(OBJECTS));
    for (const entry of entries.toSorted((a, b) => isObjects(a) - isObjects(b))) {
      const text = entry.name.toString();
      const [below, at] = [`${name}/${text}`, join(path, text)];
      if (at === target) continue;
      if (!entry.name.equals(Buffer.from(text)) || !isContent(below)) leaveOut(below, "name");
      else if (entry.isDirectory()) await addFolder(below, at);
      else if (entry.isFile()) await addFile(below, at);
      else leaveOut(below, entry.isSymbolicLink() ? "link" : "special");
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

/** Git's objects are read after the references. */
const OBJECTS = Buffer.from("objects");

interface FileHeader {
  readonly name: string;
  readonly size: number;
  readonly mode?: number;
  readonly mtime?: Date;
}

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
