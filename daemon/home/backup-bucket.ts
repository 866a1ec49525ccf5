import { type BucketBackups, createBucketBackups } from "../../storage/backup/bucket-backups.ts";
import { StorageError } from "../../storage/engine/database.ts";
import { isRefused } from "../../storage/s3/failures.ts";
import { AppError } from "../errors.ts";
import type { Settings } from "../settings/settings.ts";
import type { BucketSetting } from "../settings/types.ts";
import { type BucketNames, connectBucket, toBucketRefusal } from "./buckets.ts";
import type { DaemonInput } from "./daemon-input.ts";

/** What the requests to a bucket need. `random` returns from 0 up to 1, for the waits before retries. */
export type BucketInput = Pick<DaemonInput, "settings" | "clock"> & {
  readonly random: () => number;
};

/** Opens the bucket for some work, and names the setting to correct when the server refuses it. */
export async function inBucket<Result>(
  { settings, clock, random }: BucketInput,
  place: BucketSetting,
  signal: AbortSignal,
  work: (backups: BucketBackups) => Promise<Result>,
): Promise<Result> {
  const { keys, names } = toKeys(settings);
  const connected = connectBucket(place, keys, random);
  const backups = createBucketBackups({ ...connected, clock, signal });
  try {
    return await work(backups);
  } catch (error) {
    const refused = error instanceof StorageError ? error.cause : undefined;
    if (typeof refused !== "object" || refused === null || !("kind" in refused)) throw error;
    const outcome = refused as { readonly kind: string };
    throw isRefused(outcome) ? toBucketRefusal(outcome, place, names) : error;
  } finally {
    await connected.dispatcher.destroy();
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
