import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import { BUCKET_LIMITS } from "../../storage/objects/bucket-objects.ts";
import type { Refused } from "../../storage/s3/failures.ts";
import { AppError } from "../errors.ts";
import type { BucketSetting } from "../settings/types.ts";

/** How long idle connections are kept alive for the next object or part. */
const KEEP_ALIVE_MS = 30_000;

/**
 * Returns the address and the connections of a bucket that a setting names; the caller destroys `dispatcher`. The policy for
 * addresses that users name does not apply.
 * @param random returns from 0 up to 1, for the waits before retries
 */
export function connectBucket(
  place: BucketSetting,
  keys: { readonly accessKeyId: string; readonly secretAccessKey: string },
  random: () => number,
) {
  return {
    address: { ...place, keys: { ...keys, sessionToken: undefined } },
    root: place.folder === "" ? "" : `${place.folder}/`,
    limits: BUCKET_LIMITS,
    dispatcher: new Agent({ keepAliveTimeout: KEEP_ALIVE_MS }),
    retries: {
      random,
      sleep: (ms: number, signal: AbortSignal | undefined) =>
        sleep(ms, undefined, signal === undefined ? {} : { signal }),
    },
  };
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
