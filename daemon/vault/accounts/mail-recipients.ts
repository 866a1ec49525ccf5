import type { Queries } from "../../../storage/engine/database.ts";
import { findDocument } from "../../../storage/tables/vault/documents/documents.ts";
import { findInvitation } from "../../../storage/tables/vault/documents/invitations.ts";
import { findPermission, findShare } from "../../../storage/tables/vault/documents/shares.ts";
import { toAccountId } from "../../../storage/tables/vault/ids.ts";
import { findLink } from "../../../storage/tables/vault/links.ts";
import { findVaultUser, type VaultUser } from "../../../storage/tables/vault/users.ts";
import { fingerprintOfAccount } from "./reset-tokens.ts";

/** The reason for a mail of the vault: the mail is sent only while it holds. */
export type VaultMailReason =
  /** A document is shared with the account of the address. */
  | { readonly vault: "share"; readonly id: string }
  /** A document waits for the address. */
  | { readonly vault: "invitation"; readonly id: string }
  /** A link of the account of the address was used. */
  | { readonly vault: "link"; readonly id: string }
  /** The account has the address, and a password that the link of the mail replaces. */
  | { readonly vault: "password"; readonly id: string; readonly replaces: string };

/** Returns whether the reason for a mail still holds, and the mail is for the address that it was queued for. */
export async function isMailMeant(
  db: Queries,
  reason: VaultMailReason,
  { address, now }: { readonly address: string; readonly now: number },
): Promise<boolean> {
  const { id } = reason;
  switch (reason.vault) {
    case "share": {
      const share = await findShare(db, id);
      if (share === undefined) return false;
      const recipientId = toAccountId(share.recipientId);
      const permission = await findPermission(db, share.documentId, recipientId);
      const recipient = permission && (await findActive(db, recipientId));
      return recipient?.email === address;
    }
    case "invitation": {
      const invitation = await findInvitation(db, id);
      if (invitation?.email !== address || invitation.expiresAt <= now) return false;
      const document = await findDocument(db, invitation.documentId);
      return document !== undefined && (await findActive(db, invitation.ownerId)) !== undefined;
    }
    case "link": {
      const link = await findLink(db, id);
      const owner = link && (await findActive(db, link.ownerId));
      return owner?.email === address;
    }
    case "password": {
      const user = await findActive(db, id);
      return user?.email === address && fingerprintOfAccount(user) === reason.replaces;
    }
  }
}

async function findActive(db: Queries, id: string): Promise<VaultUser | undefined> {
  const user = await findVaultUser(db, toAccountId(id));
  return user?.isActive === true ? user : undefined;
}
