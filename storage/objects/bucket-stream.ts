import { createHash, type Hash } from "node:crypto";
import type { Part } from "../cloud/s3/multipart.ts";
import { StorageError } from "../engine/database.ts";
import { unquote } from "../s3/client.ts";
import { isRefused } from "../s3/failures.ts";
import { abortUpload } from "../s3/multipart-uploads.ts";
import { persist, toStorageError, type Bucket } from "./bucket.ts";
import { beginParts, CLEAN_MS, completeParts } from "./bucket-uploads.ts";

/**
 * A part that is being filled: its hash is computed while the bytes arrive, so that hashing never blocks the event
 * loop for long.
 */
interface Filling {
  readonly buffer: Buffer;
  filled: number;
  hash: Hash;
}

/**
 * Begins the upload of `key`, in parts of `partBytes` each: a multipart upload of bytes whose number is not known in
 * advance. It must end with `complete` or `abort`. Holds at most `partsAtOnce` parts and the one that is being filled
 * in memory.
 * @throws StorageError
 */
export async function beginStreamUpload(
  bucket: Bucket,
  { key, partBytes }: { readonly key: string; readonly partBytes: number },
) {
  const { client, limits, signal } = bucket;
  const uploadId = await beginParts(bucket, key);
  if (typeof uploadId !== "string")
    throw toStorageError("a multipart upload", uploadId.failure, uploadId);
  const parts: Part[] = [];
  const running = new Set<Promise<void>>();
  const free: Buffer[] = Array.from({ length: limits.partsAtOnce + 1 }, () =>
    Buffer.allocUnsafe(partBytes),
  );
  let current = take();
  let last = 0;
  let size = 0;
  let failure: { readonly error: unknown } | undefined;
  let state: "open" | "published" | "aborted" = "open";

  function take(): Filling {
    const buffer = free.pop();
    if (buffer === undefined) throw new Error("a part is taken before its buffer is free");
    return { buffer, filled: 0, hash: createHash("sha256") };
  }

  async function send(number: number, { buffer, filled, hash }: Filling): Promise<void> {
    const query = { partNumber: String(number), uploadId: uploadId as string };
    const body = buffer.subarray(0, filled);
    const bodySha256 = hash.digest("hex");
    const sent = await persist(bucket, () =>
      client.sendAndDiscard({ method: "PUT", key, query, body, bodySha256, signal }),
    );
    if (isRefused(sent)) throw toStorageError("a part of an upload", sent.failure, sent);
    parts.push({ number, etag: unquote(sent.headers["etag"] ?? "") });
  }

  /** Sends the current part while the next one is filled. */
  async function flush(): Promise<void> {
    if (last === limits.partsMax)
      throw new StorageError(
        "failed",
        `the upload has more than ${limits.partsMax} parts of ${partBytes} bytes`,
      );
    last += 1;
    const part = current;
    const sending = send(last, part)
      .catch((error: unknown) => void (failure ??= { error }))
      .finally(() => {
        running.delete(sending);
        free.push(part.buffer);
      });
    running.add(sending);
    while (free.length === 0) await Promise.race(running);
    current = take();
  }

  function assertGoing(): void {
    if (failure !== undefined) throw failure.error;
  }

  return {
    /** Appends bytes; waits while all buffers are being sent. @throws StorageError `busy`, `full`, `failed` */
    async write(chunk: Uint8Array): Promise<void> {
      for (let at = 0; at < chunk.byteLength;) {
        assertGoing();
        const piece = chunk.subarray(at, at + partBytes - current.filled);
        current.buffer.set(piece, current.filled);
        current.hash.update(piece);
        current.filled += piece.byteLength;
        at += piece.byteLength;
        if (current.filled === partBytes) await flush();
      }
      size += chunk.byteLength;
    },

    /** Sends the rest, publishes the object, checks its size and returns it. The object does not exist before. @throws StorageError */
    async complete(): Promise<number> {
      if (current.filled > 0 || last === 0) await flush();
      await Promise.all(running);
      assertGoing();
      const inOrder = parts.toSorted((a, b) => a.number - b.number);
      const refused = await completeParts(bucket, { key, uploadId, size }, inOrder);
      if (refused !== undefined)
        throw toStorageError("to complete an upload", refused.failure, refused);
      state = "published";
      const head = await persist(bucket, () => client.head(key, signal));
      if (isRefused(head)) throw toStorageError("to look at an upload", head.failure, head);
      if (head.size === size) return size;
      await client.sendAndDiscard({ method: "DELETE", key, signal: AbortSignal.timeout(CLEAN_MS) });
      throw new StorageError("busy", `the bucket stored ${head.size} bytes of ${size}`);
    },

    /** Discards the parts unless the object was published. No request is running afterwards. Idempotent. */
    async abort(): Promise<void> {
      if (state !== "open") return;
      state = "aborted";
      await Promise.all(running);
      await abortUpload(client, key, uploadId, AbortSignal.timeout(CLEAN_MS));
    },
  };
}
