import type { Queries, Transaction } from "../../../engine/database.ts";
import { joined, now, text, textId } from "../../columns.ts";
import { sql } from "../../condition.ts";
import { defineTable, type RecordOf, type Window } from "../../table.ts";
import type { AccountId, DocumentId } from "../ids.ts";

export type SharePermission = "view" | "download";

/** A document that its owner shares with another user. Times are epoch milliseconds. */
export type VaultShare = RecordOf<typeof shares>;

const shares = defineTable(
  "vault_shares AS share",
  {
    id: text(),
    documentId: textId<DocumentId>(),
    filename: joined("document.filename", text()),
    ownerId: text(),
    ownerHandle: joined("owner.handle", text()),
    recipientId: text(),
    recipientHandle: joined("recipient.handle", text()),
    permission: text<SharePermission>(),
    createdAt: now(),
    updatedAt: now(),
  },
  `JOIN vault_documents AS document ON document.id = share.document_id
   JOIN vault_users AS owner ON owner.id = share.owner_id
   JOIN vault_users AS recipient ON recipient.id = share.recipient_id`,
);

/** Adds a share. Throws `conflict` when the document is shared with the recipient already. */
export async function insertShare(
  tx: Transaction,
  share: Pick<VaultShare, "id" | "documentId" | "ownerId" | "recipientId" | "permission">,
): Promise<void> {
  await shares.insert(tx, share);
}

/** Returns the share of an id, unless its document is in the trash. Does not check its owner. */
export const findShare = (db: Queries, id: string): Promise<VaultShare | undefined> =>
  shares.find(db, sql`share.id = ${id} AND document.trashed_at IS NULL`);

/**
 * Returns the permission of a user on another user's document; undefined when it is not shared with them, is in the
 * trash, or the owner's account is deactivated.
 */
export async function findPermission(
  db: Queries,
  documentId: DocumentId,
  recipientId: string,
): Promise<SharePermission | undefined> {
  const share = await shares.find(
    db,
    sql`share.document_id = ${documentId} AND share.recipient_id = ${recipientId}
      AND owner.is_active = 1 AND document.trashed_at IS NULL`,
  );
  return share?.permission;
}

/** Returns one page of the shares that a user gave or received, newest first, and the number of all. */
export async function listShares(
  db: Queries,
  { userId, side }: { readonly userId: AccountId; readonly side: "given" | "received" },
  page: Window,
): Promise<{ readonly shares: readonly VaultShare[]; readonly total: number }> {
  const where =
    side === "given"
      ? sql`share.owner_id = ${userId} AND document.trashed_at IS NULL`
      : sql`share.recipient_id = ${userId} AND owner.is_active = 1 AND document.trashed_at IS NULL`;
  const order = "share.created_at DESC, share.id DESC";
  const { records, total } = await shares.page(db, where, { ...page, order });
  return { shares: records, total };
}

/** Changes the permission of a share. Returns false when it does not exist. */
export async function setSharePermission(
  tx: Transaction,
  id: string,
  permission: SharePermission,
): Promise<boolean> {
  return (await shares.update(tx, { id }, { permission, updatedAt: tx.now })) > 0;
}

/** Revokes a share. Returns false when it does not exist. */
export async function deleteShare(tx: Transaction, id: string): Promise<boolean> {
  return (await shares.delete(tx, { id })) > 0;
}
