import type { Transaction } from "../../engine/database.ts";
import { REF_BYTES_MAX, toLongRef, toRefKey } from "./refs.ts";
import type { ConnectionId } from "./ids.ts";

/**
 * Changes the id of an item and, where ids are paths, of everything below it. Deletes records that have the new ids: the
 * provider has just reported that the target was free.
 */
export async function rekeyItems(
  tx: Transaction,
  connectionId: ConnectionId,
  from: string,
  to: string,
): Promise<void> {
  const within = (id: string) =>
    `connection_id = ? AND (${id} = ? OR substr(${id}, 1, length(?)) = ?)`;
  const at = (ref: string) => [connectionId, ref, `${ref}/`, `${ref}/`];
  await tx.run(`DELETE FROM vault_items WHERE ${within(WHOLE_ID)}`, ...at(to));
  // The database cannot compute the hashes of ids that are, or become, too long for the index.
  const long = await tx.all<{ id: string; ref: string; parent: string }>(
    `SELECT id, ${WHOLE_ID} AS ref, COALESCE(long_parent_ref, parent_ref) AS parent FROM vault_items
     WHERE ${within(WHOLE_ID)} AND (long_id IS NOT NULL OR octet_length(provider_item_id) + ? > ?)`,
    ...at(from),
    Buffer.byteLength(to) - Buffer.byteLength(from),
    REF_BYTES_MAX,
  );
  for (const row of long) {
    const ref = to + row.ref.slice(from.length);
    const parent = row.ref === from ? row.parent : to + row.parent.slice(from.length);
    await tx.run(
      `UPDATE vault_items SET provider_item_id = ?, long_id = ?, parent_ref = ?, long_parent_ref = ? WHERE id = ?`,
      toRefKey(ref),
      toLongRef(ref),
      toRefKey(parent),
      toLongRef(parent),
      row.id,
    );
  }
  await tx.run(
    `UPDATE vault_items SET provider_item_id = ? || substr(provider_item_id, length(?) + 1),
       parent_ref = CASE WHEN provider_item_id = ? THEN parent_ref
                         ELSE ? || substr(parent_ref, length(?) + 1) END
     WHERE ${within("provider_item_id")}`,
    to,
    from,
    from,
    to,
    from,
    ...at(from),
  );
}

/** An item's full id, also of one that is indexed by its hash. */
const WHOLE_ID = "COALESCE(long_id, provider_item_id)";
