import { closeSync, openSync } from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { StorageError } from "./engine/database.ts";
import { parseJsonObject } from "./cloud/json.ts";

/** The process that uses a data directory. */
export interface InstanceProcess {
  readonly pid: number;
  /** Distinguishes the process from a later one with the same id; undefined where the system does not provide it. */
  readonly mark?: string | undefined;
  /** Epoch milliseconds. */
  readonly startedAt: number;
}

/** The daemon that uses a data directory. `urls` is empty until it listens. */
export interface InstanceHolder extends InstanceProcess {
  readonly urls: readonly string[];
}

/** The lock of a data directory, held until it is released or the process ends, also by a crash. */
export interface InstanceLock {
  /** Publishes the addresses of this instance in `daemon.json`. */
  announce(urls: readonly string[]): Promise<void>;
  /** Releases the lock. Idempotent. */
  release(): Promise<void>;
}

/** `taken` names the holder, unless it has not yet written `daemon.json`. */
export type InstanceLockOutcome =
  | { readonly kind: "acquired"; readonly lock: InstanceLock }
  | { readonly kind: "taken"; readonly holder: InstanceHolder | undefined };

/**
 * Acquires the lock of the data directory `root` for this process, without waiting.
 *
 * The lock is the write lock of a small SQLite file, `croft.lock`, held by a transaction that never ends. The
 * operating system drops it with the process, so a crash leaves nothing behind and no process id has to be trusted.
 * No other code of this process may open `croft.lock`: closing any descriptor of a file drops its POSIX locks.
 * `daemon.json` beside it names the holder, because a row would have to be committed, and a commit releases the lock for a
 * moment.
 * @throws StorageError `corrupt` when `croft.lock` is damaged, `readonly` or `full` when it cannot be created.
 */
export async function acquireInstanceLock(
  root: string,
  self: InstanceProcess,
): Promise<InstanceLockOutcome> {
  const db = await openLockFile(join(root, "croft.lock"));
  if (db === undefined) {
    return { kind: "taken", holder: await findInstanceHolder(root) };
  }
  const announce = (urls: readonly string[]) => writeHolder(root, { ...self, urls });
  try {
    await announce([]);
  } catch (error) {
    db.close();
    throw toStorageError(error, root);
  }
  openLocks.add(db);
  const release = async () => {
    if (!db.open) return;
    try {
      // Delete the file before releasing the lock: afterwards it could be that of the next holder.
      await rm(join(root, holderFile), { force: true });
    } finally {
      db.close();
      openLocks.delete(db);
    }
  };
  return { kind: "acquired", lock: { announce, release } };
}

/** Returns the holder that `daemon.json` names; after a crash that process may have ended. */
export async function findInstanceHolder(root: string): Promise<InstanceHolder | undefined> {
  let text: string;
  try {
    text = await readFile(join(root, holderFile), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") {
      return undefined;
    }
    throw toStorageError(error, root);
  }
  return parseHolder(text);
}

const holderFile = "daemon.json";

/** The locks of this process. The garbage collector would close a database without references, which releases its lock. */
const openLocks = new Set<Sqlite.Database>();

async function openLockFile(path: string): Promise<Sqlite.Database | undefined> {
  let db: Sqlite.Database | undefined;
  try {
    createOnce(path);
    db = new Sqlite(path, { timeout: 0 });
    // The database is never written, so a journal file would be useless.
    db.pragma("journal_mode = MEMORY");
    db.exec("BEGIN IMMEDIATE");
    return db;
  } catch (error) {
    db?.close();
    if (error instanceof Sqlite.SqliteError && error.code.startsWith("SQLITE_BUSY")) {
      return undefined;
    }
    throw toStorageError(error, path);
  }
}

/**
 * Creates the file with mode 0600; SQLite would use the umask of the process. Does not open an existing file: see the lock
 * above. Synchronous: between opening and closing, another call could acquire the lock that closing would drop.
 */
function createOnce(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") {
      throw error;
    }
  }
}

async function writeHolder(root: string, holder: InstanceHolder): Promise<void> {
  const path = join(root, holderFile);
  const { pid, mark, startedAt, urls } = holder;
  const wire = { pid, process_mark: mark, started_at: startedAt, urls };
  await writeFile(`${path}.new`, `${JSON.stringify(wire)}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

function parseHolder(text: string): InstanceHolder | undefined {
  // Damaged, or of another program: the lock itself does not depend on it.
  const { pid, started_at: startedAt, urls } = parseJsonObject(text) ?? {};
  return typeof pid === "number" && typeof startedAt === "number" && Array.isArray(urls)
    ? { pid, startedAt, urls: urls.filter((url) => typeof url === "string") }
    : undefined;
}

function toStorageError(error: unknown, path: string): StorageError {
  const code = (error as { code?: string }).code ?? "";
  const cause = { cause: error };
  if (/^(SQLITE_NOTADB|SQLITE_CORRUPT)/.test(code)) {
    return new StorageError(
      "corrupt",
      `${path} is damaged; remove it when no daemon is running`,
      cause,
    );
  }
  if (/^(SQLITE_READONLY|SQLITE_CANTOPEN|SQLITE_PERM|EACCES|EPERM|EROFS)/.test(code)) {
    return new StorageError("readonly", `${path} cannot be written`, cause);
  }
  if (/^(SQLITE_FULL|ENOSPC|EDQUOT)/.test(code)) {
    return new StorageError("full", `no room left for ${path}`, cause);
  }
  return new StorageError("failed", `${path} cannot be locked`, cause);
}
