import { createHash } from "node:crypto";
import {
  chmod,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  utimes,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Header } from "tar-stream";
import type { DataDirectory } from "../data-directory.ts";
import { StorageError } from "../engine/database.ts";
import { copyTime } from "../engine/rotating-backup.ts";
import { prepareCopy } from "../restore-database.ts";
import { syncFolder } from "../sync.ts";
import { deleteAllUploads } from "../tables/vault/uploads.ts";
import {
  backupInfo,
  CONFIG,
  DATABASE,
  FOLDERS,
  INFO,
  KEY_RECORD,
  openSealedKeys,
  SEALED_KEYS,
  USER_FILES,
} from "./contents.ts";
import { readArchive } from "./read-archive.ts";

/** A restored home. `kept` is the folder with the previous contents; null when the home was empty. */
export interface RestoredHome {
  readonly files: number;
  readonly createdAt: string;
  /**
   * `kept`: the keys that the home had before. `elsewhere`: the master key was never in the home, but in the keyring
   * of its machine or in the environment. `missing`: the home does not start without its `master.key`.
   */
  readonly keys: "restored" | "kept" | "elsewhere" | "missing";
  /** The keys of secret settings that the restored config file lacks. */
  readonly settingsLeftOut: readonly string[];
  readonly kept: string | null;
}

/** The source of an archive. */
export interface BackupSource {
  /** The name of the archive in errors. */
  readonly name: string;
  /** Its size; undefined if it is known only at the end. */
  readonly bytes: number | undefined;
  /** Opens it. When its storage fails, the stream ends with `StorageError`. */
  open(): Promise<AsyncIterable<Uint8Array>>;
}

export interface RestoreOptions {
  readonly source: BackupSource;
  readonly directory: DataDirectory;
  /** Opens the keys of the archive; undefined leaves them out. */
  readonly passphrase: string | undefined;
  readonly clock: () => number;
  /** Ends the unpacking; ignored once files are replaced. */
  readonly signal: AbortSignal;
  /** Receives the bytes of the archive that have been read, and its size. */
  readonly onProgress: (done: number, total: number | undefined) => void;
}

/**
 * Replaces the contents of a data directory by those of a backup. The archive is unpacked to a staging folder and
 * verified whole, its database included, before anything is replaced; the previous contents are moved to
 * `replaced-<time>/` in the data directory. The database is moved away first and put in place last, so an interrupted
 * run leaves a home that does not start; repeat it. Ends the uploads that were open at the time of the backup, which
 * lacks their bytes. Only for the holder of the instance lock.
 * @throws StorageError `corrupt` for a damaged or incomplete archive, `failed` for a wrong passphrase; nothing is
 * replaced
 */
export async function restoreBackup(options: RestoreOptions): Promise<RestoredHome> {
  const { source, directory, passphrase, clock, signal } = options;
  const { name } = source;
  const stage = join(directory.tmp, "restore");
  await rm(stage, { recursive: true, force: true });
  try {
    await mkdir(stage, { mode: 0o700 });
    await assertReplaceable(directory);
    const { files, folders } = await unpack(options, stage);
    const info = backupInfo.safeParse(await readJson(join(stage, INFO)));
    if (!info.success)
      throw new StorageError("corrupt", `${name} is a backup of a later croft: upgrade croft`);
    const hasKeys = await restoreKeys(stage, passphrase);
    await prepareCopy(join(stage, DATABASE), name, clock, deleteAllUploads);
    signal.throwIfAborted();
    // Folders before their parents, which may forbid changes.
    for (const folder of folders.toReversed()) await setAttributes(folder);
    const replacedFolder = await swap(stage, directory, copyTime(clock()));
    const keys = hasKeys ? "restored" : await restoreKeyRecord(stage, directory);
    const { created_at: createdAt, settings_left_out: leftOut } = info.data;
    const settingsLeftOut = hasKeys ? [] : leftOut;
    return { files, createdAt, keys, settingsLeftOut, kept: replacedFolder };
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

/** Returns undefined for a file that is not JSON. */
async function readJson(path: string): Promise<unknown> {
  const text = await readFile(path, "utf8");
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A folder of `files/` with its attributes, which it gets when everything in it is there. */
interface UnpackedFolder {
  readonly at: string;
  readonly mode: number;
  readonly modifiedAt: Date | undefined;
}

/** Unpacks and verifies an archive. Returns the number of its files, and the folders below `files/`. */
async function unpack(
  { source, signal, onProgress }: RestoreOptions,
  stage: string,
): Promise<{ readonly files: number; readonly folders: readonly UnpackedFolder[] }> {
  const archive = await source.open();
  const folders: UnpackedFolder[] = [];
  let done = 0;
  async function* counted(chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of refuseCompressed(chunks, source.name)) {
      signal.throwIfAborted();
      onProgress((done += chunk.byteLength), source.bytes);
      yield chunk;
    }
  }
  const attributesOf = ({ mode, mtime }: Header) => ({
    // Only permissions: no file of a backup runs as its owner.
    mode: mode & 0o777,
    modifiedAt: mtime,
  });
  try {
    const files = await readArchive(counted(archive), source.name, {
      consequence: "; nothing was replaced",
      async onFolder(path, header) {
        const at = join(stage, path);
        await mkdir(at, { recursive: true, mode: 0o700 });
        if (path.startsWith(USER_FILES)) folders.push({ at, ...attributesOf(header) });
      },
      async onFile(path, content, header) {
        const at = join(stage, path);
        await mkdir(dirname(at), { recursive: true, mode: 0o700 });
        const hash = await writeSynced(at, content);
        if (path.startsWith(USER_FILES)) await setAttributes({ at, ...attributesOf(header) });
        return hash;
      },
    });
    return { files, folders };
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

async function setAttributes({ at, mode, modifiedAt }: UnpackedFolder): Promise<void> {
  await chmod(at, mode);
  if (modifiedAt !== undefined) await utimes(at, modifiedAt, modifiedAt);
}

/**
 * Looks before anything is unpacked whether the folders can be replaced by a rename. @throws StorageError `failed` for a
 * mount point, which cannot be renamed, and a link, whose content would come to another disk
 */
async function assertReplaceable({ root }: DataDirectory): Promise<void> {
  const { dev } = await lstat(root);
  for (const name of FOLDERS) {
    const path = join(root, name);
    const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
    if (found === undefined) continue;
    const kind = found.isSymbolicLink()
      ? "a link"
      : found.dev !== dev
        ? "a mount point"
        : undefined;
    if (kind !== undefined)
      throw new StorageError(
        "failed",
        `${path} is ${kind}, which a restore would replace by a folder on the disk of the home: restore to a new home ` +
          "(--home), or move its content into a plain folder first; nothing was replaced",
      );
  }
}

/** Users often compress archives. @throws StorageError `corrupt` for gzip, with the command that helps */
async function* refuseCompressed(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<Uint8Array, void, void> {
  let isFirst = true;
  for await (const chunk of chunks) {
    if (isFirst && chunk[0] === 0x1f && chunk[1] === 0x8b)
      throw new StorageError(
        "corrupt",
        `${name} is compressed: gunzip -c ${name} | croft daemon restore - --yes`,
      );
    isFirst = false;
    yield chunk;
  }
}

async function writeSynced(path: string, content: AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash("sha256");
  const file = await open(path, "wx", 0o600);
  try {
    for await (const chunk of content) {
      hash.update(chunk);
      await file.writeFile(chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return hash.digest("hex");
}

/**
 * Opens the sealed keys into `keys/` of the stage, and the whole config file in the place of the one without secrets; false
 * when no passphrase was given.
 */
async function restoreKeys(stage: string, passphrase: string | undefined): Promise<boolean> {
  if (passphrase === undefined) return false;
  const sealed = await readFile(join(stage, SEALED_KEYS)).catch((error: unknown) => {
    throw new StorageError(
      "failed",
      "the backup holds no keys: leave out --with-keys and --passphrase-stdin",
      {
        cause: error,
      },
    );
  });
  const files = openSealedKeys(sealed, passphrase);
  await mkdir(join(stage, "keys"), { mode: 0o700 });
  for (const [name, bytes] of files) {
    const path = name === CONFIG ? join(stage, CONFIG) : join(stage, "keys", name);
    await writeFile(path, bytes, { mode: 0o600, flush: true });
  }
  return true;
}

/** Records for a home without keys which master key it needs, so that it starts as soon as it gets that key. */
async function restoreKeyRecord(
  stage: string,
  { root, keys }: DataDirectory,
): Promise<RestoredHome["keys"]> {
  const names = await readdir(keys).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  if (names.includes(KEY_RECORD)) return "kept";
  await mkdir(keys, { recursive: true, mode: 0o700 });
  await move(join(stage, KEY_RECORD), join(keys, KEY_RECORD));
  await syncFolder(root);
  if (names.includes("master.key")) return "kept";
  const record = await readFile(join(keys, KEY_RECORD), "utf8");
  return /"source":"(?:keyring|environment)"/.test(record) ? "elsewhere" : "missing";
}

async function swap(stage: string, directory: DataDirectory, at: string): Promise<string | null> {
  const { root } = directory;
  const replacedFolder = await makeFreeFolder(root, `replaced-${at}`);
  const staged = await readdir(stage);
  const replaced = [
    ...["", "-wal", "-shm"].map((end) => DATABASE + end),
    ...FOLDERS,
    "uploads",
    ...["keys", CONFIG].filter((name) => staged.includes(name)),
  ];
  // A new home has only empty folders, which are not worth keeping.
  for (const name of replaced) await removeEmptyFolder(join(root, name));
  let count = 0;
  for (const name of replaced) count += await move(join(root, name), join(replacedFolder, name));
  await syncFolder(root);
  for (const name of [...FOLDERS, "keys", CONFIG]) await move(join(stage, name), join(root, name));
  await move(join(stage, DATABASE), join(root, DATABASE));
  await syncFolder(root);
  if (count > 0) return replacedFolder;
  await rm(replacedFolder, { recursive: true });
  return null;
}

async function makeFreeFolder(root: string, name: string): Promise<string> {
  for (let count = 1; ; count += 1) {
    const path = join(root, count === 1 ? name : `${name}-${count}`);
    try {
      await mkdir(path, { mode: 0o700 });
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

async function removeEmptyFolder(path: string): Promise<void> {
  try {
    await rmdir(path);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (!["ENOENT", "ENOTDIR", "ENOTEMPTY", "EEXIST"].includes(code)) throw error;
  }
}

/** Moves a file or folder if it exists; returns the number of moved ones. */
async function move(from: string, to: string): Promise<number> {
  try {
    await rename(from, to);
    return 1;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return 0;
    throw error;
  }
}
