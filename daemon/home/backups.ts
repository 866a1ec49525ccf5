import type { BucketBackup } from "../../storage/backup/bucket-backups.ts";
import { writeNightlyBackup } from "../../storage/backup/nightly-backup.ts";
import {
  type BackupOptions,
  type BackupSummary,
  estimateBackup,
  writeBackup,
} from "../../storage/backup/write-backup.ts";
import { toDataDirectory } from "../../storage/data-directory.ts";
import type { Database } from "../../storage/engine/database.ts";
import { claimInstanceValue } from "../../storage/tables/common/instance.ts";
import { type BucketSetting, toBucketUrl } from "../settings/types.ts";
import type { Log } from "../utilities/logging.ts";
import { type BucketInput, inBucket } from "./backup-bucket.ts";
import { readSettingsCopy } from "./backup-settings.ts";
import type { DaemonInput } from "./daemon-input.ts";
import { assertEmbedded, assertStarted } from "./home.ts";

/** A backup in a bucket, with its address. */
export interface ListedBackup extends BucketBackup {
  /** `s3://BUCKET/FOLDER/NAME`, with the parameters of the folder's address. */
  readonly address: string;
}

/** The input of a daemon, and the files of its master key. */
export type BackupInput = DaemonInput & {
  /** Reads the files of `keys/`, with the master key in a file, wherever it is stored. */
  readonly exportKeys: BackupOptions["exportKeys"];
};

/** Identifies this home among those that back up to one folder or bucket. */
const HOME = "backup_home";
/** Writes a backup of the home, served or not. Refuses with `AppError` as `findHome` does. */
export async function backUpHome(
  input: BackupInput,
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

/** Uploads a backup of the home as one object, which appears when it is whole. Refuses with `AppError` also for the bucket. */
export async function backUpHomeToBucket(
  input: BackupInput & BucketInput,
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

/** Lists the backups in a folder of a bucket, oldest first. */
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
 * Writes a nightly backup to `backup_folder` and to `backup_url`, where they are set. If one of them fails, the backup to
 * the other is still written.
 */
export async function writeNightlyBackups(
  input: BackupInput &
    BucketInput & {
      readonly log: Pick<Log, "warn">;
      readonly db: Database;
      readonly newId: () => string;
    },
  signal: AbortSignal,
): Promise<void> {
  const { settings, clock, db, newId } = input;
  const { backupFolder: folder, backupUrl: place, backupKept: backupCount } = settings;
  const passphrase = settings.backupPassphrase;
  const onWritten = ({ leftOut, leftOutCount }: BackupSummary) => {
    if (leftOutCount > 0)
      input.log.warn({ count: leftOutCount, leftOut }, "left files out of the scheduled backup");
  };
  const home = { ...toHome(input), mark: "nightly", passphrase };
  const id = await claimInstanceValue(db, HOME, newId().replaceAll("-", "").slice(-8), clock());
  const toFolder = async () => {
    if (folder === undefined) return;
    await writeNightlyBackup({ ...home, folder, home: id, count: backupCount, signal, onWritten });
  };
  const toBucket = async () => {
    if (place === undefined) return;
    await inBucket(input, place, signal, async (backups) => {
      const bytes = await estimateBackup(home);
      const { result } = await backups.put({ now: home.now, home: id, bytes }, (write) =>
        writeBackup({ ...home, write }),
      );
      onWritten(result);
      await backups.prune(id, backupCount);
    });
  };
  const failures: unknown[] = [];
  // One after the other: both copy the database to the same temporary file.
  for (const work of [toFolder, toBucket]) await work().catch((error) => failures.push(error));
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) throw new AggregateError(failures, "both nightly backups failed");
}

/** Returns the home with its database. Refuses with `invalid_argument` when that is on a server, `not_found` without a home. */
async function findHome(input: BackupInput): Promise<ReturnType<typeof toHome>> {
  assertEmbedded(input.settings.databaseUrl);
  const home = toHome(input);
  await assertStarted(home.directory);
  return home;
}

function toHome({ settings, paths, version, clock, process, exportKeys }: BackupInput) {
  return {
    directory: toDataDirectory(paths.dataDirectory),
    repositories: settings.repositoriesDir,
    exportKeys,
    readSettings: () => readSettingsCopy(paths.configFile),
    version,
    now: clock(),
    mark: String(process.pid),
  };
}
