import { insertAudit } from "../../../../storage/tables/vault/audit.ts";
import {
  type Connection,
  type ConnectionChanges,
  deleteConnection,
  findConnection,
  insertConnection,
  updateConnection,
} from "../../../../storage/tables/vault/connections.ts";
import type { Database, Transaction } from "../../../../storage/engine/database.ts";
import { AppError } from "../../../errors.ts";
import type { VaultCaller } from "../../caller.ts";
import { isNameTaken, toFreeName } from "./connection-names.ts";

/** The user whose connection changes, and the address of the request. */
export type ConnectionOwner = Pick<VaultCaller, "userId" | "address">;

/**
 * Stores a new connection with its audit record. Undefined when the name is taken. `isSuggested`: a taken name gets a
 * number.
 */
export function recordNewConnection(
  db: Database,
  owner: ConnectionOwner,
  connection: Connection,
  isSuggested: boolean,
): Promise<Connection | undefined> {
  const { userId, displayName } = connection;
  return db.transaction(async (tx) => {
    if (!isSuggested && (await isNameTaken(tx, userId, displayName))) return undefined;
    const free = isSuggested ? await toFreeName(tx, userId, displayName) : displayName;
    const inserted = { ...connection, displayName: free };
    await insertConnection(tx, inserted);
    await record(tx, owner, "cloud.connection_created", inserted, {});
    return inserted;
  });
}

/**
 * Stores a new name or new credentials with an audit record. Returns false when the name is taken. Each replacement of
 * credentials has a generation of its own, also of two at once. Throws `not_found` when the connection was deleted.
 */
export function recordChangedConnection(
  db: Database,
  owner: ConnectionOwner,
  connection: Connection,
  changes: Omit<ConnectionChanges, "generation">,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    const current = await findConnection(tx, connection.userId, connection.id);
    if (current === undefined) throw new AppError("not_found", "Connection not found");
    const name = changes.displayName ?? current.displayName;
    if (await isNameTaken(tx, current.userId, name, current)) return false;
    const isSignIn = changes.credentials !== undefined;
    const changedFields = [
      ...(name === current.displayName ? [] : ["display_name"]),
      ...(isSignIn ? ["credentials"] : []),
    ];
    if (changedFields.length === 0) return true;
    const generation = isSignIn ? { generation: current.generation + 1 } : {};
    await updateConnection(tx, current.id, { ...changes, ...generation });
    await record(tx, owner, "cloud.connection_changed", current, { changed_fields: changedFields });
    return true;
  });
}

/** Deletes a connection with an audit record, once. */
export async function recordRemovedConnection(
  db: Database,
  owner: ConnectionOwner,
  connection: Connection,
): Promise<void> {
  await db.transaction(async (tx) => {
    if (await deleteConnection(tx, connection.id))
      await record(tx, owner, "cloud.connection_deleted", connection, {});
  });
}

function record(
  tx: Transaction,
  { userId, address }: ConnectionOwner,
  eventType: string,
  { id, provider }: Connection,
  metadata: Readonly<Record<string, unknown>>,
): Promise<void> {
  return insertAudit(tx, {
    eventType,
    userId,
    actorId: userId,
    resourceId: id,
    ipAddress: address,
    metadata: { connection_id: id, provider, ...metadata },
  });
}
