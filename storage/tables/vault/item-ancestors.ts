import type { Queries } from "../../engine/database.ts";
import { toRefKey } from "./refs.ts";
import type { AccountId, ConnectionId } from "./ids.ts";

/** Returns whether an item lies in a folder, by the recorded parents. A cycle of parents ends the walk. */
export async function isWithin(
  db: Queries,
  scope: { readonly connectionId: ConnectionId; readonly userId: AccountId },
  providerItemId: string,
  folder: string,
): Promise<boolean> {
  for await (const { parentRef } of walkUp(db, scope, providerItemId))
    if (parentRef === folder) return true;
  return false;
}

/** Returns the ids of an item's recorded ancestors, nearest first. A cycle of parents ends the walk. */
export async function listAncestors(
  db: Queries,
  scope: { readonly connectionId: ConnectionId; readonly userId: AccountId },
  providerItemId: string,
): Promise<{ readonly ref: string; readonly name: string }[]> {
  const ancestors: { ref: string; name: string }[] = [];
  for await (const { ref, name } of walkUp(db, scope, providerItemId))
    if (ref !== providerItemId) ancestors.push({ ref, name });
  return ancestors;
}

/** An item of a connection. */
export interface ItemOfConnection {
  readonly connectionId: ConnectionId;
  readonly providerItemId: string;
}

/**
 * Returns the function that names the recorded ancestors of each of these items of a user, nearest first. They are read by
 * one query. A cycle of parents ends the walk.
 */
export async function readAncestorNames(
  db: Queries,
  userId: AccountId,
  items: readonly ItemOfConnection[],
): Promise<(item: ItemOfConnection) => string[]> {
  const connections = [...new Set(items.map(({ connectionId }) => connectionId))];
  const refs = [...new Set(items.map(({ providerItemId }) => toRefKey(providerItemId)))];
  const marks = (values: readonly string[]) => values.map(() => "?").join(", ");
  const rows =
    items.length === 0
      ? []
      : await db.all<{ connection_id: string; ref: string; parent_ref: string; name: string }>(
          // Without ALL: a row that is known already ends the recursion.
          `WITH RECURSIVE walk (connection_id, ref, parent_ref, name) AS (
             SELECT connection_id, provider_item_id, parent_ref, name FROM vault_items
             WHERE user_id = ? AND connection_id IN (${marks(connections)}) AND provider_item_id IN (${marks(refs)})
             UNION
             SELECT item.connection_id, item.provider_item_id, item.parent_ref, item.name
             FROM walk JOIN vault_items AS item
               ON item.connection_id = walk.connection_id AND item.provider_item_id = walk.parent_ref
             WHERE item.user_id = ? AND walk.parent_ref <> ''
           )
           SELECT connection_id, ref, parent_ref, name FROM walk`,
          userId,
          ...connections,
          ...refs,
          userId,
        );
  const known = new Map(rows.map((row) => [`${row.connection_id}/${row.ref}`, row]));
  return ({ connectionId, providerItemId }) => {
    const names: string[] = [];
    const visited = new Set<string>();
    let ref = known.get(`${connectionId}/${toRefKey(providerItemId)}`)?.parent_ref ?? "";
    while (ref !== "" && !visited.has(ref)) {
      visited.add(ref);
      const row = known.get(`${connectionId}/${ref}`);
      if (row === undefined) break;
      names.push(row.name);
      ref = row.parent_ref;
    }
    return names;
  };
}

/** Yields an item and its recorded ancestors. A cycle of parents ends the walk. */
async function* walkUp(
  db: Queries,
  scope: { readonly connectionId: ConnectionId; readonly userId: AccountId },
  providerItemId: string,
): AsyncGenerator<{ readonly ref: string; readonly parentRef: string; readonly name: string }> {
  const visited = new Set<string>();
  for (let ref = providerItemId; ref !== "" && !visited.has(ref);) {
    visited.add(ref);
    const row = await db.get<{ parent_ref: string; name: string }>(
      "SELECT COALESCE(long_parent_ref, parent_ref) AS parent_ref, name FROM vault_items WHERE connection_id = ? AND user_id = ? AND provider_item_id = ?",
      scope.connectionId,
      scope.userId,
      toRefKey(ref),
    );
    if (row === undefined) return;
    yield { ref, parentRef: row.parent_ref, name: row.name };
    ref = row.parent_ref;
  }
}
