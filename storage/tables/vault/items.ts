import type { Queries, SqlValue, Transaction } from "../../engine/database.ts";
import type { AnalysisStatus, IndexStatus } from "./item-analysis.ts";
import { walkUp } from "./item-ancestors.ts";
import { toLongRef, toRefKey } from "./refs.ts";

/** What is known of one file or folder of a connection. Times are epoch milliseconds. */
export interface CloudItem {
  readonly id: string;
  readonly connectionId: string;
  readonly userId: string;
  readonly providerItemId: string;
  readonly name: string;
  readonly kind: "file" | "folder";
  /** Empty for the root. */
  readonly parentRef: string;
  readonly contentType: string | undefined;
  readonly size: number | undefined;
  readonly modifiedAt: number | undefined;
  readonly etag: string | undefined;
  readonly version: string | undefined;
  /** Undefined while the item is live. */
  readonly deletedAt: number | undefined;
  readonly analysisStatus: AnalysisStatus;
  readonly semanticIndexStatus: IndexStatus;
}

/** What a provider says about an item. */
export interface SeenItem {
  readonly providerItemId: string;
  readonly name: string;
  readonly kind: "file" | "folder";
  readonly parentRef: string;
  /** Undefined keeps what is known. */
  readonly contentType: string | undefined;
  readonly size: number | undefined;
  readonly modifiedAt: number | undefined;
  readonly etag: string | undefined;
  readonly version: string | undefined;
}

/** Whose items, and how new ones are named. */
export interface ItemOwner {
  readonly connectionId: string;
  readonly userId: string;
  readonly newId: () => string;
}

/** The item with this id, deleted or not. */
async function findItem(
  db: Queries,
  connectionId: string,
  providerItemId: string,
): Promise<CloudItem | undefined> {
  const row = await db.get<ItemRow>(
    `SELECT ${columnList} FROM vault_items WHERE connection_id = ? AND provider_item_id = ?`,
    connectionId,
    toRefKey(providerItemId),
  );
  return row && toItem(row);
}

/** The live item with this id. */
export async function findLiveItem(
  db: Queries,
  connectionId: string,
  providerItemId: string,
): Promise<CloudItem | undefined> {
  const item = await findItem(db, connectionId, providerItemId);
  return item?.deletedAt === undefined ? item : undefined;
}

/** A live item of a connection that is that user's, with the connection's generation; undefined when either is missing. */
export async function findOwnedItem(
  db: Queries,
  userId: string,
  connectionId: string,
  providerItemId: string,
): Promise<{ readonly item: CloudItem; readonly generation: number } | undefined> {
  const row = await db.get<ItemRow & { generation: number | null }>(
    OWNED_ITEM,
    connectionId,
    userId,
    connectionId,
    toRefKey(providerItemId),
  );
  if (row === undefined || row.generation === null) return undefined;
  return { item: toItem(row), generation: row.generation };
}

/** The live item of a row, wherever it is by now. */
export async function findLiveItemByRow(db: Queries, id: string): Promise<CloudItem | undefined> {
  const row = await db.get<ItemRow>(
    `SELECT ${columnList} FROM vault_items WHERE id = ? AND deleted_at IS NULL`,
    id,
  );
  return row && toItem(row);
}

/** The live item of a folder with exactly this name; the oldest where names may repeat. */
export async function findItemByName(
  db: Queries,
  connectionId: string,
  parentRef: string,
  name: string,
): Promise<CloudItem | undefined> {
  const [item] = await listItemsByName(db, { connectionId, parentRef }, name, 1);
  return item;
}

/** The live items of a folder with exactly this name, the oldest first: some providers let names repeat. */
export async function listItemsByName(
  db: Queries,
  { connectionId, parentRef }: { readonly connectionId: string; readonly parentRef: string },
  name: string,
  limit: number,
): Promise<CloudItem[]> {
  const rows = await db.all<ItemRow>(
    `SELECT ${columnList} FROM vault_items
     WHERE connection_id = ? AND parent_ref = ? AND name = ? AND deleted_at IS NULL
     AND sort_key IN (?, ?) ORDER BY id LIMIT ?`,
    connectionId,
    toRefKey(parentRef),
    name,
    toSortKey("folder", name),
    toSortKey("file", name),
    limit,
  );
  return rows.map(toItem);
}

/** Where a page of a folder begins: behind the item with this key. */
export interface ItemCursor {
  readonly sortKey: Uint8Array;
  readonly id: string;
}

/** An item with its place in the order of its folder. */
export interface ListedItem extends CloudItem {
  readonly cursor: ItemCursor;
}

/** Live items of a folder, folders first, then by name without case. */
export async function listItems(
  db: Queries,
  folder: { readonly connectionId: string; readonly parentRef: string },
  page: { readonly after: ItemCursor | undefined; readonly limit: number },
): Promise<ListedItem[]> {
  const { after, limit } = page;
  const rows = await db.all<ItemRow & { sort_key: Uint8Array }>(
    `SELECT sort_key, ${columnList} FROM vault_items
     WHERE connection_id = ? AND parent_ref = ? AND deleted_at IS NULL
     ${after === undefined ? "" : "AND (sort_key, id) > (?, ?)"}
     ORDER BY sort_key, id LIMIT ?`,
    folder.connectionId,
    toRefKey(folder.parentRef),
    ...(after === undefined ? [] : [after.sortKey, after.id]),
    limit,
  );
  return rows.map((row) => ({ ...toItem(row), cursor: { sortKey: row.sort_key, id: row.id } }));
}

/** Records what the provider said of one item: a new row, or the known one brought up to date and back to life. */
export async function recordItem(
  tx: Transaction,
  owner: ItemOwner,
  seen: SeenItem,
): Promise<CloudItem> {
  await tx.run(upsertOne, ...toValues(owner, seen));
  const item = await findItem(tx, owner.connectionId, seen.providerItemId);
  if (item === undefined) throw new Error("a recorded item is missing");
  return item;
}

/** Marks an item as gone, and everything below it. What comes back under the same ids is listed anew. */
export async function softDeleteItem(
  tx: Transaction,
  item: Pick<CloudItem, "id" | "connectionId" | "kind">,
): Promise<void> {
  const { id, connectionId } = item;
  if (item.kind === "file") {
    await tx.run("UPDATE vault_items SET deleted_at = ? WHERE id = ?", tx.now, id);
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
 * An item and what is known to lie below it. UNION and not UNION ALL: a cycle of parents, which no provider should have,
 * ends the walk. CROSS JOIN, as SQLite would otherwise look through the whole connection for the children of each folder.
 */
const TREE = `WITH RECURSIVE tree (ref) AS (
    SELECT provider_item_id FROM vault_items WHERE id = ?
    UNION
    SELECT child.provider_item_id FROM tree CROSS JOIN vault_items child
    WHERE child.connection_id = ? AND child.parent_ref = tree.ref AND child.deleted_at IS NULL
  )`;

/** The ids of the folders above an item, nearest first, as far as they are known; a cycle ends the walk. */
export async function listAncestors(
  db: Queries,
  scope: { readonly connectionId: string; readonly userId: string },
  providerItemId: string,
): Promise<{ readonly ref: string; readonly name: string }[]> {
  const ancestors: { ref: string; name: string }[] = [];
  for await (const { ref, name } of walkUp(db, scope, providerItemId))
    if (ref !== providerItemId) ancestors.push({ ref, name });
  return ancestors;
}

/**
 * Makes what is known of a folder what the provider says: new items are added, changed ones brought up to date, missing
 * ones marked as gone. Only rows that differ are written.
 */
export async function replaceFolderItems(
  tx: Transaction,
  owner: ItemOwner,
  parentRef: string,
  items: readonly SeenItem[],
): Promise<void> {
  const known = new Map(
    (
      await tx.all<KnownRow>(
        `SELECT id, provider_item_id, name, kind, content_type, provider_size, modified_at, etag, version
         FROM vault_items WHERE connection_id = ? AND parent_ref = ? AND deleted_at IS NULL`,
        owner.connectionId,
        toRefKey(parentRef),
      )
    ).map((row) => [row.provider_item_id, row]),
  );
  const changed: SqlValue[][] = [];
  for (const seen of items) {
    const key = toRefKey(seen.providerItemId);
    const row = known.get(key);
    known.delete(key);
    if (row === undefined || differs(row, seen)) changed.push(toValues(owner, seen, row?.id));
    // A file in the place of a folder: what was below it is gone.
    if (row?.kind === "folder" && seen.kind === "file") known.set(key, row);
  }
  for (const gone of known.values()) {
    await softDeleteItem(tx, {
      id: gone.id,
      connectionId: owner.connectionId,
      kind: gone.kind,
    });
  }
  // Two sizes of statement, so that few are prepared.
  let at = 0;
  for (; at + ROWS_AT_ONCE <= changed.length; at += ROWS_AT_ONCE) {
    await tx.run(upsertMany, ...changed.slice(at, at + ROWS_AT_ONCE).flat());
  }
  for (const values of changed.slice(at)) await tx.run(upsertOne, ...values);
}

/**
 * The key that a folder's items are sorted by: folders first, then names without case, then as they are written. Of names
 * that are longer than most storages take, the beginning has to do.
 */
function toSortKey(kind: "file" | "folder", name: string): Uint8Array {
  const folded = name.normalize("NFC").toLowerCase();
  return Buffer.from(`${kind === "folder" ? "a" : "b"}${folded}\0${name}`).subarray(
    0,
    KEY_BYTES_MAX,
  );
}

const ROWS_AT_ONCE = 100;
/** An index of PostgreSQL takes no more than some 2,700 bytes in all. */
const KEY_BYTES_MAX = 1024;

/** Text and topics of an earlier version stay and are marked stale; a deleted item that comes back starts anew. */
const [upsertOne, upsertMany] = [1, ROWS_AT_ONCE].map((rows) => toUpsert(rows)) as [string, string];

interface ItemRow {
  id: string;
  connection_id: string;
  user_id: string;
  provider_item_id: string;
  long_id: string | null;
  name: string;
  kind: "file" | "folder";
  parent_ref: string;
  long_parent_ref: string | null;
  content_type: string | null;
  provider_size: number | null;
  modified_at: number | null;
  etag: string | null;
  version: string | null;
  deleted_at: number | null;
  analysis_status: AnalysisStatus;
  semantic_index_status: IndexStatus;
}

type KnownRow = Pick<
  ItemRow,
  | "id"
  | "provider_item_id"
  | "name"
  | "kind"
  | "content_type"
  | "provider_size"
  | "modified_at"
  | "etag"
  | "version"
>;

const columnList = `id, connection_id, user_id, provider_item_id, long_id, name, kind, parent_ref, long_parent_ref,
  content_type, provider_size, modified_at, etag, version, deleted_at, analysis_status, semantic_index_status`;

/**
 * Asked with every download, and so put together once. A subquery and no join: SQLite takes a fifth of the time for it.
 */
const OWNED_ITEM = `SELECT (SELECT generation FROM vault_connections WHERE id = ? AND user_id = ?) AS generation, ${columnList}
  FROM vault_items WHERE connection_id = ? AND provider_item_id = ? AND deleted_at IS NULL`;

function differs(row: KnownRow, seen: SeenItem): boolean {
  return (
    row.name !== seen.name ||
    row.kind !== seen.kind ||
    row.etag !== (seen.etag ?? null) ||
    row.version !== (seen.version ?? null) ||
    row.provider_size !== (seen.size ?? null) ||
    row.modified_at !== (seen.modifiedAt ?? null) ||
    (seen.contentType !== undefined && row.content_type !== seen.contentType)
  );
}

function toUpsert(rows: number): string {
  const one = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'none', 'none', '[]')";
  return `INSERT INTO vault_items
      (id, connection_id, user_id, provider_item_id, long_id, name, sort_key, kind, parent_ref, long_parent_ref,
       content_type, provider_size, modified_at, etag, version, analysis_status, semantic_index_status, topics)
    VALUES ${Array<string>(rows).fill(one).join(", ")}
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

function toValues(owner: ItemOwner, seen: SeenItem, id = owner.newId()): SqlValue[] {
  return [
    id,
    owner.connectionId,
    owner.userId,
    toRefKey(seen.providerItemId),
    toLongRef(seen.providerItemId),
    seen.name,
    toSortKey(seen.kind, seen.name),
    seen.kind,
    toRefKey(seen.parentRef),
    toLongRef(seen.parentRef),
    seen.contentType ?? null,
    seen.size ?? null,
    seen.modifiedAt ?? null,
    seen.etag ?? null,
    seen.version ?? null,
  ];
}

function toItem(row: ItemRow): CloudItem {
  return {
    id: row.id,
    connectionId: row.connection_id,
    userId: row.user_id,
    providerItemId: row.long_id ?? row.provider_item_id,
    name: row.name,
    kind: row.kind,
    parentRef: row.long_parent_ref ?? row.parent_ref,
    contentType: row.content_type ?? undefined,
    size: row.provider_size ?? undefined,
    modifiedAt: row.modified_at ?? undefined,
    etag: row.etag ?? undefined,
    version: row.version ?? undefined,
    deletedAt: row.deleted_at ?? undefined,
    analysisStatus: row.analysis_status,
    semanticIndexStatus: row.semantic_index_status,
  };
}
