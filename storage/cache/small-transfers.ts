import type { Readable } from "node:stream";
import { hash } from "node:crypto";
import type { Background } from "./background.ts";
import type { CacheFiles } from "./cache-files.ts";
import type { CacheHits, MemoryCache } from "./cache-hits.ts";
import type { CacheIndex, NewCacheEntry } from "./cache-index.ts";
import { type CacheRequest, type Started, type Transfer, fetchRest } from "./transfer.ts";
import { isResumable, RESUMES_MAX, type Fetched } from "./fill.ts";

export interface SmallTransfersOptions {
  readonly files: CacheFiles;
  readonly index: CacheIndex;
  readonly hits: CacheHits;
  readonly memory: MemoryCache;
  readonly background: Background;
  readonly newId: () => string;
}

/** Downloads of small files, which are served from memory. */
export function createSmallTransfers(options: SmallTransfersOptions) {
  const { files, index, hits, memory, background, newId } = options;

  async function store(entry: NewCacheEntry, buffer: Buffer): Promise<void> {
    const id = newId();
    try {
      const file = await files.createTemporary(id);
      try {
        await file.writeFile(buffer);
        await file.sync();
      } finally {
        await file.close();
      }
      if (!(await index.publish(id, entry))) hits.forget(entry.key);
    } finally {
      await files.removeTemporary(id);
    }
  }

  return {
    /** Reads a file into memory, serves all waiting requests at once, and writes it to disk in the background. */
    async begin<Meta, Failure extends { readonly kind: string }>(
      request: CacheRequest<Meta, Failure>,
      fetched: Fetched<Meta>,
      size: number,
      transfer: Transfer<Meta, Failure>,
    ): Promise<Started<Meta>> {
      const { key, meta } = fetched;
      const buffer = await readSmall(fetched.stream, size, () =>
        fetchRest(request, transfer, meta, 0),
      );
      if (key === undefined) {
        transfer.leave();
      } else {
        memory.put(key, buffer);
        const { userId, connectionId } = request;
        const entry = { key, userId, connectionId, size, hash: hash("sha256", buffer) };
        const written = store(entry, buffer);
        background.add(
          written.finally(() => transfer.leave()),
          "writing a small file",
        );
      }
      return { kind: "buffer", meta, buffer };
    },
  };
}

/** Reads a small file whole; restarts an aborted transfer. */
export async function readSmall(
  first: Readable,
  size: number,
  restart: () => Promise<Readable | undefined>,
): Promise<Buffer> {
  let stream = first;
  for (let retries = 0; ; retries++) {
    try {
      const chunks: Buffer[] = [];
      let arrived = 0;
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        arrived += chunk.length;
        if (arrived > size) break;
        chunks.push(chunk);
      }
      if (arrived !== size) throw new Error(`a fetch of ${size} bytes gave ${arrived}`);
      return Buffer.concat(chunks, size);
    } catch (error) {
      const next = retries < RESUMES_MAX && isResumable(error) ? await restart() : undefined;
      if (next === undefined) throw error;
      stream = next;
    }
  }
}
