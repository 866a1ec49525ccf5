import type { Queries, Transaction } from "../../../engine/database.ts";
import { integer, joined, now, text, textId } from "../../columns.ts";
import { sql } from "../../condition.ts";
import { defineTable, type RecordOf, type Window } from "../../table.ts";
import type { AccountId, DocumentId } from "../ids.ts";
import type { SharePermission } from "./shares.ts";

/** A share that waits for its recipient to accept it. Times are epoch milliseconds. */
export type VaultInvitation = RecordOf<typeof invitations>;

const invitations = defineTable(
  "vault_invitations AS invitation",
  {
    id: text(),
    documentId: textId<DocumentId>(),
    filename: joined("document.filename", text()),
    ownerId: textId<AccountId>(),
    ownerHandle: joined("owner.handle", text()),
    email: text(),
    permission: text<SharePermission>(),
    /** SHA-256 of the secret in the mail, in hex. */
    secretHash: text(),
    createdAt: now(),
    expiresAt: integer(),
  },
  `JOIN vault_documents AS document ON document.id = invitation.document_id
   JOIN vault_users AS owner ON owner.id = invitation.owner_id`,
);

/** Adds an invitation. Throws `conflict` when the document waits for this address already. */
export async function insertInvitation(
  tx: Transaction,
  invitation: Omit<VaultInvitation, "filename" | "ownerHandle" | "createdAt">,
): Promise<void> {
  await invitations.insert(tx, invitation);
}

export const findInvitation = (db: Queries, id: string): Promise<VaultInvitation | undefined> =>
  invitations.find(db, sql`invitation.id = ${id}`);

/** Returns the invitation of a secret that can be accepted: not expired, its owner active, its document not in the trash. */
export const findInvitationBySecret = (
  db: Queries,
  secretHash: string,
  at: number,
): Promise<VaultInvitation | undefined> =>
  invitations.find(db, sql`invitation.secret_hash = ${secretHash} AND ${acceptable(at)}`);

/** Returns the invitations of an address that can be accepted. */
export const listInvitationsTo = (
  tx: Transaction,
  email: string,
): Promise<readonly VaultInvitation[]> =>
  invitations.list(tx, sql`invitation.email = ${email} AND ${acceptable(tx.now)}`);

const acceptable = (at: number) =>
  sql`invitation.expires_at > ${at} AND owner.is_active = 1 AND document.trashed_at IS NULL`;

/** Returns one page of the invitations that a user has sent and that have not expired, newest first, and the number of all. */
export async function listInvitations(
  db: Queries,
  ownerId: AccountId,
  at: number,
  page: Window,
): Promise<{ readonly invitations: readonly VaultInvitation[]; readonly total: number }> {
  const order = "invitation.created_at DESC, invitation.id DESC";
  const where = sql`invitation.owner_id = ${ownerId} AND invitation.expires_at > ${at}
    AND document.trashed_at IS NULL`;
  const { records, total } = await invitations.page(db, where, { ...page, order });
  return { invitations: records, total };
}

/** Returns the number of invitations of a user, expired ones included. */
export async function countInvitations(db: Queries, ownerId: AccountId): Promise<number> {
  const row = await db.get<{ total: number }>(
    "SELECT count(*) AS total FROM vault_invitations WHERE owner_id = ?",
    ownerId,
  );
  return Number(row?.total ?? 0);
}

/** Deletes an invitation. Returns false when it does not exist. */
export async function deleteInvitation(tx: Transaction, id: string): Promise<boolean> {
  return (await invitations.delete(tx, { id })) > 0;
}

/** Deletes the expired invitations of a user. */
export async function deleteExpiredInvitations(tx: Transaction, ownerId: AccountId): Promise<void> {
  await invitations.delete(tx, sql`owner_id = ${ownerId} AND expires_at <= ${tx.now}`);
}
