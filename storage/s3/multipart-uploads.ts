import type { Failure } from "../cloud/outcomes.ts";
import { readUploads, type PendingUpload } from "./responses.ts";
import { toSeconds, type BucketClient } from "./client.ts";
import { mayHaveLanded, toChangeFailure, type Refused } from "./failures.ts";

/** How long a call that begins an upload may take. What begins later was begun by somebody else. */
export const BEGINNING_MS = 60_000;
/** Servers of one storage do not agree to the second. */
const SKEW_MS = 5_000;

/** Aborts a multipart upload. One that is over already is as good as aborted. */
export async function abortUpload(
  client: BucketClient,
  key: string,
  uploadId: string,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const sent = await client.ask({ method: "DELETE", key, query: { uploadId }, signal });
  return sent.kind === "done" || sent.status === 404 ? undefined : toChangeFailure(sent.failure);
}

/**
 * What one call may have begun under `key` and whose id nobody got to know. `announcedAt` (epoch milliseconds of the
 * server) is shortly before the call: uploads of that name from before it, and from long after it, are somebody else's.
 */
export async function findBegun(
  client: BucketClient,
  key: string,
  announcedAt: number,
  signal: AbortSignal,
): Promise<readonly string[] | Failure> {
  const listed = await listUploads(client, key, signal);
  if ("kind" in listed)
    // A server without that list gives no other way to find it; such servers drop old parts by themselves.
    return mayHaveLanded(listed) ? toChangeFailure(listed.failure) : [];
  return listed.flatMap((upload) => {
    const after = (toSeconds(upload.initiated) ?? 0) - announcedAt;
    const isOther = upload.key !== key || after < -SKEW_MS || after > BEGINNING_MS + SKEW_MS;
    return isOther ? [] : [upload.uploadId];
  });
}

/** Aborts the uploads below a prefix that were begun before a moment (epoch milliseconds of the server) and never ended. */
export async function abortOldUploads(
  client: BucketClient,
  prefix: string,
  before: number,
  signal: AbortSignal,
): Promise<void> {
  const listed = await listUploads(client, prefix, signal);
  if ("kind" in listed) return;
  for (const { key, uploadId, initiated } of listed) {
    const begun = toSeconds(initiated);
    if (begun !== undefined && begun < before) await abortUpload(client, key, uploadId, signal);
  }
}

/** The uploads below a prefix that have an id and no end yet. A list that cannot be understood is an empty one. */
async function listUploads(
  client: BucketClient,
  prefix: string,
  signal: AbortSignal,
): Promise<readonly PendingUpload[] | Refused> {
  const sent = await client.send({ method: "GET", query: { uploads: "", prefix }, signal });
  if (sent.kind === "refused") return sent;
  const read = await readUploads(sent.answer);
  return read.kind === "ok" ? read.uploads.filter(({ key }) => key.startsWith(prefix)) : [];
}
