// storage/cache: the byte cache, local copies of files in connected storage.
// Start here (the contract of the cache), then transfers.ts (requests that share a fetch), fill.ts (a file that is read while
// it is downloaded), cache-hits.ts (how a stored file is verified), cache-index.ts (limits and eviction).
import type { Database } from "../engine/database.ts";
import { listCacheKeysOf } from "../tables/vault/cache.ts";
import { openCacheFiles } from "./cache-files.ts";
import { type CachedBytes, createCacheHits, createMemoryCache } from "./cache-hits.ts";
import { createCacheIndex } from "./cache-index.ts";
import type { CacheOutcome, CacheRequest } from "./transfer.ts";
import { createTransfers } from "./transfers.ts";
import type { AccountId, ConnectionId } from "../tables/vault/ids.ts";

/**
 * A cache of bytes on disk. It returns exactly the bytes of the version that the key names, or fails the stream with an
 * error; it never serves a damaged file. Concurrent misses share one fetch, and all readers get its bytes as they arrive; a
 * reader that disconnects does not end the fetch for the others. A crash at any point leaves nothing that is served wrongly.
 */
export type ByteCache = Awaited<ReturnType<typeof createByteCache>>;

export interface ByteCacheOptions {
  readonly db: Database;
  /** The folder of the cache. */
  readonly folder: string;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly newId: () => string;
  /** Returns the limit of a user in bytes. Called on each use, so the limit may change at any time. */
  readonly limitOf: (userId: AccountId) => Promise<number>;
  /** Bytes of memory for small files. */
  readonly memoryBytes: number;
  /** Called with failures of the cache itself, which no reader sees. */
  readonly onError: (error: unknown, task: string) => void;
}

/** Opens a cache on its folder. Call `reconcile` once the cache is in use. */
export async function createByteCache(options: ByteCacheOptions) {
  const { db, clock, newId, limitOf, onError } = options;
  const files = await openCacheFiles(options.folder, newId);
  const memory = createMemoryCache(options.memoryBytes);
  const index = createCacheIndex({
    db,
    files,
    clock,
    limitOf,
    onRemoved: (key) => hits.forget(key),
    onError,
  });
  const hits = createCacheHits({ files, index, memory, clock, onError });
  const transfers = createTransfers({
    files,
    index,
    hits,
    memory,
    newId,
    limitOf,
    onError,
  });
  let isClosed = false;

  /** A failed lookup counts as a miss. */
  async function lookUp(key: string): Promise<CachedBytes | undefined> {
    try {
      return await hits.lookUp(key);
    } catch (error) {
      onError(error, "looking up a file");
      return undefined;
    }
  }

  return {
    /** Returns the bytes, cached or fetched. Fails only as `request.fetch` fails, never because of the cache's own disk. */
    async open<Meta, Failure extends { readonly kind: string }>(
      request: CacheRequest<Meta, Failure>,
    ): Promise<CacheOutcome<Meta, Failure>> {
      const { key } = request;
      if (key !== undefined) {
        let before: number;
        do {
          before = transfers.ended;
          const bytes = await lookUp(key);
          if (bytes !== undefined) return { kind: "ok", bytes, meta: undefined };
          // A transfer that ended during the lookup has stored the bytes that the lookup missed.
        } while (before !== transfers.ended);
      }
      return transfers.share(request);
    },

    /** Returns the bytes of a key if they are in memory as a whole. */
    openFromMemory: (key: string): CachedBytes | undefined => hits.lookUpInMemory(key),
    /** Evicts entries of a user until the rest fits a lowered limit. Skips entries that are being read. */
    fit: (userId: AccountId): Promise<void> => index.fit(userId),
    /** Returns the keys of a connection's entries. Pass them to `forget` once its rows are deleted. */
    keysOf: (connectionId: ConnectionId): Promise<readonly string[]> =>
      listCacheKeysOf(db, files.store, connectionId),
    /** Removes the files of entries whose rows are deleted. */
    forget: (keys: readonly string[]): Promise<void> => index.forget(keys),
    /** Reconciles index and files: removes files without a row and rows without a file. Call it after start. */
    reconcile: (): Promise<void> => index.reconcile(() => !isClosed),

    /** Resolves when no background write is left. */
    idle: (): Promise<void> => transfers.idle(),

    /** Flushes the usage times and aborts the running transfers. */
    async close(): Promise<void> {
      isClosed = true;
      await transfers.close();
      await index.flush();
    },
  };
}
