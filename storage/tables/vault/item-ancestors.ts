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
