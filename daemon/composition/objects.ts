import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import {
  BUCKET_LIMITS,
  type BucketObjects,
  createBucketObjects,
} from "../../storage/objects/bucket-objects.ts";
import { createMovingObjects } from "../../storage/objects/moving-objects.ts";
import { createFileObjects } from "../../storage/objects/file-objects.ts";
import type { ObjectStore } from "../../storage/objects/object-store.ts";
import type { DataDirectory } from "../../storage/data-directory.ts";
import type { Database } from "../../storage/engine/database.ts";
import { claimInstanceValue } from "../../storage/tables/common/instance.ts";
import type { BucketSetting } from "../settings/types.ts";
import type { Settings } from "../settings/settings.ts";
import { AppError } from "../errors.ts";
import type { Log } from "../utilities/logging.ts";
import type { ObjectDamage } from "../../storage/objects/verified-reads.ts";
import type { Refused } from "../../storage/s3/failures.ts";

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
export interface OpenObjects {
  readonly store: ObjectStore;
  /** Returns whether the bucket can be read at the moment; absent where objects are files. */
  readonly isReachable?: () => Promise<boolean>;
  close(): Promise<void>;
}

/** How long idle connections are kept alive for the next object. */
const KEEP_ALIVE_MS = 30_000;
/** Minimum interval between checks of the bucket: monitoring may send a request every second. */
const ASK_AGAIN_MS = 5_000;
/** Identifies this database among those that might share a bucket. */
const OWNER = "objects_owner";
const ID = "objects_access_key_id (CROFT_OBJECTS_ACCESS_KEY_ID)";
const SECRET = "objects_secret_access_key (CROFT_OBJECTS_SECRET_ACCESS_KEY)";
const URL_SETTING = "objects_url (CROFT_OBJECTS_URL)";
const NAMES = { address: URL_SETTING, id: ID, secret: SECRET, use: "objects need" };

/**
 * Opens the folder of objects, or the bucket that `objects_url` names, after a test of writing to it and reading from it.
 * Refuses with `AppError` `invalid_argument` when the settings are wrong, and with `provider_failed` when the server does not
 * answer like S3.
 */
export async function openObjects(deps: ObjectsDeps): Promise<OpenObjects> {
  const { settings, directory, newId } = deps;
  const { tmp } = directory;
  const place = settings.objectsUrl;
  const { clock, log } = deps;
  const onDamaged = (damage: ObjectDamage) =>
    log.error({ ...damage }, "stored object does not match its SHA-256");
  const files = createFileObjects({ folder: directory.packages, tmp, newId, clock, onDamaged });
  if (place === undefined) return { store: files, close: async () => undefined };
  // An administrator's setting: the policy for addresses that users name does not apply.
  const dispatcher = new Agent({ keepAliveTimeout: KEEP_ALIVE_MS });
  const store = createBucketObjects({
    address: { ...place, keys: { ...toKeys(settings), sessionToken: undefined } },
    root: place.folder === "" ? "" : `${place.folder}/`,
    limits: BUCKET_LIMITS,
    dispatcher,
    retries: {
      random: deps.random,
      sleep: (ms, signal) => sleep(ms, undefined, signal === undefined ? {} : { signal }),
    },
    clock,
    tmp,
    newId,
    onDamaged,
  });
  const close = async () => {
    store.close();
    await dispatcher.destroy();
  };
  try {
    await assertUsable(store, place, deps);
  } catch (error) {
    await close();
    throw error;
  }
  const { bucket, folder, endpoint } = place;
  deps.log.info({ bucket, folder, endpoint }, "objects are kept in a bucket");
  const isReachable = watch(store, deps);
  if (await isEmpty(files.list())) return { store, isReachable, close };
  deps.log.info({}, "cleanup_packages moves objects in files into the bucket");
  return { store: createMovingObjects(files, store), isReachable, close };
}

async function isEmpty(items: AsyncIterable<unknown>): Promise<boolean> {
  for await (const _item of items) return false;
  return true;
}

/** Creates a check of the bucket that sends at most one request per interval and logs changes of its reachability. */
function watch({ reach }: BucketObjects, { clock, log }: ObjectsDeps) {
  let lastCheck: { readonly at: number; readonly answer: Promise<boolean> } | undefined;
  let wasReachable = true;
  const ask = async () => {
    const failure = await reach();
    if (failure !== undefined && wasReachable)
      log.warn({ failure }, "failed to reach the bucket of objects");
    if (failure === undefined && !wasReachable) log.info({}, "reached the bucket of objects again");
    return (wasReachable = failure === undefined);
  };
  return () => {
    if (lastCheck === undefined || clock() - lastCheck.at > ASK_AGAIN_MS)
      lastCheck = { at: clock(), answer: ask() };
    return lastCheck.answer;
  };
}

function toKeys({ objectsAccessKeyId, objectsSecretAccessKey }: Settings) {
  if (objectsAccessKeyId === undefined || objectsSecretAccessKey === undefined)
    throw new AppError(
      "invalid_argument",
      `objects_url names a bucket: give its key with ${ID} and ${SECRET}, or unset it to keep objects as files.`,
    );
  return { accessKeyId: objectsAccessKeyId, secretAccessKey: objectsSecretAccessKey };
}

async function assertUsable(
  store: BucketObjects,
  place: BucketSetting,
  { db, newId, clock }: ObjectsDeps,
): Promise<void> {
  const refused = await store.prove();
  if (refused !== undefined) throw toBucketRefusal(refused, place, NAMES);
  const owner = await claimInstanceValue(db, OWNER, newId(), clock());
  const claimed = await store.claim(owner);
  if (claimed.kind === "refused") throw toBucketRefusal(claimed, place, NAMES);
  if (claimed.by !== owner)
    throw new AppError(
      "invalid_argument",
      `The bucket of ${URL_SETTING} holds the objects of another database, which would be swept away. ` +
        "Name another bucket, or another folder of it: s3://BUCKET/FOLDER?…",
    );
}

/** The purpose of a bucket, and the settings that a message names. */
export interface BucketNames {
  /** The setting or flag that names the bucket. */
  readonly address: string;
  readonly id: string;
  readonly secret: string;
  /** Subject and verb of the message about missing rights: `objects need`. */
  readonly use: string;
}

/** Converts a server's refusal to a message with the remedy. */
export function toBucketRefusal(
  refused: Refused,
  { bucket, endpoint }: BucketSetting,
  { address, id, secret, use }: BucketNames,
): AppError {
  const { failure, code, headers } = refused;
  const reason = code === "" ? (failure.note ?? failure.kind) : code;
  const wrong = (text: string) => new AppError("invalid_argument", text, { cause: refused });
  if (code === "SignatureDoesNotMatch")
    return wrong(`${secret} is not the secret of the key that ${id} names (${reason}).`);
  if (failure.kind === "reauth")
    return wrong(`The server of the bucket does not take the key of ${id} (${reason}).`);
  if (failure.note === "clock_skew")
    return wrong(
      `The clocks of this machine and of the server of ${address} are too far apart: set this machine's (${reason}).`,
    );
  if (failure.note === "bucket_missing" || failure.kind === "not_found")
    return wrong(
      `There is no bucket ${bucket} at ${endpoint}: make it, or correct ${address} (${reason}).`,
    );
  if (isElsewhere(refused)) {
    const region = headers["x-amz-bucket-region"];
    const where = region === undefined ? "in another region" : `in the region ${region}`;
    return wrong(`The bucket ${bucket} is ${where}: say so in ${address} (${reason}).`);
  }
  if (failure.kind === "forbidden")
    return wrong(
      `The key of ${id} lacks rights on the bucket ${bucket}; ${use} s3:ListBucket, s3:GetObject, ` +
        `s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload (${reason}).`,
    );
  if (failure.kind === "quota_exceeded")
    return new AppError("storage_full", `The bucket ${bucket} has no room (${reason}).`, {
      cause: refused,
    });
  return new AppError(
    "provider_failed",
    `The bucket of ${address} cannot be used: ${endpoint} does not answer as it should (${reason}).`,
    { cause: refused },
  );
}

function isElsewhere({ status, code }: Refused): boolean {
  return (
    status === 301 ||
    status === 307 ||
    ["AuthorizationHeaderMalformed", "IllegalLocationConstraintException"].includes(code)
  );
}
