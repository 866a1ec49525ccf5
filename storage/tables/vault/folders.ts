import type { Queries, Transaction } from "../../engine/database.ts";
import { initial, integer, optional, text, textId, unread } from "../columns.ts";
import { defineTable, type RecordOf } from "../table.ts";
import { REF_BYTES_MAX, toRefKey } from "./refs.ts";
import type { AccountId, ConnectionId } from "./ids.ts";

export type RefreshState = "never" | "fresh" | "warning" | "failed";

const folders = defineTable("vault_folders", {
  connectionId: textId<ConnectionId>(),
  userId: unread(textId<AccountId>()),
  parentRef: text(),
  refreshState: text<RefreshState>(),
  errorCode: optional(text()),
  errorMessage: optional(text()),
  /** Epoch milliseconds of the last listing that succeeded. */
  listedAt: optional(integer()),
  /** Number of changes made through the service. */
  mutations: initial(0, integer()),
});
/** The state of the recorded listing of a folder. The root's `parentRef` is empty. */
export type FolderState = RecordOf<typeof folders>;

/** A folder of a user's connection. */
type UserFolder = Pick<FolderState, "connectionId" | "parentRef"> & {
  readonly userId: AccountId;
};

/** Returns the state of a folder, also of one that was never listed. */
export async function getFolderState(
  db: Queries,
  connectionId: ConnectionId,
  parentRef: string,
): Promise<FolderState> {
  const found = await folders.find(db, { connectionId, parentRef: toRefKey(parentRef) });
  if (found !== undefined) return { ...found, parentRef };
  return {
    connectionId,
    parentRef,
    refreshState: "never",
    errorCode: undefined,
    errorMessage: undefined,
    listedAt: undefined,
    mutations: 0,
  };
}

/** Records a successful listing. */
export async function markListed(tx: Transaction, folder: UserFolder): Promise<void> {
  const { connectionId, userId } = folder;
  const parentRef = toRefKey(folder.parentRef);
  await folders.upsert(
    tx,
    { connectionId, userId, parentRef, refreshState: "fresh", listedAt: tx.now },
    `ON CONFLICT (connection_id, parent_ref) DO UPDATE SET
       refresh_state = 'fresh', error_code = NULL, error_message = NULL, listed_at = excluded.listed_at`,
  );
}

/** Marks a folder stale, with a reason. A `warning` counts as a change made through the service. */
export async function markFolder(
  tx: Transaction,
  folder: UserFolder,
  refreshState: "warning" | "failed",
  errorCode: string,
  errorMessage: string,
): Promise<void> {
  const { connectionId, userId } = folder;
  const parentRef = toRefKey(folder.parentRef);
  const mutations = refreshState === "warning" ? 1 : 0;
  await folders.upsert(
    tx,
    { connectionId, userId, parentRef, refreshState, errorCode, errorMessage, mutations },
    `ON CONFLICT (connection_id, parent_ref) DO UPDATE SET
       refresh_state = excluded.refresh_state, error_code = excluded.error_code,
       error_message = excluded.error_message, mutations = vault_folders.mutations + excluded.mutations`,
  );
}

/**
 * Changes the ids of a folder's state and of all states below it, where ids are paths. Deletes states whose ids would be
 * too long.
 */
export async function rekeyFolders(
  tx: Transaction,
  connectionId: ConnectionId,
  from: string,
  to: string,
): Promise<void> {
  const within = "connection_id = ? AND (parent_ref = ? OR substr(parent_ref, 1, length(?)) = ?)";
  const at = (ref: string) => [connectionId, toRefKey(ref), `${ref}/`, `${ref}/`];
  const forget = (ref: string) => tx.run(`DELETE FROM vault_folders WHERE ${within}`, ...at(ref));
  await forget(to);
  const longer = Buffer.byteLength(to) - Buffer.byteLength(from);
  if (toRefKey(from) !== from || toRefKey(to) !== to) {
    await forget(from);
    return;
  }
  await tx.run(
    `DELETE FROM vault_folders WHERE ${within} AND octet_length(parent_ref) + ? > ?`,
    ...at(from),
    longer,
    REF_BYTES_MAX,
  );
  await tx.run(
    `UPDATE vault_folders SET parent_ref = ? || substr(parent_ref, length(?) + 1) WHERE ${within}`,
    to,
    from,
    ...at(from),
  );
}
