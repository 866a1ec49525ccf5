import { open, type FileHandle } from "node:fs/promises";
import type { ReadFailure } from "../cloud/outcomes.ts";
import { unquote } from "../s3/client.ts";
import { toCompletion, type Part } from "../cloud/s3/multipart.ts";
import { isRefused, mayHaveLanded, type Refused } from "../s3/failures.ts";
import { abortUpload } from "../s3/multipart-uploads.ts";
import { persist, type Bucket } from "./bucket.ts";

/** Aborting and cleaning up ignore the caller's signal: an upload without a record would stay forever. */
export const CLEAN_MS = 15_000;

/**
 * Uploads a file to a key that no other caller uses, and checks the size of the result. A short file is one request,
 * a longer one is multipart; each request is signed with its own hash, so that the server refuses a damaged body.
 * Returns undefined on success. After a failure it removes all parts if the bucket can be reached.
 */
export async function putFile(
  bucket: Bucket,
  file: { readonly path: string; readonly size: number; readonly key: string },
): Promise<ReadFailure | undefined> {
  const { path, size, key } = file;
  const handle = await open(path, "r");
  try {
    const refused =
      size <= bucket.limits.partBytes
        ? await putWhole(bucket, handle, size, key)
        : await putParts(bucket, handle, size, key);
    if (refused !== undefined) return refused.failure;
  } finally {
    await handle.close();
  }
  const head = await persist(bucket, () => bucket.client.head(key, bucket.signal));
  if (isRefused(head)) return head.failure;
  if (head.size === size) return undefined;
  await bucket.client.sendAndDiscard({
    method: "DELETE",
    key,
    signal: AbortSignal.timeout(CLEAN_MS),
  });
  return { kind: "offline", sent: true, note: "stored_otherwise" };
}

async function putWhole(
  bucket: Bucket,
  handle: FileHandle,
  size: number,
  key: string,
): Promise<Refused | undefined> {
  const body = await readPart(handle, Buffer.allocUnsafe(size), 0);
  const { client, signal } = bucket;
  const sent = await persist(bucket, () =>
    client.sendAndDiscard({ method: "PUT", key, body, signal }),
  );
  return isRefused(sent) ? sent : undefined;
}

async function putParts(
  bucket: Bucket,
  handle: FileHandle,
  size: number,
  key: string,
): Promise<Refused | undefined> {
  const uploadId = await beginParts(bucket, key);
  if (typeof uploadId !== "string") return uploadId;
  let isOver = false;
  try {
    const parts = await sendParts(bucket, handle, size, { key, uploadId });
    if (!Array.isArray(parts)) return parts as Refused;
    const refused = await completeParts(bucket, { key, uploadId, size }, parts);
    isOver = refused === undefined;
    return refused;
  } finally {
    if (!isOver) await abortUpload(bucket.client, key, uploadId, AbortSignal.timeout(CLEAN_MS));
  }
}

/** Begins a multipart upload and returns its id. */
export async function beginParts(bucket: Bucket, key: string): Promise<string | Refused> {
  const { client, signal } = bucket;
  const started = await persist(bucket, () =>
    client.sendForFields({ method: "POST", key, query: { uploads: "" }, signal }, "UploadId"),
  );
  return isRefused(started) ? started : (started.fields["UploadId"] ?? "");
}

/** An object and the multipart upload that makes it. */
export interface Target {
  readonly key: string;
  readonly uploadId: string;
}

/** Sends all parts, a few at once. When this ends, no request is running, even after a failure. */
async function sendParts(
  bucket: Bucket,
  handle: FileHandle,
  size: number,
  { key, uploadId }: Target,
): Promise<readonly Part[] | Refused> {
  const { client, limits, signal } = bucket;
  const partBytes = Math.max(limits.partBytes, Math.ceil(size / limits.partsMax));
  const count = Math.ceil(size / partBytes);
  const parts: Part[] = [];
  let next = 1;
  let failed: Refused | undefined;

  async function work(): Promise<void> {
    const buffer = Buffer.allocUnsafe(partBytes);
    while (next <= count && failed === undefined) {
      const number = next++;
      const start = (number - 1) * partBytes;
      const body = await readPart(
        handle,
        buffer.subarray(0, Math.min(partBytes, size - start)),
        start,
      );
      const query = { partNumber: String(number), uploadId };
      const sent = await persist(bucket, () =>
        client.sendAndDiscard({ method: "PUT", key, query, body, signal }),
      );
      if (isRefused(sent)) failed ??= sent;
      else parts.push({ number, etag: unquote(sent.headers["etag"] ?? "") });
    }
  }

  const workers = Array.from({ length: Math.min(limits.partsAtOnce, count) }, work);
  const ended = await Promise.allSettled(workers);
  for (const result of ended) if (result.status === "rejected") throw result.reason;
  return failed ?? parts.sort((a, b) => a.number - b.number);
}

/** Completes the multipart upload. If the response is lost, a HEAD request tells whether it succeeded. */
export async function completeParts(
  bucket: Bucket,
  { key, uploadId, size }: Target & { readonly size: number },
  parts: readonly Part[],
): Promise<Refused | undefined> {
  const { client, signal } = bucket;
  const body = Buffer.from(toCompletion(parts));
  const sent = await persist(bucket, async () => {
    const completed = await client.sendForFields(
      {
        method: "POST",
        key,
        query: { uploadId },
        headers: { "content-type": "application/xml" },
        body,
        isLong: true,
        signal,
      },
      "ETag",
    );
    if (!isRefused(completed)) return completed;
    if (!mayHaveLanded(completed) && completed.code !== "NoSuchUpload") return completed;
    const head = await client.head(key, signal);
    return !isRefused(head) && head.size === size ? head : completed;
  });
  return isRefused(sent) ? sent : undefined;
}

async function readPart(handle: FileHandle, into: Buffer, position: number): Promise<Buffer> {
  for (let filled = 0; filled < into.length;) {
    const { bytesRead } = await handle.read(into, filled, into.length - filled, position + filled);
    if (bytesRead === 0) throw new Error("a file became shorter during its upload to the bucket");
    filled += bytesRead;
  }
  return into;
}
