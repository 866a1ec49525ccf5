import type { Transaction } from "../../engine/database.ts";
import { REF_BYTES_MAX, toLongRef, toRefKey } from "./refs.ts";

/**
 * Gives an item its new id, and where ids are paths everything below it, too. What was known under the new ids is
 * forgotten: the provider has just said that the place was free.
 */
export async function rekeyItems(
  tx: Transaction,
  connectionId: string,
  from: string,
  to: string,
): Promise<void> {
  const within = (id: string) =>
    `connection_id = ? AND (${id} = ? OR substr(${id}, 1, length(?)) = ?)`;
  const at = (ref: string) => [connectionId, ref, `${ref}/`, `${ref}/`];
  await tx.run(`DELETE FROM vault_items WHERE ${within(WHOLE_ID)}`, ...at(to));
  // The hashes of ids that are, or will be, too long to be searched by are not made by the database.
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

/** An item's id, whether or not it is searched by its hash. */
const WHOLE_ID = "COALESCE(long_id, provider_item_id)";
