import type { Queries, Transaction } from "../../engine/database.ts";
import { REF_BYTES_MAX, toRefKey } from "./refs.ts";
import type { AccountId, ConnectionId } from "./ids.ts";

export type RefreshState = "never" | "fresh" | "warning" | "failed";

/** The state of the recorded listing of a folder. The root's `parentRef` is empty. */
export interface FolderState {
  readonly connectionId: ConnectionId;
  readonly parentRef: string;
  readonly refreshState: RefreshState;
  readonly errorCode: string | undefined;
  readonly errorMessage: string | undefined;
  /** Epoch milliseconds of the last listing that succeeded. */
  readonly listedAt: number | undefined;
  /** Number of changes made through the service. */
  readonly mutations: number;
}

/** Returns the state of a folder, also of one that was never listed. */
export async function getFolderState(
  db: Queries,
  connectionId: ConnectionId,
  parentRef: string,
): Promise<FolderState> {
  const row = await db.get<FolderRow>(
    `SELECT refresh_state, error_code, error_message, listed_at, mutations
     FROM vault_folders WHERE connection_id = ? AND parent_ref = ?`,
    connectionId,
    toRefKey(parentRef),
  );
  return {
    connectionId,
    parentRef,
    refreshState: row?.refresh_state ?? "never",
    errorCode: row?.error_code ?? undefined,
    errorMessage: row?.error_message ?? undefined,
    listedAt: row?.listed_at ?? undefined,
    mutations: row?.mutations ?? 0,
  };
}

/** Records a successful listing. */
export async function markListed(
  tx: Transaction,
  folder: {
    readonly connectionId: ConnectionId;
    readonly userId: AccountId;
    readonly parentRef: string;
  },
): Promise<void> {
  await tx.run(
    `INSERT INTO vault_folders
       (connection_id, user_id, parent_ref, refresh_state, error_code, error_message, listed_at, mutations)
     VALUES (?, ?, ?, 'fresh', NULL, NULL, ?, 0)
     ON CONFLICT (connection_id, parent_ref) DO UPDATE SET
       refresh_state = 'fresh', error_code = NULL, error_message = NULL, listed_at = excluded.listed_at`,
    folder.connectionId,
    folder.userId,
    toRefKey(folder.parentRef),
    tx.now,
  );
}

/** Marks a folder stale, with a reason. A `warning` counts as a change made through the service. */
export async function markFolder(
  tx: Transaction,
  folder: {
    readonly connectionId: ConnectionId;
    readonly userId: AccountId;
    readonly parentRef: string;
  },
  refreshState: "warning" | "failed",
  errorCode: string,
  errorMessage: string,
): Promise<void> {
  const change = refreshState === "warning" ? 1 : 0;
  await tx.run(
    `INSERT INTO vault_folders
       (connection_id, user_id, parent_ref, refresh_state, error_code, error_message, listed_at, mutations)
     VALUES (?, ?, ?, ?, ?, ?, NULL, ?)
     ON CONFLICT (connection_id, parent_ref) DO UPDATE SET
       refresh_state = excluded.refresh_state, error_code = excluded.error_code,
       error_message = excluded.error_message, mutations = vault_folders.mutations + excluded.mutations`,
    folder.connectionId,
    folder.userId,
    toRefKey(folder.parentRef),
    refreshState,
    errorCode,
    errorMessage,
    change,
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

interface FolderRow {
  refresh_state: RefreshState;
  error_code: string | null;
  error_message: string | null;
  listed_at: number | null;
  mutations: number;
}
