// storage/cache: the byte cache, local copies of files in connected storage.
// Start here (what the cache promises), then transfers.ts (requests that share a fetch), fill.ts (a file that is read while it
// is downloaded), cache-hits.ts (how a stored file is verified), cache-index.ts (limits and eviction).
import type { Database } from "../engine/database.ts";
import { listCacheKeysOf } from "../tables/vault/cache.ts";
import { openCacheFiles } from "./cache-files.ts";
import { type CachedBytes, createCacheHits, createMemoryCache } from "./cache-hits.ts";
import { createCacheIndex } from "./cache-index.ts";
import type { CacheOutcome, CacheRequest } from "./transfer.ts";
import { createTransfers } from "./transfers.ts";

/**
 * A cache of bytes on disk. What it gives is whole and of the version that its key names, or breaks off with an error;
 * a damaged file is never given. Concurrent misses make one fetch, whose bytes all waiters get as they arrive; a
 * waiter that goes away does not end it for the others. A crash at any point leaves nothing that could be served wrongly.
 */
export interface ByteCache {
  /** The bytes, at hand or fetched. Failures are those of `request.fetch`; the cache's own disk is never the reason. */
  open<Meta, Failure extends { readonly kind: string }>(
    request: CacheRequest<Meta, Failure>,
  ): Promise<CacheOutcome<Meta, Failure>>;
  /** The bytes of a key if they are in memory as a whole. */
  openFromMemory(key: string): CachedBytes | undefined;
  /** Makes a user's entries fit the limit, after it was lowered. Entries being read are passed over. */
  fit(userId: string): Promise<void>;
  /** The keys of a connection's entries, to be handed to `forget` once its rows are gone. */
  keysOf(connectionId: string): Promise<readonly string[]>;
  /** Removes the files of entries whose rows are gone. */
  forget(keys: readonly string[]): Promise<void>;
  /** Makes index and files agree: files without a row and rows without a file go. To be called after start. */
  reconcile(): Promise<void>;
  /** Resolves when nothing is being written behind the backs of readers. */
  idle(): Promise<void>;
  /** Writes down what was used when. Transfers under way are given up. */
  close(): Promise<void>;
}

export interface ByteCacheOptions {
  readonly db: Database;
  /** The cache's own folder. */
  readonly folder: string;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly newId: () => string;
  /** The bytes that a user's entries may take; asked anew each time, so that it may change at any time. */
  readonly limitOf: (userId: string) => Promise<number>;
  /** Memory for small files. */
  readonly memoryBytes: number;
  /** Told of failures of the cache itself, which no reader notices. */
  readonly onError: (error: unknown, what: string) => void;
}

/** Opens a cache on its folder. `reconcile` is to be called once it runs. */
export async function createByteCache(options: ByteCacheOptions): Promise<ByteCache> {
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

  /** What cannot be looked up is as good as not there. */
  async function lookUp(key: string): Promise<CachedBytes | undefined> {
    try {
      return await hits.lookUp(key);
    } catch (error) {
      onError(error, "looking up a file");
      return undefined;
    }
  }

  return {
    async open(request) {
      const { key } = request;
      if (key !== undefined) {
        let before: number;
        do {
          before = transfers.ended;
          const bytes = await lookUp(key);
          if (bytes !== undefined) return { kind: "ok", bytes, meta: undefined };
          // A transfer that ended during the look has put there what the look has missed.
        } while (before !== transfers.ended);
      }
      return transfers.share(request);
    },

    openFromMemory: (key) => hits.lookUpInMemory(key),
    fit: (userId) => index.fit(userId),
    keysOf: (connectionId) => listCacheKeysOf(db, files.store, connectionId),
    forget: (keys) => index.forget(keys),
    reconcile: () => index.reconcile(() => !isClosed),

    idle: () => transfers.idle(),

    async close() {
      isClosed = true;
      await transfers.close();
      await index.flush();
    },
  };
}
