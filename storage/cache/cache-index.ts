import { isConflict, type Database } from "../engine/database.ts";
import {
  deleteCacheEntries,
  findCacheEntry,
  listCacheEntries,
  listCacheKeysAfter,
  listOldestCacheEntries,
  putCacheEntry,
  sumCacheBytes,
  touchCacheEntries,
  type CacheEntry,
} from "../tables/vault/cache.ts";
import type { CacheFiles } from "./cache-files.ts";
import type { AccountId } from "../tables/vault/ids.ts";

export type CacheIndex = ReturnType<typeof createCacheIndex>;

/** A new entry counts as used when it was created. */
export type NewCacheEntry = Omit<CacheEntry, "lastUsedAt">;

export interface CacheIndexOptions {
  readonly db: Database;
  readonly files: CacheFiles;
  readonly clock: () => number;
  readonly limitOf: (userId: AccountId) => Promise<number>;
  /** Called with every key whose file is removed. */
  readonly onRemoved: (key: string) => void;
  readonly onError: (error: unknown, task: string) => void;
}

const TOUCHES_MAX = 1_000;
const EVICT_AT_ONCE = 100;
const COMPARE_AT_ONCE = 500;

/**
 * The index of cached files: which exist, the users whose limits they count against, and which are being read. A file
 * without a row does not count.
 */
export function createCacheIndex(options: CacheIndexOptions) {
  const { db, files, clock } = options;
  const pins = new Map<string, number>();
  const touches = new Map<string, number>();
  /** Users whose entries exceed the limit only because some are being read. */
  const overLimit = new Set<AccountId>();

  async function removeFiles(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      touches.delete(key);
      options.onRemoved(key);
      await files.remove(key);
    }
  }

  function forgetTouches(written: readonly (readonly [string, number])[]): void {
    // A use that was recorded during the flush stays for the next one.
    for (const [key, at] of written) if (touches.get(key) === at) touches.delete(key);
  }

  async function flush(): Promise<void> {
    const used = [...touches];
    if (used.length === 0) return;
    await db.transaction((tx) => touchCacheEntries(tx, files.store, used));
    forgetTouches(used);
  }

  async function fit(userId: AccountId, added?: CacheEntry): Promise<void> {
    const limit = await options.limitOf(userId);
    const used = [...touches];
    const evicted = await db.transaction(async (tx) => {
      if (added !== undefined) await putCacheEntry(tx, files.store, added);
      const removed: string[] = [];
      let bytes = await sumCacheBytes(tx, files.store, userId);
      if (bytes <= limit) return { removed, fits: true };
      // The order of eviction includes uses that are not flushed yet.
      await touchCacheEntries(tx, files.store, used);
      while (bytes > limit) {
        const oldest = await listCacheEntries(tx, files.store, userId, EVICT_AT_ONCE + pins.size);
        const batch: string[] = [];
        for (const entry of oldest) {
          if (bytes <= limit) break;
          if (pins.has(entry.key)) continue;
          batch.push(entry.key);
          bytes -= entry.size;
        }
        if (batch.length === 0) break;
        await deleteCacheEntries(tx, files.store, batch);
        removed.push(...batch);
      }
      return { removed, fits: bytes <= limit };
    });
    if (evicted.fits) overLimit.delete(userId);
    else overLimit.add(userId);
    await removeFiles(evicted.removed);
  }

  function pin(key: string): void {
    pins.set(key, (pins.get(key) ?? 0) + 1);
  }

  function unpin(key: string): void {
    const count = (pins.get(key) ?? 0) - 1;
    if (count > 0) {
      pins.set(key, count);
      return;
    }
    pins.delete(key);
    for (const userId of overLimit) {
      overLimit.delete(userId);
      fit(userId).catch((error: unknown) => options.onError(error, "evicting"));
    }
  }

  async function drop(keys: readonly string[]): Promise<void> {
    await db.transaction((tx) => deleteCacheEntries(tx, files.store, keys));
    await removeFiles(keys);
  }

  async function hasWholeFile(key: string, size: number): Promise<boolean> {
    const handle = await files.open(key);
    if (handle === undefined) return false;
    try {
      return (await handle.stat()).size === size;
    } finally {
      await handle.close();
    }
  }

  async function dropRowsWithoutFiles(mayContinue: () => boolean): Promise<void> {
    let after = "";
    while (mayContinue()) {
      const page = await listCacheKeysAfter(db, files.store, after, COMPARE_AT_ONCE);
      const last = page.at(-1);
      if (last === undefined) return;
      after = last.key;
      const missing: string[] = [];
      for (const { key, size } of page)
        if (!pins.has(key) && !(await hasWholeFile(key, size))) missing.push(key);
      if (missing.length > 0) await drop(missing);
    }
  }

  async function removeFilesWithoutRows(mayContinue: () => boolean): Promise<void> {
    for await (const key of files.keys()) {
      if (!mayContinue()) return;
      // A file that is being published has no row yet, but it is pinned.
      if (pins.has(key)) continue;
      const entry = await findCacheEntry(db, files.store, key);
      if (entry === undefined && !pins.has(key)) await removeFiles([key]);
    }
  }

  return {
    find: (key: string): Promise<CacheEntry | undefined> => findCacheEntry(db, files.store, key),

    /** Records a use in memory; the next flush writes it. */
    touch(key: string): void {
      touches.set(key, clock());
      if (touches.size % TOUCHES_MAX === 0)
        flush().catch((error: unknown) => options.onError(error, "noting what was used"));
    },

    /** Flushes the usage times. */
    flush,
    /** Pins an entry: it is not evicted until each `pin` has its `unpin`. */
    pin,
    unpin,

    /**
     * Publishes a written and synced temporary file, inserts its row, and evicts until the user's entries fit. Returns false, and
     * leaves no file, when the user or the connection no longer exists.
     */
    async publish(temporaryId: string, entry: NewCacheEntry): Promise<boolean> {
      pin(entry.key);
      try {
        await files.publish(temporaryId, entry.key);
        try {
          await fit(entry.userId, { ...entry, lastUsedAt: clock() });
          return true;
        } catch (error) {
          await removeFiles([entry.key]);
          if (isConflict(error)) return false;
          throw error;
        }
      } finally {
        unpin(entry.key);
      }
    },

    /** Evicts the least recently used entries of a user until the rest fits the limit. Pinned entries stay. */
    fit: (userId: AccountId): Promise<void> => fit(userId),
    /** Removes entries whose files differ from the written ones. */
    drop,
    /** Removes the files of entries whose rows are deleted. */
    forget: removeFiles,

    /** Frees space on a full disk: removes the least recently used entries of all users, regardless of their limits. */
    async makeRoom(): Promise<void> {
      const oldest = await listOldestCacheEntries(db, files.store, EVICT_AT_ONCE + pins.size);
      const keys = oldest.map((entry) => entry.key).filter((key) => !pins.has(key));
      // Files go first: on a full disk the database may fail to delete rows, and a row without a file is only a miss.
      await removeFiles(keys);
      try {
        await db.transaction((tx) => deleteCacheEntries(tx, files.store, keys));
      } catch (error) {
        options.onError(error, "making room");
      }
    },

    /** Reconciles rows and files, until `mayContinue` returns false. */
    async reconcile(mayContinue: () => boolean): Promise<void> {
      await dropRowsWithoutFiles(mayContinue);
      await removeFilesWithoutRows(mayContinue);
    },
  };
}
