import { z } from "zod";
import type { Queries, Transaction } from "../../engine/database.ts";
import { parseColumn } from "../../engine/json-column.ts";
import type { AccountId, ConnectionId } from "./ids.ts";
import { flag, integer, json, named, optional, text, textId } from "../columns.ts";
import { defineTable, type RecordOf } from "../table.ts";
import { sql } from "../condition.ts";
import { inChunks } from "../chunks.ts";

/** How a precondition is checked: atomically by the storage, by the adapter just before the change, or not at all. */
export type Guarantee = "atomic" | "emulated" | "none";

/** The capabilities of a connection, as measured by a trial when it was connected. */
export interface Capabilities {
  /** Upload and create-folder never replace an existing item. */
  readonly createOnly: Guarantee;
  /** Rename refuses when the item has changed. */
  readonly rename: Guarantee;
  /** Move refuses when the item has changed. */
  readonly move: Guarantee;
  /** Delete refuses when the item has changed. */
  readonly deletePrecondition: Guarantee;
  /** Replacing a file refuses when it has changed. */
  readonly replacePrecondition: Guarantee;
  /** Deleted items go to a trash. */
  readonly trash: boolean;
  /** Range requests are supported. */
  readonly range: boolean;
  readonly quota: boolean;
  /** Folders can be renamed and moved. */
  readonly folderRename: boolean;
}

export type ConnectionStatus = "connected" | "reauth_required" | "offline";

const settingsSchema = z.record(z.string(), z.string());

const probeResultSchema = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));

const guarantee = z.enum(["atomic", "emulated", "none"]);

export const capabilitiesSchema: z.ZodType<Capabilities> = z.object({
  createOnly: guarantee,
  rename: guarantee,
  move: guarantee,
  deletePrecondition: guarantee,
  // Connections of earlier versions lack this value until their next check; until then croft compares versions itself.
  replacePrecondition: guarantee.default("emulated"),
  trash: z.boolean(),
  range: z.boolean(),
  quota: z.boolean(),
  folderRename: z.boolean(),
});

const connections = defineTable("vault_connections", {
  id: textId<ConnectionId>(),
  userId: textId<AccountId>(),
  provider: text(),
  displayName: text(),
  settings: json(settingsSchema),
  /** True for a local folder that was connected before folders belonged to accounts: its root lies below the local roots. */
  isBelowLocalRoots: flag(),
  /** Sealed. */
  credentials: text(),
  probeResult: named("facts", optional(json(probeResultSchema))),
  /** Undefined until the storage has been opened once since it was connected or checked. */
  capabilities: optional(json(capabilitiesSchema)),
  status: text<ConnectionStatus>(),
  generation: integer(),
  quotaUsedBytes: optional(integer()),
  quotaTotalBytes: optional(integer()),
  createdAt: integer(),
  lastCheckedAt: optional(integer()),
});
/** A user's connection to a storage. Times are epoch milliseconds. */
export type Connection = RecordOf<typeof connections>;

/** The members of a connection that can change. */
export type ConnectionChanges = Partial<
  Pick<
    Connection,
    | "displayName"
    | "settings"
    | "credentials"
    | "probeResult"
    | "capabilities"
    | "status"
    | "generation"
    | "quotaUsedBytes"
    | "quotaTotalBytes"
    | "lastCheckedAt"
  >
>;

/** Adds a connection without filling in defaults. */
export async function insertConnection(db: Queries, connection: Connection): Promise<void> {
  await connections.insert(db, connection);
}

/** Returns the connection of an id if the user owns it, else undefined. */
export async function findConnection(
  db: Queries,
  userId: AccountId,
  id: ConnectionId,
): Promise<Connection | undefined> {
  return connections.find(db, { id, userId });
}

/** Returns the connection of an id without checking its owner, for jobs. */
export async function findConnectionById(db: Queries, id: string): Promise<Connection | undefined> {
  return connections.find(db, sql`id = ${id}`);
}

/** Returns the generations of the connections that exist, by id. */
export async function listGenerations(
  db: Queries,
  ids: readonly ConnectionId[],
): Promise<ReadonlyMap<ConnectionId, number>> {
  const rows = await inChunks(ids, "" as ConnectionId, (chunk) =>
    db.all<{ id: ConnectionId; generation: number }>(
      `SELECT id, generation FROM vault_connections WHERE id IN (${chunk.map(() => "?").join(", ")})`,
      ...chunk,
    ),
  );
  return new Map(rows.map(({ id, generation }) => [id, generation]));
}

/** Returns the oldest connection of a user with a type of provider. */
export async function findConnectionOfProvider(
  db: Queries,
  userId: AccountId,
  provider: string,
): Promise<Connection | undefined> {
  return connections.find(db, { userId, provider }, "created_at, id");
}

/** Returns the connections of all users with one of these types of provider that worked when they were last used. */
export async function listConnectionsOfProviders(
  db: Queries,
  providers: readonly string[],
): Promise<Connection[]> {
  if (providers.length === 0) return [];
  return connections.list(db, sql`status = 'connected' AND provider IN (${providers})`, {
    order: "id",
  });
}

/** Returns one page of a user's connections, oldest first, and the total count. */
export async function listConnections(
  db: Queries,
  userId: AccountId,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly connections: Connection[]; readonly total: number }> {
  const rows = await connections.list(db, { userId }, { order: "created_at, id", ...page });
  const total = await connections.count(db, { userId });
  return { connections: rows, total };
}

/** Writes the given members. Returns false when the connection does not exist. */
export async function updateConnection(
  db: Queries,
  id: ConnectionId,
  changes: ConnectionChanges,
): Promise<boolean> {
  return (await connections.update(db, { id }, changes)) > 0;
}

/**
 * Stores refreshed credentials. Returns false and changes nothing if the owner has replaced the credentials in the
 * meantime.
 */
export async function renewCredentials(
  db: Queries,
  connection: Pick<Connection, "id" | "generation" | "credentials">,
): Promise<boolean> {
  return (
    (await connections.update(
      db,
      { id: connection.id, generation: connection.generation },
      { credentials: connection.credentials },
    )) > 0
  );
}

/** Records the status of a connection, unless its credentials are of another generation by now. */
export async function noteConnectionStatus(
  db: Queries,
  { id, generation, status }: Pick<Connection, "id" | "generation" | "status">,
): Promise<void> {
  await connections.update(db, { id, generation }, { status });
}

/** Returns the ids of all connections of a user. */
export async function listConnectionIds(db: Queries, userId: AccountId): Promise<ConnectionId[]> {
  const rows = await db.all<{ id: ConnectionId }>(
    "SELECT id FROM vault_connections WHERE user_id = ?",
    userId,
  );
  return rows.map(({ id }) => id);
}

/** Returns the names of all connections of a user. */
export function listConnectionNames(
  db: Queries,
  userId: AccountId,
): Promise<{ readonly id: ConnectionId; readonly displayName: string }[]> {
  return db.all(
    'SELECT id, display_name AS "displayName" FROM vault_connections WHERE user_id = ?',
    userId,
  );
}

/** Returns the settings of other accounts' local folders that were connected before folders belonged to accounts. */
export async function listForeignConnectionsBelowLocalRoots(
  db: Queries,
  userId: AccountId,
): Promise<Connection["settings"][]> {
  const rows = await db.all<{ settings: string }>(
    "SELECT settings FROM vault_connections WHERE is_below_local_roots = 1 AND user_id <> ?",
    userId,
  );
  return rows.map(({ settings }) =>
    parseColumn(settingsSchema, settings, "vault_connections.settings"),
  );
}

/** Makes every daemon reopen the local folders of a user, after a change of the folders that the user may use. */
export async function reopenConnections(
  tx: Transaction,
  userId: AccountId,
  provider: string,
): Promise<void> {
  await connections.update(tx, { userId, provider }, { generation: sql`generation + 1` });
}

/** Deletes a connection with its items, folders and cache rows. Returns false when it does not exist. */
export async function deleteConnection(tx: Transaction, id: string): Promise<boolean> {
  return (await connections.delete(tx, sql`id = ${id}`)) > 0;
}
