import { closeSync, openSync } from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { StorageError } from "./engine/database.ts";

/** The process that uses a data directory. */
export interface InstanceProcess {
  readonly pid: number;
  /** What tells it from a later process with the same id; undefined where the system does not say. */
  readonly mark?: string | undefined;
  /** Epoch milliseconds. */
  readonly startedAt: number;
}

/** Who uses a data directory. `urls` are empty until it listens. */
export interface InstanceHolder extends InstanceProcess {
  readonly urls: readonly string[];
}

/** The right to use a data directory, until it is released or the process ends, however it ends. */
export interface InstanceLock {
  /** Tells others where this instance listens. */
  announce(urls: readonly string[]): Promise<void>;
  /** Gives the directory back. May be called again. */
  release(): Promise<void>;
}

/** `taken` names the holder, unless it has not yet said who it is. */
export type InstanceLockOutcome =
  | { readonly kind: "acquired"; readonly lock: InstanceLock }
  | { readonly kind: "taken"; readonly holder: InstanceHolder | undefined };

/**
 * Takes the data directory `root` for this process, without waiting.
 *
 * The lock is the write lock of a small SQLite file, `croft.lock`, held by a transaction that never ends. The
 * operating system drops it with the process, so a crash leaves nothing behind and no process id has to be trusted.
 * Nothing may open `croft.lock` by other means in this process: closing any descriptor of a file drops its POSIX
 * locks. Who holds it is told in `daemon.json` beside it, since a row would have to be committed, and committing
 * lets the lock go for a moment.
 * @throws StorageError `corrupt` when `croft.lock` is damaged, `readonly` or `full` when it cannot be made.
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
  held.add(db);
  const release = async () => {
    if (db.open) {
      // First the notice, then the lock: the other way round it could be the notice of the next holder.
      await rm(join(root, holderFile), { force: true });
      db.close();
      held.delete(db);
    }
  };
  return { kind: "acquired", lock: { announce, release } };
}

/** What `daemon.json` says; after a crash it may speak of a holder that is gone. */
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

/** What this process holds. A database that nothing refers to is closed by the garbage collector, and its lock goes. */
const held = new Set<Sqlite.Database>();

async function openLockFile(path: string): Promise<Sqlite.Database | undefined> {
  let db: Sqlite.Database | undefined;
  try {
    createOnce(path);
    db = new Sqlite(path, { timeout: 0 });
    // Nothing is ever written, so a journal would only lie about.
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
 * SQLite would make it with the process's umask. An existing file is not opened: see the lock above. Synchronous, as
 * between opening and closing another call could take the lock that closing would drop.
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
  let value: Partial<Record<"pid" | "started_at" | "urls", unknown>> | null;
  try {
    value = JSON.parse(text) as typeof value;
  } catch {
    // Not ours, or damaged: the lock itself does not depend on it.
    return undefined;
  }
  const { pid, started_at: startedAt, urls } = value ?? {};
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
