import { createReadStream, existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import type { BucketBackup, BucketBackups } from "../../storage/backup/bucket-backups.ts";
import {
  type BackupSource,
  restoreBackup,
  type RestoredHome,
  type RestoreOptions,
} from "../../storage/backup/restore-backup.ts";
import { AppError } from "../errors.ts";
import { type BucketSetting, toBucketUrl } from "../settings/types.ts";
import { type BucketInput, inBucket } from "./backup-bucket.ts";
import type { DaemonInput } from "./daemon-input.ts";
import { assertEmbedded, withLockedHome } from "./home.ts";

/** The address of the archive to restore. */
export type RestoreFrom =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "stream"; readonly stream: AsyncIterable<Uint8Array> }
  /** `latest` or the name of a backup. */
  | { readonly kind: "bucket"; readonly place: BucketSetting; readonly name: string };

/**
 * Replaces a home by a backup: a file, a stream or an object of a bucket. Refuses with `AppError` `invalid_argument` when the
 * database is on a server, `not_found` without the archive, `conflict` when a daemon holds the home; throws `StorageError` when
 * the archive is damaged, with nothing replaced.
 */
export async function restoreArchive(
  input: BucketInput & DaemonInput,
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

function restoreFrom(
  input: DaemonInput,
  source: BackupSource,
  { passphrase, signal, onProgress }: Pick<RestoreOptions, "passphrase" | "signal" | "onProgress">,
): Promise<RestoredHome & { readonly archive: string }> {
  const { paths, clock } = input;
  return withLockedHome(input, { createParents: paths.home === undefined }, async (directory) => {
    const options = { source, directory, passphrase, clock, signal, onProgress };
    return { ...(await restoreBackup(options)), archive: source.name };
  });
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
