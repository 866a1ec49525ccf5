import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { Queries, SqlValue, Transaction } from "../../engine/database.ts";
import { toLongRef, toRefKey } from "./refs.ts";
import { renameItemEntries } from "./search-entries.ts";
import type { AccountId, ConnectionId } from "./ids.ts";
import { bytes, derived, integer, named, optional, text, textId, unread } from "../columns.ts";
import { defineTable, type RecordOf } from "../table.ts";
import { sql } from "../condition.ts";

export type AnalysisStatus = "none" | "pending" | "processing" | "ready" | "failed" | "unsupported";
export type IndexStatus = "none" | "pending" | "ready" | "failed" | "stale";

export const items = defineTable("vault_items", {
  id: text(),
  connectionId: textId<ConnectionId>(),
  userId: textId<AccountId>(),
  providerItemId: derived("COALESCE(long_id, provider_item_id)", text()),
  name: text(),
  kind: text<"file" | "folder">(),
  /** Empty for the root. */
  parentRef: derived("COALESCE(long_parent_ref, parent_ref)", text()),
  contentType: optional(text()),
  size: named("provider_size", optional(integer())),
  modifiedAt: optional(integer()),
  etag: optional(text()),
  version: optional(text()),
  /** Undefined while the item is live. */
  deletedAt: optional(integer()),
  analysisStatus: text<AnalysisStatus>(),
  semanticIndexStatus: text<IndexStatus>(),
  longId: unread(optional(text())),
  sortKey: unread(bytes()),
  longParentRef: unread(optional(text())),
  extractedText: unread(optional(text())),
  /** Why the text, or a part of it, is missing. */
  unsupportedAnalysisReason: unread(optional(text())),
  /** The version whose text was extracted. */
  analyzedVersion: unread(optional(text())),
});
/** The record of a file or folder of a connection. Times are epoch milliseconds. */
export type CloudItem = RecordOf<typeof items>;

/** The metadata of an item as its provider reports it. */
export interface ItemMetadata {
  readonly providerItemId: string;
  readonly name: string;
  readonly kind: "file" | "folder";
  readonly parentRef: string;
  /** Undefined keeps the recorded type. */
  readonly contentType: string | undefined;
  readonly size: number | undefined;
  readonly modifiedAt: number | undefined;
  readonly etag: string | undefined;
  readonly version: string | undefined;
}

/** The owner of recorded items, and the generator of their ids. */
export interface ItemOwner {
  readonly connectionId: ConnectionId;
  readonly userId: AccountId;
  readonly newId: () => string;
}

/** Returns the item of an id, deleted or not. */
async function findItem(
  db: Queries,
  connectionId: ConnectionId,
  providerItemId: string,
): Promise<CloudItem | undefined> {
  return items.find(
    db,
    sql`connection_id = ${connectionId} AND provider_item_id = ${toRefKey(providerItemId)}`,
  );
}

/** Returns the live item of an id. */
export async function findLiveItem(
  db: Queries,
  connectionId: ConnectionId,
  providerItemId: string,
): Promise<CloudItem | undefined> {
  const item = await findItem(db, connectionId, providerItemId);
  return item?.deletedAt === undefined ? item : undefined;
}

/** Returns a live item with the generation of its connection; undefined when the user has no such connection or item. */
export async function findOwnedItem(
  db: Queries,
  userId: AccountId,
  connectionId: ConnectionId,
  providerItemId: string,
): Promise<{ readonly item: CloudItem; readonly generation: number } | undefined> {
  const row = await db.get<{ generation: number | null }>(
    OWNED_ITEM,
    connectionId,
    userId,
    connectionId,
    toRefKey(providerItemId),
  );
  if (row === undefined || row.generation === null) return undefined;
  return { item: items.read(row), generation: row.generation };
}

/** Returns the live item of a row id, which moves do not change. */
export async function findLiveItemByRow(db: Queries, id: string): Promise<CloudItem | undefined> {
  return items.find(db, { id, deletedAt: undefined });
}

/** Returns the live item of a folder with exactly this name; the oldest where names may repeat. */
export async function findItemByName(
  db: Queries,
  connectionId: ConnectionId,
  parentRef: string,
  name: string,
): Promise<CloudItem | undefined> {
  const [item] = await listItemsByName(db, { connectionId, parentRef }, name, 1);
  return item;
}

/** Returns the live items of a folder with exactly this name, oldest first: some providers let names repeat. */
export async function listItemsByName(
  db: Queries,
  { connectionId, parentRef }: { readonly connectionId: ConnectionId; readonly parentRef: string },
  name: string,
  limit: number,
): Promise<CloudItem[]> {
  return items.list(
    db,
    sql`connection_id = ${connectionId} AND parent_ref = ${toRefKey(parentRef)} AND name = ${name}
        AND deleted_at IS NULL
        AND sort_key IN (${toSortKey("folder", name)}, ${toSortKey("file", name)})`,
    { order: "id", limit },
  );
}

/** A keyset cursor: a page of a folder begins after the item with this key. */
export interface ItemCursor {
  readonly sortKey: Uint8Array;
  readonly id: string;
}

/** An item with its sort key. */
export interface ListedItem extends CloudItem {
  readonly cursor: ItemCursor;
}

/** Returns live items of a folder: folders first, then by name without case. */
export async function listItems(
  db: Queries,
  folder: { readonly connectionId: ConnectionId; readonly parentRef: string },
  page: { readonly after: ItemCursor | undefined; readonly limit: number },
): Promise<ListedItem[]> {
  const { after, limit } = page;
  const rows = await db.all<{ sort_key: Uint8Array; id: string }>(
    `SELECT sort_key, ${items.columns} FROM vault_items
     WHERE connection_id = ? AND parent_ref = ? AND deleted_at IS NULL
     ${after === undefined ? "" : "AND (sort_key, id) > (?, ?)"}
     ORDER BY sort_key, id LIMIT ?`,
    folder.connectionId,
    toRefKey(folder.parentRef),
    ...(after === undefined ? [] : [after.sortKey, after.id]),
    limit,
  );
  return rows.map((row) => ({ ...items.read(row), cursor: { sortKey: row.sort_key, id: row.id } }));
}

/** Inserts the row of an item, or updates and undeletes the existing one. */
export async function recordItem(
  tx: Transaction,
  owner: ItemOwner,
  item: ItemMetadata,
): Promise<CloudItem> {
  await tx.run(upsertOne, ...toValues(owner, item));
  const recorded = await findItem(tx, owner.connectionId, item.providerItemId);
  if (recorded === undefined) throw new Error("a recorded item is missing");
  await renameItemEntries(tx, { id: recorded.id });
  return recorded;
}

/** Marks an item and everything below it as deleted. Folders whose ids reappear are listed again. */
export async function softDeleteItem(
  tx: Transaction,
  item: Pick<CloudItem, "id" | "connectionId" | "kind">,
): Promise<void> {
  const { id, connectionId } = item;
  if (item.kind === "file") {
    await items.update(tx, { id }, { deletedAt: tx.now });
    return;
  }
  await tx.run(
    `${TREE} UPDATE vault_folders SET refresh_state = 'never', listed_at = NULL, mutations = mutations + 1
     WHERE connection_id = ? AND parent_ref IN (SELECT ref FROM tree) AND refresh_state = 'fresh'`,
    id,
    connectionId,
    connectionId,
  );
  await tx.run(
    `${TREE} UPDATE vault_items SET deleted_at = ?
     WHERE connection_id = ? AND provider_item_id IN (SELECT ref FROM tree) AND deleted_at IS NULL`,
    id,
    connectionId,
    tx.now,
    connectionId,
  );
}

/**
 * An item and its recorded descendants. UNION instead of UNION ALL ends the walk at a cycle of parents. CROSS JOIN fixes
 * the join order, because SQLite would otherwise scan the whole connection for the children of each folder.
 */
const TREE = `WITH RECURSIVE tree (ref) AS (
    SELECT provider_item_id FROM vault_items WHERE id = ?
    UNION
    SELECT child.provider_item_id FROM tree CROSS JOIN vault_items child
    WHERE child.connection_id = ? AND child.parent_ref = tree.ref AND child.deleted_at IS NULL
  )`;

/**
 * Replaces the recorded items of a folder with those that the provider lists: inserts new items, updates changed ones
 * and marks missing ones as deleted. Writes only rows that differ. Items in `unknown` exist; their records stay as they are.
 */
export async function replaceFolderItems(
  tx: Transaction,
  owner: ItemOwner,
  parentRef: string,
  items: readonly ItemMetadata[],
  unknown: readonly string[] = [],
): Promise<void> {
  const recorded = new Map(
    (
      await tx.all<KnownRow>(
        `SELECT id, provider_item_id, name, kind, content_type, provider_size, modified_at, etag, version
         FROM vault_items WHERE connection_id = ? AND parent_ref = ? AND deleted_at IS NULL`,
        owner.connectionId,
        toRefKey(parentRef),
      )
    ).map((row) => [row.provider_item_id, row]),
  );
  const kept = new Set(unknown.map(toRefKey).filter((key) => recorded.delete(key)));
  const changed: SqlValue[][] = [];
  // Without pauses a folder of 200,000 items blocked other requests for 2.7 s.
  for (const [index, item] of items.entries()) {
    if (index % ROWS_OF_TURN === ROWS_OF_TURN - 1) await yieldToEventLoop();
    const key = toRefKey(item.providerItemId);
    const row = recorded.get(key);
    recorded.delete(key);
    if (kept.has(key)) continue;
    if (row === undefined || differs(row, item)) changed.push(toValues(owner, item, row?.id));
    // A file replaced a folder: the items below it are deleted.
    if (row?.kind === "folder" && item.kind === "file") recorded.set(key, row);
  }
  const { connectionId } = owner;
  for (const { id, kind } of recorded.values())
    await softDeleteItem(tx, { id, connectionId, kind });
  // Two sizes of statements, so that few are prepared.
  let at = 0;
  for (; at + ROWS_AT_ONCE <= changed.length; at += ROWS_AT_ONCE) {
    if (at % ROWS_OF_TURN === 0) await yieldToEventLoop();
    await tx.run(upsertMany, ...changed.slice(at, at + ROWS_AT_ONCE).flat());
  }
  for (const values of changed.slice(at)) await tx.run(upsertOne, ...values);
  if (changed.length > 0)
    await renameItemEntries(tx, {
      connection_id: owner.connectionId,
      parent_ref: toRefKey(parentRef),
    });
}

/**
 * Returns the sort key of an item in its folder: folders first, then names without case, then with case. Names that are
 * longer than most storages allow are truncated.
 */
function toSortKey(kind: "file" | "folder", name: string): Uint8Array {
  const folded = name.normalize("NFC").toLowerCase();
  return Buffer.from(`${kind === "folder" ? "a" : "b"}${folded}\0${name}`).subarray(
    0,
    KEY_BYTES_MAX,
  );
}

const ROWS_AT_ONCE = 100;
/** Items that are compared or written in one turn of the event loop, 25 ms at most. */
const ROWS_OF_TURN = 2_000;
/** An index entry of PostgreSQL has at most about 2,700 bytes. */
const KEY_BYTES_MAX = 1024;

/** Keeps text and topics of an earlier version and marks them stale; an undeleted item starts without them. */
const [upsertOne, upsertMany] = [1, ROWS_AT_ONCE].map((rows) => toUpsert(rows)) as [string, string];

interface KnownRow {
  id: string;
  provider_item_id: string;
  name: string;
  kind: "file" | "folder";
  content_type: string | null;
  provider_size: number | null;
  modified_at: number | null;
  etag: string | null;
  version: string | null;
}

/**
 * Runs with every download, so the text is built once. A subquery takes SQLite a fifth of the time of a join.
 */
const OWNED_ITEM = `SELECT (SELECT generation FROM vault_connections WHERE id = ? AND user_id = ?) AS generation, ${items.columns}
  FROM vault_items WHERE connection_id = ? AND provider_item_id = ? AND deleted_at IS NULL`;

function differs(row: KnownRow, item: ItemMetadata): boolean {
  return (
    row.name !== item.name ||
    row.kind !== item.kind ||
    row.etag !== (item.etag ?? null) ||
    row.version !== (item.version ?? null) ||
    row.provider_size !== (item.size ?? null) ||
    row.modified_at !== (item.modifiedAt ?? null) ||
    (item.contentType !== undefined && row.content_type !== item.contentType)
  );
}

function toUpsert(rows: number): string {
  const rowValues = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'none', 'none')";
  return `INSERT INTO vault_items
      (id, connection_id, user_id, provider_item_id, long_id, name, sort_key, kind, parent_ref, long_parent_ref,
       content_type, provider_size, modified_at, etag, version, analysis_status, semantic_index_status)
    VALUES ${Array<string>(rows).fill(rowValues).join(", ")}
    ON CONFLICT (connection_id, provider_item_id) DO UPDATE SET
      semantic_index_status = CASE
        WHEN vault_items.semantic_index_status = 'ready'
          AND vault_items.version IS DISTINCT FROM excluded.version THEN 'stale'
        ELSE vault_items.semantic_index_status END,
      name = excluded.name, sort_key = excluded.sort_key, kind = excluded.kind, parent_ref = excluded.parent_ref,
      long_parent_ref = excluded.long_parent_ref,
      content_type = COALESCE(excluded.content_type, vault_items.content_type),
      provider_size = excluded.provider_size, modified_at = excluded.modified_at,
      etag = excluded.etag, version = excluded.version, deleted_at = NULL`;
}

function toValues(owner: ItemOwner, item: ItemMetadata, id = owner.newId()): SqlValue[] {
  return [
    id,
    owner.connectionId,
    owner.userId,
    toRefKey(item.providerItemId),
    toLongRef(item.providerItemId),
    item.name,
    toSortKey(item.kind, item.name),
    item.kind,
    toRefKey(item.parentRef),
    toLongRef(item.parentRef),
    item.contentType ?? null,
    item.size ?? null,
    item.modifiedAt ?? null,
    item.etag ?? null,
    item.version ?? null,
  ];
}
