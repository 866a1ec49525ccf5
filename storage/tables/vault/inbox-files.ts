import type { Queries, Transaction } from "../../engine/database.ts";
import { named, now, text, textId } from "../columns.ts";
import { defineTable, type RecordOf } from "../table.ts";
import type { AccountId, DocumentId } from "./ids.ts";

const files = defineTable("vault_inbox_files", {
  userId: textId<AccountId>(),
  /** The name in the folder. */
  name: text(),
  /** Of the bytes that were stored. Lower-case hex. */
  sha256: text(),
  documentId: textId<DocumentId>(),
  createdAt: named("taken_at", now()),
});
/** A file of an inbox folder that is a document, and has not left its folder as far as is known. */
export type InboxFile = RecordOf<typeof files>;

type Key = Pick<InboxFile, "userId" | "name">;

export function findInboxFile(db: Queries, { userId, name }: Key): Promise<InboxFile | undefined> {
  return files.find(db, { userId, name });
}

/** Returns all files of all users. */
export const listInboxFiles = (db: Queries): Promise<InboxFile[]> =>
  files.list(db, {}, { order: "user_id, name" });

/** Writes a file in the place of an earlier one of its name. */
export async function putInboxFile(
  tx: Transaction,
  file: Omit<InboxFile, "createdAt">,
): Promise<void> {
  await deleteInboxFile(tx, file);
  await files.insert(tx, file);
}

export async function deleteInboxFile(db: Queries, { userId, name }: Key): Promise<void> {
  await files.delete(db, { userId, name });
}
