import { z } from "zod";
import type { Queries, Transaction } from "../../engine/database.ts";
import { parseColumn } from "../../engine/json-column.ts";
import type { AccountId, ConnectionId } from "./ids.ts";

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

/** A user's connection to a storage. Times are epoch milliseconds. */
export interface Connection {
  readonly id: ConnectionId;
  readonly userId: AccountId;
  readonly provider: string;
  readonly displayName: string;
  readonly settings: Readonly<Record<string, string>>;
  /** True for a local folder that was connected before folders belonged to accounts: its root lies below the local roots. */
  readonly isBelowLocalRoots: boolean;
  /** Sealed. */
  readonly credentials: string;
  readonly probeResult: Readonly<Record<string, string | number | boolean>> | undefined;
  /** Undefined until the storage has been opened once since it was connected or checked. */
  readonly capabilities: Capabilities | undefined;
  readonly status: ConnectionStatus;
  readonly generation: number;
  readonly quotaUsedBytes: number | undefined;
  readonly quotaTotalBytes: number | undefined;
  readonly createdAt: number;
  readonly lastCheckedAt: number | undefined;
}

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
  const row = toRow(connection);
  const columns = Object.keys(row);
  await db.run(
    `INSERT INTO vault_connections (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
    ...Object.values(row),
  );
}

/** Returns the connection of an id if the user owns it, else undefined. */
export async function findConnection(
  db: Queries,
  userId: AccountId,
  id: ConnectionId,
): Promise<Connection | undefined> {
  const row = await db.get<ConnectionRow>(
    `SELECT ${columnList} FROM vault_connections WHERE id = ? AND user_id = ?`,
    id,
    userId,
  );
  return row && toConnection(row);
}

/** Returns the connection of an id without checking its owner, for jobs. */
export async function findConnectionById(db: Queries, id: string): Promise<Connection | undefined> {
  const row = await db.get<ConnectionRow>(
    `SELECT ${columnList} FROM vault_connections WHERE id = ?`,
    id,
  );
  return row && toConnection(row);
}

/** Returns the oldest connection of a user with a type of provider. */
export async function findConnectionOfProvider(
  db: Queries,
  userId: AccountId,
  provider: string,
): Promise<Connection | undefined> {
  const row = await db.get<ConnectionRow>(
    `SELECT ${columnList} FROM vault_connections WHERE user_id = ? AND provider = ?
     ORDER BY created_at, id LIMIT 1`,
    userId,
    provider,
  );
  return row && toConnection(row);
}

/** Returns the connections of all users with one of these types of provider that worked when they were last used. */
export async function listConnectionsOfProviders(
  db: Queries,
  providers: readonly string[],
): Promise<Connection[]> {
  if (providers.length === 0) return [];
  const rows = await db.all<ConnectionRow>(
    `SELECT ${columnList} FROM vault_connections
     WHERE status = 'connected' AND provider IN (${providers.map(() => "?").join(", ")}) ORDER BY id`,
    ...providers,
  );
  return rows.map(toConnection);
}

/** Returns one page of a user's connections, oldest first, and the total count. */
export async function listConnections(
  db: Queries,
  userId: AccountId,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly connections: Connection[]; readonly total: number }> {
  const rows = await db.all<ConnectionRow>(
    `SELECT ${columnList} FROM vault_connections WHERE user_id = ? ORDER BY created_at, id LIMIT ? OFFSET ?`,
    userId,
    page.limit,
    page.offset,
  );
  const counted = await db.get<{ total: number }>(
    "SELECT COUNT(*) AS total FROM vault_connections WHERE user_id = ?",
    userId,
  );
  return { connections: rows.map(toConnection), total: counted?.total ?? 0 };
}

/** Writes the given members. Returns false when the connection does not exist. */
export async function updateConnection(
  db: Queries,
  id: ConnectionId,
  changes: ConnectionChanges,
): Promise<boolean> {
  const row = toPartialRow(changes);
  const columns = Object.keys(row);
  if (columns.length === 0) return true;
  const { changes: changed } = await db.run(
    `UPDATE vault_connections SET ${columns.map((column) => `${column} = ?`).join(", ")} WHERE id = ?`,
    ...Object.values(row),
    id,
  );
  return changed > 0;
}

/**
 * Stores refreshed credentials. Returns false and changes nothing if the owner has replaced the credentials in the
 * meantime.
 */
export async function renewCredentials(
  db: Queries,
  connection: Pick<Connection, "id" | "generation" | "credentials">,
): Promise<boolean> {
  const { changes } = await db.run(
    "UPDATE vault_connections SET credentials = ? WHERE id = ? AND generation = ?",
    connection.credentials,
    connection.id,
    connection.generation,
  );
  return changes > 0;
}

/** Records the status of a connection, unless its credentials are of another generation by now. */
export async function noteConnectionStatus(
  db: Queries,
  { id, generation, status }: Pick<Connection, "id" | "generation" | "status">,
): Promise<void> {
  await db.run(
    "UPDATE vault_connections SET status = ? WHERE id = ? AND generation = ?",
    status,
    id,
    generation,
  );
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
  await tx.run(
    "UPDATE vault_connections SET generation = generation + 1 WHERE user_id = ? AND provider = ?",
    userId,
    provider,
  );
}

/** Deletes a connection with its items, folders and cache rows. Returns false when it does not exist. */
export async function deleteConnection(tx: Transaction, id: string): Promise<boolean> {
  return (await tx.run("DELETE FROM vault_connections WHERE id = ?", id)).changes > 0;
}

interface ConnectionRow {
  id: ConnectionId;
  user_id: AccountId;
  provider: string;
  display_name: string;
  settings: string;
  is_below_local_roots: number;
  credentials: string;
  facts: string | null;
  capabilities: string | null;
  status: ConnectionStatus;
  generation: number;
  quota_used_bytes: number | null;
  quota_total_bytes: number | null;
  created_at: number;
  last_checked_at: number | null;
}

const columnList =
  "id, user_id, provider, display_name, settings, is_below_local_roots, credentials, facts, capabilities, status, generation, " +
  "quota_used_bytes, quota_total_bytes, created_at, last_checked_at";

function toConnection(row: ConnectionRow): Connection {
  return {
    id: row.id,
    userId: row.user_id,
    provider: row.provider,
    displayName: row.display_name,
    settings: parseColumn(settingsSchema, row.settings, "vault_connections.settings"),
    isBelowLocalRoots: row.is_below_local_roots === 1,
    credentials: row.credentials,
    probeResult:
      row.facts === null
        ? undefined
        : parseColumn(probeResultSchema, row.facts, "vault_connections.facts"),
    capabilities:
      row.capabilities === null
        ? undefined
        : parseColumn(capabilitiesSchema, row.capabilities, "vault_connections.capabilities"),
    status: row.status,
    generation: row.generation,
    quotaUsedBytes: row.quota_used_bytes ?? undefined,
    quotaTotalBytes: row.quota_total_bytes ?? undefined,
    createdAt: row.created_at,
    lastCheckedAt: row.last_checked_at ?? undefined,
  };
}

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

function toRow(connection: Connection): Record<string, string | number | null> {
  return {
    id: connection.id,
    user_id: connection.userId,
    provider: connection.provider,
    is_below_local_roots: Number(connection.isBelowLocalRoots),
    created_at: connection.createdAt,
    ...toPartialRow({
      displayName: connection.displayName,
      settings: connection.settings,
      credentials: connection.credentials,
      probeResult: connection.probeResult,
      capabilities: connection.capabilities,
      status: connection.status,
      generation: connection.generation,
      quotaUsedBytes: connection.quotaUsedBytes,
      quotaTotalBytes: connection.quotaTotalBytes,
      lastCheckedAt: connection.lastCheckedAt,
    }),
  };
}

function toPartialRow(changes: {
  readonly [M in keyof ConnectionChanges]: ConnectionChanges[M] | undefined;
}): Record<string, string | number | null> {
  const row: Record<string, string | number | null> = {};
  if (changes.displayName !== undefined) row["display_name"] = changes.displayName;
  if (changes.settings !== undefined) row["settings"] = JSON.stringify(changes.settings);
  if (changes.credentials !== undefined) row["credentials"] = changes.credentials;
  if ("probeResult" in changes)
    row["facts"] = changes.probeResult === undefined ? null : JSON.stringify(changes.probeResult);
  if ("capabilities" in changes)
    row["capabilities"] =
      changes.capabilities === undefined ? null : JSON.stringify(changes.capabilities);
  if (changes.status !== undefined) row["status"] = changes.status;
  if (changes.generation !== undefined) row["generation"] = changes.generation;
  if ("quotaUsedBytes" in changes) row["quota_used_bytes"] = changes.quotaUsedBytes ?? null;
  if ("quotaTotalBytes" in changes) row["quota_total_bytes"] = changes.quotaTotalBytes ?? null;
  if ("lastCheckedAt" in changes) row["last_checked_at"] = changes.lastCheckedAt ?? null;
  return row;
}
