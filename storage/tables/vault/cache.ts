import type { Queries, Transaction } from "../../engine/database.ts";
import type { AccountId, ConnectionId } from "./ids.ts";
import { integer, named, text, textId, unread } from "../columns.ts";
import { defineTable, type RecordOf } from "../table.ts";
import { sql } from "../condition.ts";

const entries = defineTable("vault_cache_entries", {
  /** The name of the file. */
  key: named("cache_key", text()),
  userId: textId<AccountId>(),
  connectionId: textId<ConnectionId>(),
  size: integer(),
  /** The digest of the bytes, in hex. */
  hash: text(),
  lastUsedAt: integer(),
  store: unread(text()),
});
/** One cached file. Times are epoch milliseconds. */
export type CacheEntry = RecordOf<typeof entries>;

/** Adds an entry to a store, or replaces the one with the same key. */
export async function putCacheEntry(
  tx: Transaction,
  store: string,
  entry: CacheEntry,
): Promise<void> {
  await entries.upsert(
    tx,
    { ...entry, store },
    "ON CONFLICT (store, cache_key) DO UPDATE SET size = excluded.size, hash = excluded.hash, last_used_at = excluded.last_used_at",
  );
}

export async function findCacheEntry(
  db: Queries,
  store: string,
  key: string,
): Promise<CacheEntry | undefined> {
  return entries.find(db, { store, key });
}

/** Returns the total size of a user's entries in a store, in bytes. */
export async function sumCacheBytes(
  db: Queries,
  store: string,
  userId: AccountId,
): Promise<number> {
  const row = await db.get<{ bytes: number }>(
    `SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) AS bytes FROM vault_cache_entries
     WHERE store = ? AND user_id = ?`,
    store,
    userId,
  );
  return row?.bytes ?? 0;
}

/** Returns a user's entries, least recently used first. */
export async function listCacheEntries(
  db: Queries,
  store: string,
  userId: AccountId,
  limit: number,
): Promise<CacheEntry[]> {
  return entries.list(db, { store, userId }, { order: "last_used_at, cache_key", limit });
}

/** Returns the entries of all users, least recently used first. */
export async function listOldestCacheEntries(
  db: Queries,
  store: string,
  limit: number,
): Promise<CacheEntry[]> {
  return entries.list(db, { store }, { order: "last_used_at, cache_key", limit });
}

/** Returns the keys of a connection's entries. */
export async function listCacheKeysOf(
  db: Queries,
  store: string,
  connectionId: ConnectionId,
): Promise<string[]> {
  const rows = await db.all<{ cache_key: string }>(
    "SELECT cache_key FROM vault_cache_entries WHERE store = ? AND connection_id = ?",
    store,
    connectionId,
  );
  return rows.map((row) => row.cache_key);
}

/** Returns keys and sizes after `after`, by key, to reconcile them with the files. */
export async function listCacheKeysAfter(
  db: Queries,
  store: string,
  after: string,
  limit: number,
): Promise<{ readonly key: string; readonly size: number }[]> {
  const rows = await db.all<{ cache_key: string; size: number }>(
    `SELECT cache_key, size FROM vault_cache_entries
     WHERE store = ? AND cache_key > ? ORDER BY cache_key LIMIT ?`,
    store,
    after,
    limit,
  );
  return rows.map((row) => ({ key: row.cache_key, size: row.size }));
}

/** Deletes entries. Delete their files only after the commit. */
export async function deleteCacheEntries(
  tx: Transaction,
  store: string,
  keys: readonly string[],
): Promise<void> {
  for (const key of keys) await entries.delete(tx, { store, key });
}

/** Records when entries were last used. */
export async function touchCacheEntries(
  tx: Transaction,
  store: string,
  used: Iterable<readonly [key: string, at: number]>,
): Promise<void> {
  for (const [key, at] of used) await entries.update(tx, { store, key }, { lastUsedAt: at });
}

/** Returns the entries of a store in the order of their keys, after one of them. */
export async function listCacheEntriesAfter(
  db: Queries,
  store: string,
  afterKey: string,
  limit: number,
): Promise<CacheEntry[]> {
  return entries.list(db, sql`store = ${store} AND cache_key > ${afterKey}`, {
    order: "cache_key",
    limit,
  });
}
