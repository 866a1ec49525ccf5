import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { BucketObjects } from "../../storage/objects/bucket-objects.ts";
import type { Database } from "../../storage/engine/database.ts";
import { writePrivately } from "../../storage/keys/private-file.ts";
import { claimInstanceValue } from "../../storage/tables/common/instance.ts";
import { AppError } from "../errors.ts";
import type { Settings } from "../settings/settings.ts";
import type { BucketSetting } from "../settings/types.ts";
import type { Log } from "../utilities/logging.ts";
import { toBucketRefusal } from "./buckets.ts";

/** Minimum interval between checks of the bucket: monitoring may send a request every second. */
const ASK_AGAIN_MS = 5_000;
/** Identifies this database among those that might share a bucket. */
const OWNER = "objects_owner";
const ID = "objects_access_key_id (CROFT_OBJECTS_ACCESS_KEY_ID)";
const SECRET = "objects_secret_access_key (CROFT_OBJECTS_SECRET_ACCESS_KEY)";
const URL_SETTING = "objects_url (CROFT_OBJECTS_URL)";
const NAMES = { address: URL_SETTING, id: ID, secret: SECRET, use: "objects need" };

/** Returns the access key of the bucket of objects. Refuses with `AppError` `invalid_argument` when it is not set. */
export function toObjectsKey({ objectsAccessKeyId, objectsSecretAccessKey }: Settings) {
  if (objectsAccessKeyId === undefined || objectsSecretAccessKey === undefined)
    throw new AppError(
      "invalid_argument",
      `objects_url names a bucket: give its key with ${ID} and ${SECRET}, or unset it to keep objects as files.`,
    );
  return { accessKeyId: objectsAccessKeyId, secretAccessKey: objectsSecretAccessKey };
}

/**
 * Tests writing and reading, and claims the bucket for this database. Refuses with `AppError` `invalid_argument` when settings
 * are wrong or another database owns the bucket, `provider_failed` when the server does not answer like S3.
 */
export async function claimObjectsBucket(
  store: BucketObjects,
  place: BucketSetting,
  {
    db,
    newId,
    clock,
  }: { readonly db: Database; readonly newId: () => string; readonly clock: () => number },
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

/** The file that ties a folder of objects to a database; it moves with the folder, also through a backup. */
const FOLDER_MARK = "database-id";
const FOLDER_OWNER = "objects_folder";

/**
 * Claims a folder of objects for a database that other daemons may use. Refuses with `AppError` `invalid_argument` a second
 * folder: its daemon would lack the objects of the first one. A folder without a mark that holds objects is one from before
 * marks, or was copied without it, and is taken.
 */
export async function claimObjectsFolder(
  folder: string,
  {
    db,
    newId,
    clock,
    isEmpty,
  }: {
    readonly db: Database;
    readonly newId: () => string;
    readonly clock: () => number;
    readonly isEmpty: () => Promise<boolean>;
  },
): Promise<void> {
  const path = join(folder, FOLDER_MARK);
  // A file that a crash left empty is no mark.
  const marked = (await readFile(path, "utf8").catch(ifMissing)) || undefined;
  const own = marked ?? newId();
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // Before the claim: a claim without a mark would refuse this folder after a crash.
  if (marked === undefined) await writePrivately(path, own);
  const owner = await claimInstanceValue(db, FOLDER_OWNER, own, clock());
  if (owner === own) return;
  if (marked === undefined && !(await isEmpty())) return writePrivately(path, owner);
  if (marked === undefined) await rm(path);
  throw new AppError(
    "invalid_argument",
    "Another data directory holds the documents and packages of this database, and this daemon could not read them. " +
      "Start it with that data directory (--home), or keep objects in a bucket that the daemons share: " +
      `${URL_SETTING}. After that directory was lost, copy ${FOLDER_MARK} and the objects from its backup to ${folder}.`,
  );
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
  return undefined;
}

/** Creates a check of the bucket that sends at most one request per interval and logs changes of its reachability. */
export function watchBucket(
  { reach }: Pick<BucketObjects, "reach">,
  { clock, log }: { readonly clock: () => number; readonly log: Log },
): () => Promise<boolean> {
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
    // A clock that was set back counts as well.
    if (lastCheck === undefined || Math.abs(clock() - lastCheck.at) > ASK_AGAIN_MS)
      lastCheck = { at: clock(), answer: ask() };
    return lastCheck.answer;
  };
}
