import { createReadStream, existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import {
  type BucketBackup,
  type BucketBackups,
  createBucketBackups,
} from "../../storage/backup/bucket-backups.ts";
import { writeNightlyBackup } from "../../storage/backup/nightly-backup.ts";
import {
  type BackupSource,
  restoreBackup,
  type RestoredHome,
  type RestoreOptions,
} from "../../storage/backup/restore-backup.ts";
import {
  type BackupOptions,
  type BackupSummary,
  estimateBackup,
  writeBackup,
} from "../../storage/backup/write-backup.ts";
import { holdsDatabase, openDataDirectory, toDataDirectory } from "../../storage/data-directory.ts";
import { StorageError, type Database } from "../../storage/engine/database.ts";
import { BUCKET_LIMITS } from "../../storage/objects/bucket-objects.ts";
import { exportKeyFiles } from "../../storage/keys/open.ts";
import { isRefused } from "../../storage/s3/failures.ts";
import { claimInstanceValue } from "../../storage/tables/common/instance.ts";
import { AppError } from "../errors.ts";
import type { Settings } from "../settings/settings.ts";
import { type BucketSetting, toBucketUrl } from "../settings/types.ts";
import { type BucketNames, toBucketRefusal } from "./objects.ts";
import { type DaemonInput, assertEmbedded, takeLock, toKeyringOptions } from "./stores.ts";

/** A backup in a bucket, with its address. */
export interface ListedBackup extends BucketBackup {
  /** `s3://BUCKET/FOLDER/NAME`, with the parameters of the folder's address. */
  readonly address: string;
}

/** The input of a daemon with a random source, from 0 up to 1, for the waits before retries. */
export type BackupInput = DaemonInput & { readonly random: () => number };
type BucketInput = Pick<BackupInput, "settings" | "clock" | "random">;

/** The address of the archive to restore. */
export type RestoreFrom =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "stream"; readonly stream: AsyncIterable<Uint8Array> }
  /** `latest` or the name of a backup. */
  | { readonly kind: "bucket"; readonly place: BucketSetting; readonly name: string };

/** Identifies this home among those that back up to one bucket. */
const HOME = "backup_home";
/** How long idle connections are kept alive for the next part. */
const KEEP_ALIVE_MS = 30_000;

/** See `backUp` in main.ts. */
export async function backUpHome(
  input: DaemonInput,
  options: Pick<BackupOptions, "passphrase" | "target" | "write" | "flush"> & BackupProgress,
): Promise<BackupSummary> {
  const home = await findHome(input);
  const total = await estimateBackup(home);
  return writeBackup({
    ...home,
    passphrase: options.passphrase,
    target: options.target,
    flush: options.flush,
    write: withProgress(options.write, total, options),
  });
}

/** How the writing of a backup is watched and ended. `total` is an estimate. */
export interface BackupProgress {
  readonly signal: AbortSignal;
  readonly onProgress: (done: number, total: number) => void;
}

function withProgress(
  write: BackupOptions["write"],
  total: number,
  { signal, onProgress }: BackupProgress,
): BackupOptions["write"] {
  let done = 0;
  return async (chunk) => {
    signal.throwIfAborted();
    await write(chunk);
    onProgress((done += chunk.byteLength), total);
  };
}

/** See `backUpToBucket` in main.ts. */
export async function backUpHomeToBucket(
  input: BackupInput,
  options: Pick<BackupOptions, "passphrase"> & BackupProgress & { readonly place: BucketSetting },
): Promise<BackupSummary & { readonly address: string }> {
  const { place, passphrase, signal } = options;
  const home = await findHome(input);
  return inBucket(input, place, signal, async (backups) => {
    const total = await estimateBackup(home);
    const { name, result } = await backups.put(
      { now: home.now, home: undefined, bytes: total },
      (write) => writeBackup({ ...home, passphrase, write: withProgress(write, total, options) }),
    );
    return { ...result, address: toBucketUrl(place, name) };
  });
}

/** See `listBackups` in main.ts. */
export function listBackupsIn(
  input: BucketInput,
  place: BucketSetting,
  signal: AbortSignal,
): Promise<readonly ListedBackup[]> {
  return inBucket(input, place, signal, async (backups) =>
    (await backups.list()).map((backup) => ({
      ...backup,
      address: toBucketUrl(place, backup.name),
    })),
  );
}

/**
 * Returns a function that writes a nightly backup to `backup_folder` and to `backup_url`; undefined when neither is set,
 * or when the database is on a server. If one of them fails, the backup to the other is still written.
 */
export function createNightlyBackup(
  input: BackupInput,
  db: Database,
  newId: () => string,
): ((signal: AbortSignal) => Promise<void>) | undefined {
  const { settings, clock } = input;
  const { backupFolder: folder, backupUrl: place, backupKept: backupCount } = settings;
  if ((folder === undefined && place === undefined) || settings.databaseUrl !== undefined)
    return undefined;
  const passphrase = settings.backupPassphrase;
  return async (signal) => {
    const home = { ...toHome(input), mark: "nightly", passphrase };
    const toFolder = async () => {
      if (folder !== undefined)
        await writeNightlyBackup({ ...home, folder, count: backupCount, signal });
    };
    const toBucket = async () => {
      if (place === undefined) return;
      const id = await claimInstanceValue(db, HOME, newId().replaceAll("-", "").slice(-8), clock());
      await inBucket(input, place, signal, async (backups) => {
        const bytes = await estimateBackup(home);
        await backups.put({ now: home.now, home: id, bytes }, (write) =>
          writeBackup({ ...home, write }),
        );
        await backups.prune(id, backupCount);
      });
    };
    const failures: unknown[] = [];
    // One after the other: both copy the database to the same temporary file.
    for (const work of [toFolder, toBucket]) await work().catch((error) => failures.push(error));
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, "both nightly backups failed");
  };
}

/** See `restoreHome` in main.ts. */
export async function restoreArchive(
  input: BackupInput,
  options: Pick<RestoreOptions, "passphrase" | "signal" | "onProgress"> & {
    readonly from: RestoreFrom;
  },
): Promise<RestoredHome & { readonly archive: string }> {
  const { from, signal } = options;
  assertEmbedded(input.settings.databaseUrl);
  if (from.kind === "bucket")
    return inBucket(input, from.place, signal, async (backups) =>
      restoreFrom(input, await findSource(backups, from), options),
    );
  if (from.kind === "stream")
    return restoreFrom(
      input,
      { name: "standard input", bytes: undefined, open: async () => from.stream },
      options,
    );
  const { path } = from;
  if (!existsSync(path)) throw new AppError("not_found", `there is no file ${path}`);
  const { size: bytes } = await stat(path);
  return restoreFrom(input, { name: path, bytes, open: async () => readBytes(path) }, options);
}

async function* readBytes(path: string): AsyncGenerator<Uint8Array, void, void> {
  for await (const chunk of createReadStream(path, { highWaterMark: READ_BYTES }))
    yield chunk as Uint8Array;
}

/** Bytes of a file that are read at once. */
const READ_BYTES = 256 * 1024;

async function restoreFrom(
  { paths, clock, process }: DaemonInput,
  source: BackupSource,
  { passphrase, signal, onProgress }: Pick<RestoreOptions, "passphrase" | "signal" | "onProgress">,
): Promise<RestoredHome & { readonly archive: string }> {
  const { pid, mark, userId } = process;
  const directory = await openDataDirectory(paths.dataDirectory, {
    userId,
    createParents: paths.home === undefined,
  });
  const lock = await takeLock(directory, { pid, mark, startedAt: clock() });
  try {
    const restored = await restoreBackup({
      source,
      directory,
      passphrase,
      clock,
      signal,
      onProgress,
    });
    return { ...restored, archive: source.name };
  } finally {
    await lock.release();
  }
}

async function findSource(
  backups: BucketBackups,
  { place, name }: Extract<RestoreFrom, { kind: "bucket" }>,
): Promise<BackupSource> {
  const there = await backups.list();
  const folder = toBucketUrl(place);
  const backup =
    name === "latest" ? latestOf(there, folder) : there.find((one) => one.name === name);
  if (backup !== undefined)
    return {
      name: toBucketUrl(place, backup.name),
      bytes: backup.bytes,
      open: () => backups.open(backup),
    };
  const known = there.length === 0 ? "it holds no backup" : `the newest is ${there.at(-1)?.name}`;
  const description = name === "latest" ? "backup" : `backup ${JSON.stringify(name)}`;
  throw new AppError("not_found", `there is no ${description} in ${folder}; ${known}`);
}

/** The newest backup. Refuses to choose between the scheduled backups of several homes. */
function latestOf(there: readonly BucketBackup[], folder: string): BucketBackup | undefined {
  const homes = new Set(there.flatMap(({ home }) => home ?? []));
  if (homes.size > 1)
    throw new AppError(
      "invalid_argument",
      `${folder} holds backups of ${homes.size} homes: name one of them, which --list shows`,
    );
  return there.at(-1);
}

/** The home that is backed up, with a database in it. */
async function findHome(input: DaemonInput): Promise<ReturnType<typeof toHome>> {
  assertEmbedded(input.settings.databaseUrl);
  const home = toHome(input);
  const { root } = home.directory;
  if (await holdsDatabase(home.directory)) return home;
  throw new AppError("not_found", `${root} holds no database: it was never started`);
}

function toHome({ settings, paths, version, clock, process }: DaemonInput) {
  const directory = toDataDirectory(paths.dataDirectory);
  return {
    directory,
    repositories: settings.repositoriesDir,
    exportKeys: () => exportKeyFiles(toKeyringOptions(settings, directory, false)),
    configFile: paths.configFile,
    version,
    now: clock(),
    mark: String(process.pid),
  };
}

/** Opens the bucket for some work, and names the setting to correct when the server refuses it. */
async function inBucket<Result>(
  { settings, clock, random }: BucketInput,
  place: BucketSetting,
  signal: AbortSignal,
  work: (backups: BucketBackups) => Promise<Result>,
): Promise<Result> {
  const { keys, names } = toKeys(settings);
  // An administrator's setting: the policy for addresses that users name does not apply.
  const dispatcher = new Agent({ keepAliveTimeout: KEEP_ALIVE_MS });
  const backups = createBucketBackups({
    address: { ...place, keys: { ...keys, sessionToken: undefined } },
    root: place.folder === "" ? "" : `${place.folder}/`,
    limits: BUCKET_LIMITS,
    dispatcher,
    retries: {
      random,
      sleep: (ms, by) => sleep(ms, undefined, by === undefined ? {} : { signal: by }),
    },
    clock,
    signal,
  });
  try {
    return await work(backups);
  } catch (error) {
    const refused = error instanceof StorageError ? error.cause : undefined;
    if (typeof refused !== "object" || refused === null || !("kind" in refused)) throw error;
    const outcome = refused as { readonly kind: string };
    throw isRefused(outcome) ? toBucketRefusal(outcome, place, names) : error;
  } finally {
    await dispatcher.destroy();
  }
}

/** Returns the access key of the backups, or else that of `objects_url`, and the names of its settings for messages. */
function toKeys(settings: Settings): {
  readonly keys: { readonly accessKeyId: string; readonly secretAccessKey: string };
  readonly names: BucketNames;
} {
  const { backupAccessKeyId: id, backupSecretAccessKey: secret } = settings;
  const { objectsAccessKeyId: objectsId, objectsSecretAccessKey: objectsSecret } = settings;
  const isOwn = id !== undefined || secret !== undefined;
  const [accessKeyId, secretAccessKey] = isOwn ? [id, secret] : [objectsId, objectsSecret];
  const names = namesOf(isOwn || objectsId === undefined ? "backup" : "objects");
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw new AppError(
      "invalid_argument",
      `Backups in a bucket need its key: set ${names.id} and ${names.secret}. ` +
        "`croft config set KEY --stdin` stores each of them in the configuration file.",
    );
  return { keys: { accessKeyId, secretAccessKey }, names };
}

function namesOf(prefix: "backup" | "objects"): BucketNames {
  const name = (key: string) => `${prefix}_${key} (CROFT_${`${prefix}_${key}`.toUpperCase()})`;
  return {
    address: "the address s3://…",
    id: name("access_key_id"),
    secret: name("secret_access_key"),
    use: "backups need",
  };
}
