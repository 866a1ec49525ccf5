import type { Queries, Row, Transaction } from "../../../engine/database.ts";
import { type AccountId, type DocumentId, toDocumentId } from "../ids.ts";

export type SharePermission = "view" | "download";

/** A document that its owner shares with another user. Times are epoch milliseconds. */
export interface VaultShare {
  readonly id: string;
  readonly documentId: DocumentId;
  readonly filename: string;
  readonly ownerId: string;
  readonly ownerHandle: string;
  readonly recipientId: string;
  readonly recipientHandle: string;
  readonly permission: SharePermission;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Adds a share. Throws `conflict` when the document is shared with the recipient already. */
export async function insertShare(
  tx: Transaction,
  share: Pick<VaultShare, "id" | "documentId" | "ownerId" | "recipientId" | "permission">,
): Promise<void> {
  await tx.run(
    `INSERT INTO vault_shares (id, document_id, owner_id, recipient_id, permission, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    share.id,
    share.documentId,
    share.ownerId,
    share.recipientId,
    share.permission,
    tx.now,
    tx.now,
  );
}

/** Returns the share of an id, without checking its owner. */
export async function findShare(db: Queries, id: string): Promise<VaultShare | undefined> {
  const row = await db.get(`${SELECT} WHERE share.id = ?`, id);
  return row && toShare(row);
}

/**
 * Returns the permission of a user on another user's document; undefined when it is not shared with them or the owner's
 * account is deactivated.
 */
export async function findPermission(
  db: Queries,
  documentId: DocumentId,
  recipientId: string,
): Promise<SharePermission | undefined> {
  const row = await db.get<{ permission: SharePermission }>(
    `SELECT share.permission FROM vault_shares AS share
     JOIN vault_users AS owner ON owner.id = share.owner_id AND owner.is_active = 1
     WHERE share.document_id = ? AND share.recipient_id = ?`,
    documentId,
    recipientId,
  );
  return row?.permission;
}

/** Returns one page of the shares that a user gave or received, newest first, and the number of all. */
export async function listShares(
  db: Queries,
  { userId, side }: { readonly userId: AccountId; readonly side: "given" | "received" },
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly shares: VaultShare[]; readonly total: number }> {
  const where =
    side === "given"
      ? "WHERE share.owner_id = ?"
      : "WHERE share.recipient_id = ? AND owner.is_active = 1";
  const rows = await db.all(
    `${SELECT} ${where} ORDER BY share.created_at DESC, share.id DESC LIMIT ? OFFSET ?`,
    userId,
    page.limit,
    page.offset,
  );
  const count = await db.get<{ total: number }>(
    `SELECT count(*) AS total FROM vault_shares AS share
     JOIN vault_users AS owner ON owner.id = share.owner_id ${where}`,
    userId,
  );
  return { shares: rows.map(toShare), total: Number(count?.total ?? 0) };
}

/** Changes the permission of a share. Returns false when it does not exist. */
export async function setSharePermission(
  tx: Transaction,
  id: string,
  permission: SharePermission,
): Promise<boolean> {
  const { changes } = await tx.run(
    "UPDATE vault_shares SET permission = ?, updated_at = ? WHERE id = ?",
    permission,
    tx.now,
    id,
  );
  return changes > 0;
}

/** Revokes a share. Returns false when it does not exist. */
export async function deleteShare(tx: Transaction, id: string): Promise<boolean> {
  const { changes } = await tx.run("DELETE FROM vault_shares WHERE id = ?", id);
  return changes > 0;
}

const SELECT = `SELECT share.id, share.document_id, share.owner_id, share.recipient_id, share.permission,
  share.created_at, share.updated_at, document.filename, owner.handle AS owner_handle, recipient.handle AS recipient_handle
  FROM vault_shares AS share
  JOIN vault_documents AS document ON document.id = share.document_id
  JOIN vault_users AS owner ON owner.id = share.owner_id
  JOIN vault_users AS recipient ON recipient.id = share.recipient_id`;

function toShare(row: Row): VaultShare {
  return {
    id: String(row["id"]),
    documentId: toDocumentId(row["document_id"]),
    filename: String(row["filename"]),
    ownerId: String(row["owner_id"]),
    ownerHandle: String(row["owner_handle"]),
    recipientId: String(row["recipient_id"]),
    recipientHandle: String(row["recipient_handle"]),
    permission: row["permission"] as SharePermission,
    createdAt: Number(row["created_at"]),
    updatedAt: Number(row["updated_at"]),
  };
}
