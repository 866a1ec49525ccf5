import { type Database, StorageError } from "../../storage/engine/database.ts";
import { openDatabase } from "../../storage/engine/open.ts";
import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { env } from "node:process";
import {
  beginFirstStart,
  createPrivateFolder,
  type DataDirectory,
  DataDirectoryError,
  emptyTemporaryFolder,
  holdsDatabase,
  openDataDirectory,
  toDataDirectory,
} from "../../storage/data-directory.ts";
import {
  acquireInstanceLock,
  type InstanceHolder,
  type InstanceLock,
  type InstanceProcess,
} from "../../storage/instance-lock.ts";
import {
  assertKeyOfDatabase,
  type OpenedKeyring,
  openKeyring,
  type OpenKeyringOptions,
} from "../../storage/keys/open.ts";
import {
  type CheckFinding,
  checkHome,
  type CheckHomeOptions,
} from "../../storage/check/check-home.ts";
import { createGit } from "../../storage/git/git.ts";
import { copyBeforeMigration } from "../../storage/engine/rotating-backup.ts";
import { createReserve, type Reserve } from "../../storage/reserve.ts";
import { isDiskFull } from "../../storage/system-errors.ts";
import {
  listCopies,
  restoreDatabase,
  type RestoredDatabase,
} from "../../storage/restore-database.ts";
import { AppError } from "../errors.ts";
import type { Log } from "../utilities/logging.ts";
import type { ScriptProgram } from "../jobs/process-pool.ts";
import type { SettingPaths } from "../settings/paths.ts";
import type { Settings } from "../settings/settings.ts";

/** The input of a daemon: resolved settings and the process's environment. */
export interface DaemonInput {
  readonly settings: Settings;
  readonly paths: SettingPaths;
  readonly version: string;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly process: {
    readonly pid: number;
    /** Distinguishes this process from a later one with the same id; undefined where the system does not provide it. */
    readonly mark?: string | undefined;
    readonly userId: number | undefined;
  };
  /** Runs the scripts of child processes; the Node of this process when absent. */
  readonly scriptProgram?: ScriptProgram;
  /** Where log lines go: standard error in the foreground. */
  readonly logTo: { write(line: string): unknown; readonly isTTY?: boolean };
  /** Receives the same lines as JSON, whatever `log_format` says: the log file. */
  readonly recordTo?: { write(line: string): unknown };
  /** For tests: parse every JSON response with its declared schema and fail on a difference. */
  readonly checkReplies?: boolean;
}

/** Name, e-mail and password of the administrators, as given to `croft init`. */
export interface FirstAdministrator {
  readonly username: string;
  readonly email: string;
  readonly password: string;
}

/** The opened stores of rows, bytes and keys, which this process uses exclusively. */
export interface Stores {
  readonly directory: DataDirectory;
  readonly lock: InstanceLock;
  readonly db: Database;
  readonly keyring: OpenedKeyring;
  /** Disk space for deleting while the disk is full. */
  readonly reserve: Reserve;
  /** Closes in reverse order; the lock goes last. */
  close(): Promise<void>;
}

/** Copies from before migrations: enough to go back over a few upgrades. */
const MIGRATION_COPIES_KEPT = 3;
/** Interval of attempts to complete the reserve. */
const REFILL_MS = 60_000;

/**
 * Opens the stores as `openStoresOnce` does, with the space of the reserve when the disk is full, so that the daemon starts and
 * its users can delete; `/readyz` and `croft daemon status` report the full disk.
 */
export async function openStores(input: DaemonInput, log: Log): Promise<Stores> {
  const reserve = createReserve(join(input.paths.dataDirectory, RESERVE_FILE));
  const stores = await openStoresOnce(input, log).catch(async (error: unknown) => {
    if (!isFull(error)) throw error;
    const opened = await reserve.spend(error, () => openStoresOnce(input, log));
    log.warn({ err: error }, "disk is full, used the reserve to start");
    return opened;
  });
  const refill = () =>
    reserve.refill().catch((error: unknown) => {
      log.warn({ err: error }, "failed to reserve disk space");
    });
  await refill();
  const timer = setInterval(refill, REFILL_MS);
  timer.unref();
  return {
    ...stores,
    reserve,
    async close() {
      clearInterval(timer);
      await stores.close();
    },
  };
}

const RESERVE_FILE = "reserve";

function isFull(error: unknown): boolean {
  const isCoded = error instanceof DataDirectoryError || error instanceof StorageError;
  return isDiskFull(error) || (isCoded && error.code === "full");
}

/**
 * Locks the data directory, opens the database, updates its schema and loads the master key. Refuses with `AppError`
 * `conflict` when another daemon holds the directory. Closes everything again when it fails.
 */
async function openStoresOnce(
  { settings, paths, clock, process }: DaemonInput,
  log: Log,
): Promise<Omit<Stores, "reserve">> {
  const opened: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const closeOne of opened.splice(0).reverse()) await closeOne();
  };
  try {
    const directory = await openDataDirectory(paths.dataDirectory, {
      userId: process.userId,
      createParents: paths.home === undefined,
    });
    const { pid, mark } = process;
    const lock = await takeLock(directory, { pid, mark, startedAt: clock() });
    opened.push(() => lock.release());
    await emptyTemporaryFolder(directory);
    for (const root of settings.localRoots)
      if (root.startsWith(directory.root)) await createPrivateFolder(root);
    // Before the database is created: beside an existing database, a missing master key is lost and must not be replaced.
    const mayCreate = !(await holdsDatabase(directory));
    const isFirst = mayCreate && settings.databaseUrl === undefined;
    const endFirstStart = isFirst ? await beginFirstStart(directory) : undefined;
    const keyring = await openKeyring(toKeyringOptions(settings, directory, mayCreate));
    const db = await openDatabase(settings.databaseUrl, {
      dataDirectory: directory.root,
      clock,
      // Another writer would need the lock that this process holds.
      isSoleWriter: true,
      onStuck: (message) => log.error({}, message),
      copyBeforeMigration: async (database, version) => {
        const copy = await copyBeforeMigration(database, version, {
          folder: directory.backups,
          temporaryFolder: directory.tmp,
          count: MIGRATION_COPIES_KEPT,
          now: clock(),
        });
        log.info({ copy }, "copied the database before updating its schema");
      },
    });
    opened.push(() => db.close());
    await endFirstStart?.();
    await assertKeyOfDatabase(db, keyring.checks, clock());
    return { directory, lock, db, keyring, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Returns where the master key of a data directory is stored, and whether one may be created. */
export function toKeyringOptions(
  { keySource, masterKey }: DaemonInput["settings"],
  { keys }: Pick<DataDirectory, "keys">,
  mayCreate: boolean,
): OpenKeyringOptions {
  return { directory: keys, source: keySource, masterKey, mayCreate };
}

/** Locks the data directory for this process. Refuses with `AppError` `conflict` when another process holds it. */
export async function takeLock(
  directory: DataDirectory,
  self: InstanceProcess,
): Promise<InstanceLock> {
  const outcome = await acquireInstanceLock(directory.root, self);
  if (outcome.kind === "acquired") return outcome.lock;
  throw new AppError("conflict", takenText(directory.root, outcome.holder));
}

function takenText(root: string, holder: InstanceHolder | undefined): string {
  const holderName =
    holder === undefined ? "Another process" : `A croft daemon (process ${holder.pid})`;
  const where = holder?.urls.length ? ` and serves ${holder.urls.join(" and ")}` : "";
  return `${holderName} already uses ${root}${where}. Stop it with \`croft daemon stop\`, or choose another folder with CROFT_HOME.`;
}

/** See `restore` in main.ts. */
export async function restoreCopy(
  { settings, paths, clock, process }: DaemonInput,
  copy: string,
): Promise<RestoredDatabase> {
  if (settings.databaseUrl !== undefined)
    throw new AppError(
      "invalid_argument",
      "the database is on a server (database_url): restore it there, with the server's own tools",
    );
  // First: without a copy to restore nothing must be created.
  const path = await findCopy(copy, toDataDirectory(paths.dataDirectory));
  const { pid, mark, userId } = process;
  const directory = await openDataDirectory(paths.dataDirectory, { userId, createParents: false });
  const lock = await takeLock(directory, { pid, mark, startedAt: clock() });
  try {
    return await restoreDatabase(path, directory, clock);
  } finally {
    await lock.release();
  }
}

/** See `check` in main.ts. */
export async function* checkStores(
  { settings, paths, clock, process }: DaemonInput,
  options: Pick<CheckHomeOptions, "repair" | "signal" | "onProgress">,
): AsyncGenerator<CheckFinding, void, void> {
  assertEmbedded(settings.databaseUrl);
  const directory = toDataDirectory(paths.dataDirectory);
  if (!(await holdsDatabase(directory)))
    throw new AppError("not_found", `${directory.root} holds no database: it was never started`);
  const { pid, mark } = process;
  const lock = options.repair
    ? await takeLock(directory, { pid, mark, startedAt: clock() })
    : undefined;
  try {
    yield* checkHome({
      directory,
      repositories: settings.repositoriesDir,
      git: createGit({ searchPath: env["PATH"] ?? "" }),
      hasObjectFiles: settings.objectsUrl === undefined,
      clock,
      ...options,
    });
  } finally {
    await lock?.release();
  }
}

/** Refuses with `AppError` `invalid_argument` when the database is on a server. */
export function assertEmbedded(databaseUrl: string | undefined): void {
  if (databaseUrl !== undefined)
    throw new AppError(
      "invalid_argument",
      "the database is on a server (database_url): back it up and restore it with the server's own tools",
    );
}

async function findCopy(copy: string, directory: DataDirectory): Promise<string> {
  const copies = await listCopies(directory);
  const name = copy === "latest" ? copies[0] : copy;
  if (name !== undefined && isAbsolute(name) && existsSync(name)) return name;
  if (name !== undefined && copies.includes(name)) return join(directory.backups, name);
  const known = copies.length === 0 ? "it holds no copy" : copies.join(", ");
  throw new AppError(
    "not_found",
    `there is no copy ${JSON.stringify(copy)}; in ${directory.backups}: ${known}`,
  );
}
