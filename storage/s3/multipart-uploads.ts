import type { Failure } from "../cloud/outcomes.ts";
import { readUploads, type PendingUpload } from "./responses.ts";
import { toSeconds, type BucketClient } from "./client.ts";
import { mayHaveLanded, toChangeFailure, type Refused } from "./failures.ts";

/** The longest time between the announcement of an upload and its start. A later start belongs to another call. */
export const BEGINNING_MS = 60_000;
/** Tolerance for clock skew between the servers of one storage. */
const SKEW_MS = 5_000;

/** Aborts a multipart upload. Idempotent: an upload that is already over counts as aborted. */
export async function abortUpload(
  client: BucketClient,
  key: string,
  uploadId: string,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const sent = await client.sendAndDiscard({ method: "DELETE", key, query: { uploadId }, signal });
  return sent.kind === "done" || sent.status === 404 ? undefined : toChangeFailure(sent.failure);
}

/**
 * Aborts the uploads that one call may have started under `key` and whose ids were lost. `announcedAt` (epoch milliseconds of
 * the server) is shortly before the call: uploads of that key from before it, or long after it, belong to others.
 */
export async function findBegun(
  client: BucketClient,
  key: string,
  announcedAt: number,
  signal: AbortSignal,
): Promise<readonly string[] | Failure> {
  const uploads = await listUploads(client, key, signal);
  if ("kind" in uploads)
    // Servers without that listing provide no other way to find the upload; they remove old parts on their own.
    return mayHaveLanded(uploads) ? toChangeFailure(uploads.failure) : [];
  return uploads.flatMap((upload) => {
    const after = (toSeconds(upload.initiated) ?? 0) - announcedAt;
    const isOther = upload.key !== key || after < -SKEW_MS || after > BEGINNING_MS + SKEW_MS;
    return isOther ? [] : [upload.uploadId];
  });
}

/** Aborts the unfinished uploads below a prefix that were started before a moment (epoch milliseconds of the server). */
export async function abortOldUploads(
  client: BucketClient,
  prefix: string,
  before: number,
  signal: AbortSignal,
): Promise<void> {
  const uploads = await listUploads(client, prefix, signal);
  if ("kind" in uploads) return;
  for (const { key, uploadId, initiated } of uploads) {
    const begun = toSeconds(initiated);
    if (begun !== undefined && begun < before) await abortUpload(client, key, uploadId, signal);
  }
}

/** Lists the unfinished uploads below a prefix. An unreadable list counts as empty. */
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
