import type { Queries, Transaction } from "../../engine/database.ts";
import type { AccountId, ConnectionId } from "./ids.ts";

/** One cached file. Times are epoch milliseconds. */
export interface CacheEntry {
  /** The name of the file. */
  readonly key: string;
  readonly userId: AccountId;
  readonly connectionId: ConnectionId;
  readonly size: number;
  /** The digest of the bytes, in hex. */
  readonly hash: string;
  readonly lastUsedAt: number;
}

/** Adds an entry to a store, or replaces the one with the same key. */
export async function putCacheEntry(
  tx: Transaction,
  store: string,
  entry: CacheEntry,
): Promise<void> {
  await tx.run(
    `INSERT INTO vault_cache_entries (store, cache_key, user_id, connection_id, size, hash, last_used_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (store, cache_key) DO UPDATE SET
       size = excluded.size, hash = excluded.hash, last_used_at = excluded.last_used_at`,
    store,
    entry.key,
    entry.userId,
    entry.connectionId,
    entry.size,
    entry.hash,
    entry.lastUsedAt,
  );
}

export async function findCacheEntry(
  db: Queries,
  store: string,
  key: string,
): Promise<CacheEntry | undefined> {
  const row = await db.get<CacheRow>(
    `SELECT ${columnList} FROM vault_cache_entries WHERE store = ? AND cache_key = ?`,
    store,
    key,
  );
  return row && toEntry(row);
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
  const rows = await db.all<CacheRow>(
    `SELECT ${columnList} FROM vault_cache_entries
     WHERE store = ? AND user_id = ? ORDER BY last_used_at, cache_key LIMIT ?`,
    store,
    userId,
    limit,
  );
  return rows.map(toEntry);
}

/** Returns the entries of all users, least recently used first. */
export async function listOldestCacheEntries(
  db: Queries,
  store: string,
  limit: number,
): Promise<CacheEntry[]> {
  const rows = await db.all<CacheRow>(
    `SELECT ${columnList} FROM vault_cache_entries
     WHERE store = ? ORDER BY last_used_at, cache_key LIMIT ?`,
    store,
    limit,
  );
  return rows.map(toEntry);
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
  for (const key of keys)
    await tx.run("DELETE FROM vault_cache_entries WHERE store = ? AND cache_key = ?", store, key);
}

/** Records when entries were last used. */
export async function touchCacheEntries(
  tx: Transaction,
  store: string,
  used: Iterable<readonly [key: string, at: number]>,
): Promise<void> {
  for (const [key, at] of used)
    await tx.run(
      "UPDATE vault_cache_entries SET last_used_at = ? WHERE store = ? AND cache_key = ?",
      at,
      store,
      key,
    );
}

interface CacheRow {
  cache_key: string;
  user_id: AccountId;
  connection_id: ConnectionId;
  size: number;
  hash: string;
  last_used_at: number;
}

const columnList = "cache_key, user_id, connection_id, size, hash, last_used_at";

/** Returns the entries of a store in the order of their keys, after one of them. */
export async function listCacheEntriesAfter(
  db: Queries,
  store: string,
  afterKey: string,
  limit: number,
): Promise<CacheEntry[]> {
  const rows = await db.all<CacheRow>(
    `SELECT ${columnList} FROM vault_cache_entries
     WHERE store = ? AND cache_key > ? ORDER BY cache_key LIMIT ?`,
    store,
    afterKey,
    limit,
  );
  return rows.map(toEntry);
}

function toEntry(row: CacheRow): CacheEntry {
  return {
    key: row.cache_key,
    userId: row.user_id,
    connectionId: row.connection_id,
    size: row.size,
    hash: row.hash,
    lastUsedAt: row.last_used_at,
  };
}
