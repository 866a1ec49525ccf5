import type { Transaction } from "../../../../storage/engine/database.ts";
import type { Connection } from "../../../../storage/tables/vault/connections.ts";
import { markFolder } from "../../../../storage/tables/vault/folders.ts";

/** Why the listing of a folder is stale. */
export type StaleReason =
  | "create_folder_mutated"
  | "rename_mutated"
  | "move_mutated"
  | "delete_mutated"
  | "upload_mutated"
  | "stale_listing";

/** Marks the listing of a folder stale: the next browse lists it again. */
export async function markFolderStale(
  tx: Transaction,
  { id: connectionId, userId }: Connection,
  parentRef: string,
  reason: StaleReason,
): Promise<void> {
  const text = `${causes[reason]}; re-listing is required.`;
  await markFolder(tx, { connectionId, userId, parentRef }, "warning", reason, text);
}

const causes: Readonly<Record<StaleReason, string>> = {
  create_folder_mutated: "A folder was created here",
  rename_mutated: "An item was renamed here",
  move_mutated: "An item was moved here or from here",
  delete_mutated: "An item was deleted here",
  upload_mutated: "A file was uploaded here",
  stale_listing: "The storage has changed since this folder was listed",
};
