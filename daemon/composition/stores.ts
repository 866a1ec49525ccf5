import { join, sep } from "node:path";
import {
  beginFirstStart,
  createPrivateFolder,
  type DataDirectory,
  emptyTemporaryFolder,
  endFirstStart,
  holdsDatabase,
  openDataDirectory,
  toDataDirectory,
} from "../../storage/data-directory.ts";
import type { Database } from "../../storage/engine/database.ts";
import { openDatabase } from "../../storage/engine/open.ts";
import { copyBeforeMigration } from "../../storage/engine/rotating-backup.ts";
import type { InstanceLock } from "../../storage/instance-lock.ts";
import {
  assertKeyOfDatabase,
  exportKeyFiles,
  type OpenedKeyring,
  openKeyring,
  type OpenKeyringOptions,
} from "../../storage/keys/open.ts";
import { createFileObjects } from "../../storage/objects/file-objects.ts";
import type { ObjectDamage } from "../../storage/objects/verified-reads.ts";
import { createReserve, type Reserve } from "../../storage/reserve.ts";
import { isDiskFull } from "../../storage/system-errors.ts";
import type { BackupInput } from "../home/backups.ts";
import type { DaemonInput } from "../home/daemon-input.ts";
import { takeLock } from "../home/home.ts";
import type { Settings } from "../settings/settings.ts";
import type { Log } from "../utilities/logging.ts";

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
    if (!isDiskFull(error)) throw error;
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

/**
 * Locks the data directory, opens the database, updates its schema and loads the master key. Refuses with `AppError`
 * `conflict` when another daemon holds the directory. Closes everything again when it fails.
 */
async function openStoresOnce(input: DaemonInput, log: Log): Promise<Omit<Stores, "reserve">> {
  const { settings, paths, clock, process } = input;
  const opened: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const closeOne of opened.splice(0).reverse()) await closeOne();
  };
  try {
    const directory = await openDataDirectory(paths.dataDirectory, {
      userId: process.userId,
      createParents: paths.home === undefined,
    });
    const lock = await takeLock(directory, input);
    opened.push(() => lock.release());
    await emptyTemporaryFolder(directory);
    for (const root of settings.localRoots)
      if (root.startsWith(directory.root + sep)) await createPrivateFolder(root);
    // Before the database is created: beside an existing database, a missing master key is lost and must not be replaced.
    const mayCreate = !(await holdsDatabase(directory));
    const isFirst = mayCreate && settings.databaseUrl === undefined;
    if (isFirst) await beginFirstStart(directory);
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
    await endFirstStart(directory);
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

/** Adds what a backup of the home needs: the files of its master key. */
export function toBackupInput(input: DaemonInput): BackupInput {
  const directory = toDataDirectory(input.paths.dataDirectory);
  return {
    ...input,
    exportKeys: () => exportKeyFiles(toKeyringOptions(input.settings, directory, false)),
  };
}

/** The dependencies of the object store. */
export interface ObjectsDeps {
  readonly db: Database;
  readonly settings: Settings;
  readonly directory: DataDirectory;
  readonly log: Log;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** From 0 up to 1. */
  readonly random: () => number;
  readonly newId: () => string;
}

/** The object store, in files or in a bucket. */
export type OpenObjects = Awaited<ReturnType<typeof openObjects>>;

/**
 * Opens the folder of objects, or the bucket that `objects_url` names, after a test of writing to it and reading from it.
 * Refuses with `AppError` `invalid_argument` when the settings are wrong, and with `provider_failed` when the server does not
 * answer like S3.
 */
export async function openObjects(deps: ObjectsDeps) {
  const { settings, directory, newId, clock, log } = deps;
  const { tmp } = directory;
  const place = settings.objectsUrl;
  const onDamaged = (damage: ObjectDamage) =>
    log.error({ ...damage }, "stored object does not match its SHA-256");
  const files = createFileObjects({ folder: directory.packages, tmp, newId, clock, onDamaged });
  if (place === undefined) {
    if (deps.db.dialect === "postgres") {
      const { claimObjectsFolder } = await import("../home/objects-bucket.ts");
      const claim = { ...deps, isEmpty: () => isEmpty(files.list()) };
      await claimObjectsFolder(directory.packages, claim);
    }
    return { store: files, close: async () => undefined };
  }
  // Only an installation with a bucket loads its client.
  const [
    { claimObjectsBucket, toObjectsKey, watchBucket },
    { connectBucket },
    { createBucketObjects },
    { createMovingObjects },
  ] = await Promise.all([
    import("../home/objects-bucket.ts"),
    import("../home/buckets.ts"),
    import("../../storage/objects/bucket-objects.ts"),
    import("../../storage/objects/moving-objects.ts"),
  ]);
  const connected = connectBucket(place, toObjectsKey(settings), deps.random);
  const store = createBucketObjects({ ...connected, clock, tmp, newId, onDamaged });
  const close = async () => {
    store.close();
    await connected.dispatcher.destroy();
  };
  try {
    await claimObjectsBucket(store, place, deps);
  } catch (error) {
    await close();
    throw error;
  }
  const { bucket, folder, endpoint } = place;
  log.info({ bucket, folder, endpoint }, "objects are kept in a bucket");
  const isReachable = watchBucket(store, deps);
  if (await isEmpty(files.list())) return { store, isReachable, close };
  log.info({}, "cleanup_packages moves objects in files into the bucket");
  return {
    store: createMovingObjects(
      files,
      store,
    ) /** Returns whether the bucket can be read at the moment; absent where objects are files. */,
    isReachable,
    close,
  };
}

async function isEmpty(items: AsyncIterable<unknown>): Promise<boolean> {
  for await (const _item of items) return false;
  return true;
}
