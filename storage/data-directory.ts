// storage: rows and bytes. It imports nothing else of the project; its callers receive it as a dependency.
// Folders: engine (the database port), tables and migrations (the only SQL), cache, objects, git, s3, cloud, keys, backup.
// Start here: this file creates the data directory, instance-lock.ts makes sure that one daemon uses it.
import { hash } from "node:crypto";
import { chmod, lstat, mkdir, open, readdir, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** The absolute paths inside a data directory. */
export interface DataDirectory {
  readonly root: string;
  /** The SQLite database, with `-wal` and `-shm` beside it. */
  readonly database: string;
  readonly objects: string;
  readonly cache: string;
  readonly repositories: string;
  readonly packages: string;
  /** Mails as `.eml` files when there is no mail server. */
  readonly outbox: string;
  readonly exports: string;
  /** The bytes of uploads that are sent in parts, until they are complete. */
  readonly uploads: string;
  readonly backups: string;
  readonly keys: string;
  /** Staging files; on the same file system as the rest, so that a rename is atomic. */
  readonly tmp: string;
}

/**
 * The reason why a data directory cannot be used. `exposed`: other users may write to it. `not_ours`: it belongs to
 * another user. `database_missing`: it was in use, but its database is missing. `missing_parent`: the folder above does
 * not exist. `readonly`: it cannot be written. `full`: no space left.
 */
export type DataDirectoryErrorCode =
  | "not_a_folder"
  | "not_ours"
  | "exposed"
  | "missing_parent"
  | "readonly"
  | "full"
  | "database_missing"
  | "failed";

/** The data directory cannot be used. The message names the problem and its remedy. */
export class DataDirectoryError extends Error {
  readonly code: DataDirectoryErrorCode;
  readonly path: string;

  constructor(code: DataDirectoryErrorCode, path: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "DataDirectoryError";
    this.code = code;
    this.path = path;
  }
}

export interface OpenOptions {
  /** The user that the process runs as (`process.getuid()`); undefined where files have no owner, as on Windows. */
  readonly userId: number | undefined;
  /** Whether to create missing parent folders: true for the platform's folders, false for a path that a user typed. */
  readonly createParents: boolean;
}

/** Returns a name that is unique to this data directory and stays the same. */
export async function identifyDirectory(
  { root }: DataDirectory,
  newId: () => string,
): Promise<string> {
  const { ino, birthtimeNs } = await stat(root, { bigint: true });
  // File systems without creation times: each start counts as another daemon.
  const born = birthtimeNs === 0n ? newId() : String(birthtimeNs);
  return hash("sha256", `${ino} ${born}`).slice(0, 16);
}

/** Returns the paths inside `root`. Creates nothing. */
export function toDataDirectory(root: string): DataDirectory {
  return {
    root,
    database: join(root, "croft.db"),
    objects: join(root, "objects"),
    cache: join(root, "cache"),
    repositories: join(root, "repositories"),
    packages: join(root, "packages"),
    outbox: join(root, "outbox"),
    exports: join(root, "exports"),
    uploads: join(root, "uploads"),
    backups: join(root, "backups"),
    keys: join(root, "keys"),
    tmp: join(root, "tmp"),
  };
}

/**
 * Creates the data directory and its folders where they are missing, all with mode 0700, and checks that it can be
 * written. Idempotent. Removes the read permission of other users from the folders. Refuses a folder that other users may
 * write to unless it is empty, because its content cannot be trusted. A folder that croft empties must be its own: neither
 * a link nor a folder with files of other programs.
 * @throws DataDirectoryError
 */
export async function openDataDirectory(
  root: string,
  options: OpenOptions,
): Promise<DataDirectory> {
  const directory = toDataDirectory(root);
  await assertMayBeEmptied(directory);
  await claimFolder(root, options);
  const { database: _database, root: _root, ...folders } = directory;
  for (const folder of Object.values(folders)) {
    await claimFolder(folder, { ...options, createParents: false });
  }
  await proveWritable(directory);
  return directory;
}

/** Returns whether `directory` holds a database. If so, a missing master key is lost and must not be created. */
export async function holdsDatabase({ database }: DataDirectory): Promise<boolean> {
  return exists(database);
}

/** Exists while the first start of a home creates keys and database, so that an interrupted first start can be repeated. */
const FIRST_START = ".first-start";

/**
 * Begins the first start of a home without a database. Throws `DataDirectoryError` `database_missing` when the home has
 * keys, repositories or packages: with a new database all of them would be lost.
 */
export async function beginFirstStart(directory: DataDirectory): Promise<void> {
  const { root, keys, repositories, packages, backups } = directory;
  const mark = join(root, FIRST_START);
  if (!(await exists(mark))) {
    for (const folder of [keys, repositories, packages])
      if (await holdsFiles(folder))
        throw new DataDirectoryError(
          "database_missing",
          root,
          `${root} holds keys, repositories or packages, but no database. Restore a copy with ` +
            `\`croft daemon restore --database latest\` (copies are in ${backups}), or name an empty folder with CROFT_HOME.`,
        );
    await writeFile(mark, "", { mode: 0o600 }).catch((error: unknown) => {
      throw toError(root, error);
    });
  }
}

/** Ends the first start, once the database exists; also one that a crash interrupted in between. */
export async function endFirstStart({ root }: DataDirectory): Promise<void> {
  await rm(join(root, FIRST_START), { force: true });
}

/** Returns whether a folder or its direct subfolders hold a file, such as a repository below its owner's folder. */
async function holdsFiles(folder: string): Promise<boolean> {
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (!entry.isDirectory() || (await holdsFiles(join(folder, entry.name)))) return true;
  return false;
}

/** Creates a folder of mode 0700 and its parents, as for the default of `local_roots`. @throws DataDirectoryError */
export async function createPrivateFolder(path: string): Promise<void> {
  try {
    await makeWithParents(path);
  } catch (error) {
    throw await toFolderError(path, error);
  }
}

/** Creates a folder and its parents. Node's own `recursive` never returns where an existing folder cannot hold another one, as in /proc. */
async function makeWithParents(path: string): Promise<void> {
  const make = async () => {
    try {
      await mkdir(path, { mode: 0o700 });
    } catch (error) {
      const isThere = codeOf(error) === "EEXIST" && (await stat(path)).isDirectory();
      if (!isThere) throw error;
    }
  };
  try {
    await make();
  } catch (error) {
    if (codeOf(error) !== "ENOENT" || dirname(path) === path) throw error;
    await makeWithParents(dirname(path));
    await make();
  }
}

/** Deletes the staging files that a crash left. Only for the holder of the instance lock. */
export async function emptyTemporaryFolder({ tmp }: DataDirectory): Promise<void> {
  for (const name of await readdir(tmp)) {
    await rm(join(tmp, name), { recursive: true, force: true });
  }
}

/**
 * Croft deletes unknown files in `tmp` and `cache`. Through a link it would do so elsewhere, and in a folder that is in
 * use already, such as a home directory, they may belong to other programs.
 */
async function assertMayBeEmptied(directory: DataDirectory): Promise<void> {
  const { root, database, tmp, cache } = directory;
  const isKnown = (await exists(join(root, "croft.lock"))) || (await exists(database));
  for (const path of [tmp, cache]) {
    const found = await lstat(path).catch((error: unknown) => {
      if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return undefined;
      throw toError(path, error);
    });
    if (found?.isSymbolicLink() === true)
      throw new DataDirectoryError(
        "not_a_folder",
        path,
        `${path} is a link, but croft empties this folder: remove the link, or mount the other disk there`,
      );
    const isUsed = async () => (await readdir(path)).some((name) => name !== WRITE_TEST);
    if (!isKnown && found?.isDirectory() === true && (await isUsed()))
      throw new DataDirectoryError(
        "not_ours",
        path,
        `${path} holds files that are not croft's, and croft would empty it; name a folder of croft's own with CROFT_HOME`,
      );
  }
}

/** An interrupted or concurrent start leaves this file before the lock marks the folder as croft's. */
const WRITE_TEST = ".write-test";

/** `croft serve` opens its log there before it checks the data directory, so that an empty volume is not empty any more. */
const LOG_FOLDER = "state";

async function claimFolder(path: string, options: OpenOptions): Promise<void> {
  try {
    if (options.createParents) await makeWithParents(path);
    else await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== "EEXIST") {
      throw await toFolderError(path, error);
    }
  }
  const found = await stat(path).catch(async (error: unknown) => {
    throw await toFolderError(path, error);
  });
  if (!found.isDirectory()) {
    throw new DataDirectoryError("not_a_folder", path, `${path} is not a folder`);
  }
  if (options.userId === undefined) {
    return;
  }
  if (found.uid !== options.userId) {
    throw new DataDirectoryError(
      "not_ours",
      path,
      `${path} belongs to user ${found.uid}, but croft runs as user ${options.userId}; ` +
        `run croft as its owner, or give it to this user with: chown -R ${options.userId} ${path}`,
    );
  }
  if ((found.mode & 0o022) !== 0 && (await readdir(path)).some((name) => name !== LOG_FOLDER)) {
    const mode = (found.mode & 0o777).toString(8).padStart(4, "0");
    throw new DataDirectoryError(
      "exposed",
      path,
      `others may write to ${path} (mode ${mode}); check its content, then: chmod 700 ${path}`,
    );
  }
  if ((found.mode & 0o077) !== 0) {
    await chmod(path, 0o700).catch((error: unknown) => {
      throw toError(path, error);
    });
  }
}

/** Only a write detects a full disk or a read-only mount. */
async function proveWritable({ root, tmp }: DataDirectory): Promise<void> {
  const path = join(tmp, WRITE_TEST);
  try {
    const file = await open(path, "w", 0o600);
    try {
      await file.write(Buffer.alloc(4096, 1));
      await file.sync();
    } finally {
      await file.close();
      await rm(path, { force: true });
    }
  } catch (error) {
    throw toError(root, error);
  }
}

/** Converts the failure of creating a folder. Names the folder that is really missing. */
async function toFolderError(path: string, error: unknown): Promise<DataDirectoryError> {
  const refuse = (message: string) => new DataDirectoryError("not_a_folder", path, message, error);
  const found = await lstat(path).catch(() => undefined);
  if (found?.isSymbolicLink() === true && codeOf(error) !== "ELOOP")
    return refuse(`${path} is a link to a missing folder; create the folder or correct the link`);
  if (found?.isFile() === true) return refuse(`${path} is not a folder`);
  if (codeOf(error) === "ENOENT" && (await exists(dirname(path))))
    return refuse(`${path} cannot be made: ${dirname(path)} holds no folders; name another place`);
  return toError(path, error);
}

function toError(path: string, error: unknown): DataDirectoryError {
  const refuse = (code: DataDirectoryErrorCode, message: string) =>
    new DataDirectoryError(code, path, message, error);
  switch (codeOf(error)) {
    case "ENOENT":
      return refuse(
        "missing_parent",
        `${dirname(path)} does not exist; make it first, or name another folder`,
      );
    case "ENOTDIR":
      return refuse("not_a_folder", `${path} cannot be made: something above it is not a folder`);
    case "ELOOP":
      return refuse("not_a_folder", `${path} is part of a cycle of symbolic links; correct it`);
    case "ENAMETOOLONG":
      return refuse("failed", `${path} is longer than the system allows; name another folder`);
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return refuse(
        "readonly",
        `${path} cannot be written by this user; check its owner and mode and how it is mounted, or name another folder`,
      );
    case "ENOSPC":
    case "EDQUOT":
      return refuse("full", `no room left for ${path}; free some space and start again`);
    default:
      return refuse(
        "failed",
        `${path} cannot be used: ${error instanceof Error ? error.message : String(error)}`,
      );
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") {
      return false;
    }
    throw toError(path, error);
  }
}
