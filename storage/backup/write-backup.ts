import { createHash, type Hash } from "node:crypto";
import type { Dirent } from "node:fs";
import { open, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { DataDirectory } from "../data-directory.ts";
import { StorageError } from "../engine/database.ts";
import { backupDatabase } from "../engine/sqlite-maintenance.ts";
import { type ArchiveTarget, type ArchiveWriter, createArchiveWriter } from "./archive-writer.ts";
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
import { appendFile, READ_FLAGS, readWhole } from "./read-files.ts";

export interface BackupOptions extends ArchiveTarget {
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
}

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
  const { directory, mark } = options;
  const copy = join(directory.tmp, `backup-${mark}.db`);
  const manifest = join(directory.tmp, `backup-${mark}.sha256`);
  try {
    // An earlier process with this mark may have died during its backup.
    await rm(copy, { force: true });
    await removeAbandoned(directory.tmp);
    await backupDatabase(directory.database, copy);
    const leftOut: LeftOut[] = [];
    let leftOutCount = 0;
    const leaveOut = (path: string, reason: LeftOut["reason"]) => {
      leftOutCount += 1;
      if (leftOut.length < LEFT_OUT_MAX) leftOut.push({ path, reason });
    };
    const archive = createArchiveWriter(options);
    try {
      const files = await writeContents(archive, options, { copy, manifest, leaveOut });
      return { files, bytes: await archive.end(), leftOut, leftOutCount };
    } finally {
      await archive.close();
    }
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
  archive: ArchiveWriter,
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
  const startedAt = new Date(now);
  let files = 0;
  const add = async (
    { name, mode = 0o600, mtime = startedAt, size }: FileHeader,
    content: (hash: Hash) => Promise<void>,
  ) => {
    const hash = createHash("sha256");
    await archive.header({ name, size, mode, mtime });
    await content(hash);
    await archive.pad(size);
    if (name === MANIFEST) return;
    files += 1;
    await manifest.writeFile(`${hash.digest("hex")}  ${name}\n`);
  };
  const addBytes = (name: string, bytes: Buffer, attributes?: Attributes) =>
    add({ name, size: bytes.byteLength, ...attributes }, (hash) => {
      hash.update(bytes);
      return archive.append(bytes);
    });
  const addFile = async (name: string, path: string) => {
    // Opened before the archive names it: a file that cannot be read is left out.
    const file = await open(path, READ_FLAGS).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") leaveOut(name, "unreadable");
    });
    if (file === undefined) return;
    try {
      const stats = await file.stat();
      const attributes = name.startsWith(USER_FILES)
        ? { mode: stats.mode & 0o777, mtime: stats.mtime }
        : {};
      const content = await readWhole(file, stats.size);
      if (content === "unreadable") leaveOut(name, "unreadable");
      else if (content !== "large") await addBytes(name, content, attributes);
      else
        await add({ name, size: stats.size, ...attributes }, (hash) =>
          appendFile(archive, file, stats.size, hash, () => leaveOut(name, "truncated")),
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
      : { mode: 0o700, mtime: startedAt };
    await archive.header({ name: `${name}/`, size: 0, ...attributes });
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
      created_at: startedAt.toISOString(),
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
  return files;
}

/** Git's objects are read after the references. */
const OBJECTS = Buffer.from("objects");

/** What a backup holds of user's files; other files are private, and as old as the backup. */
interface Attributes {
  readonly mode?: number;
  readonly mtime?: Date;
}

interface FileHeader extends Attributes {
  readonly name: string;
  readonly size: number;
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

async function sizeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(ignoreMissing))?.size;
}

/** Files come and go under a running daemon. */
function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}
