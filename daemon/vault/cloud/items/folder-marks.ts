import type { Transaction } from "../../../../storage/engine/database.ts";
import type { Connection } from "../../../../storage/tables/vault/connections.ts";
import { markFolder } from "../../../../storage/tables/vault/folders.ts";

/** Why a folder must be listed again (vault API, States). */
export type FolderMark =
  | "create_folder_mutated"
  | "rename_mutated"
  | "move_mutated"
  | "delete_mutated"
  | "upload_mutated"
  | "stale_listing";

/** Notes in the transaction of a change that its folder must be listed again. */
export async function warnFolder(
  tx: Transaction,
  { id: connectionId, userId }: Connection,
  parentRef: string,
  mark: FolderMark,
): Promise<void> {
  await markFolder(
    tx,
    { connectionId, userId, parentRef },
    "warning",
    mark,
    `${causes[mark]}; re-listing is required.`,
  );
}

const causes: Readonly<Record<FolderMark, string>> = {
  create_folder_mutated: "A folder was created here",
  rename_mutated: "An item was renamed here",
  move_mutated: "An item was moved here or from here",
  delete_mutated: "An item was deleted here",
  upload_mutated: "A file was uploaded here",
  stale_listing: "The storage has changed since this folder was listed",
};
