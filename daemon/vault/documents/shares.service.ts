import { type Database, isConflict, type Queries } from "../../../storage/engine/database.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import { findDocument } from "../../../storage/tables/vault/documents/documents.ts";
import {
  deleteShare,
  findShare,
  insertShare,
  listShares,
  setSharePermission,
  type SharePermission,
  type VaultShare,
} from "../../../storage/tables/vault/documents/shares.ts";
import type { DocumentId } from "../../../storage/tables/vault/ids.ts";
import { findVaultUserByHandle, type VaultUser } from "../../../storage/tables/vault/users.ts";
import { AppError } from "../../errors.ts";
import type { MailMessage, QueueMail } from "../accounts/reset-mails.ts";
import { toAudit, type VaultCaller } from "../caller.ts";
import { toFieldError } from "../cloud/field-error.ts";
import type { PageRequest } from "../page.ts";
import { documentNotFound } from "./documents.service.ts";

export type Shares = ReturnType<typeof createShares>;

export interface SharesDeps {
  readonly db: Database;
  readonly newId: () => string;
  /** Undefined where no mail leaves this server. */
  readonly queueMail?: QueueMail | undefined;
  readonly instanceName: string;
  /** Base of every link, without a trailing slash. */
  readonly publicUrl: () => string;
}

/** Sharing documents with other users. Only the owner may change or revoke a share; for others it is `not_found`. */
export function createShares({ db, newId, queueMail, instanceName, publicUrl }: SharesDeps) {
  return {
    /**
     * Throws `not_found` for another user's document, `unprocessable` for a recipient who is the caller, unknown or
     * inactive, `conflict` when the document is shared with the recipient already.
     */
    async create(
      caller: VaultCaller,
      {
        document_id: documentId,
        recipient_handle: handle,
        permission,
      }: {
        readonly document_id: DocumentId;
        readonly recipient_handle: string;
        readonly permission: SharePermission;
      },
    ): Promise<VaultShare> {
      const id = newId();
      try {
        await db.transaction(async (tx) => {
          const document = await findDocument(tx, documentId);
          if (document?.userId !== caller.userId) throw documentNotFound();
          const recipient = await findVaultUserByHandle(tx, handle);
          if (recipient?.id === caller.userId)
            throw recipientError("A document cannot be shared with its owner.");
          if (recipient === undefined || !recipient.isActive || recipient.role !== "user")
            throw recipientError("There is no active user of this handle.");
          await insertShare(tx, {
            id,
            documentId,
            ownerId: caller.userId,
            recipientId: recipient.id,
            permission,
          });
          await insertAudit(
            tx,
            toAudit(caller, "share.created", id, {
              document_id: documentId,
              recipient_id: recipient.id,
              permission,
            }),
          );
          await queueMail?.(
            tx,
            toShareMail(caller, recipient, { id, filename: document.filename }),
          );
        });
      } catch (error) {
        if (!isConflict(error)) throw error;
        throw new AppError(
          "conflict",
          `The document is shared with ${handle} already. Change the permission of that share instead.`,
          { cause: error },
        );
      }
      return getOwn(db, caller, id);
    },

    list: (
      caller: VaultCaller,
      side: "given" | "received",
      { page, perPage }: PageRequest,
    ): Promise<{ readonly shares: readonly VaultShare[]; readonly total: number }> =>
      listShares(
        db,
        { userId: caller.userId, side },
        { limit: perPage, offset: (page - 1) * perPage },
      ),

    async setPermission(
      caller: VaultCaller,
      id: string,
      permission: SharePermission,
    ): Promise<VaultShare> {
      return db.transaction(async (tx) => {
        const share = await getOwn(tx, caller, id);
        await setSharePermission(tx, id, permission);
        await insertAudit(
          tx,
          toAudit(caller, "share.permission_changed", id, {
            document_id: share.documentId,
            recipient_id: share.recipientId,
            permission,
          }),
        );
        return getOwn(tx, caller, id);
      });
    },

    /** Takes effect with the recipient's next request, the next range of a download included. */
    async revoke(caller: VaultCaller, id: string): Promise<void> {
      await db.transaction(async (tx) => {
        const share = await getOwn(tx, caller, id);
        await deleteShare(tx, id);
        await insertAudit(
          tx,
          toAudit(caller, "share.revoked", id, {
            document_id: share.documentId,
            recipient_id: share.recipientId,
          }),
        );
      });
    },
  };

  function toShareMail(
    caller: VaultCaller,
    recipient: VaultUser,
    { id, filename }: Pick<VaultShare, "id" | "filename">,
  ): MailMessage {
    const paragraphs = [
      `Hello ${recipient.handle},`,
      `${caller.handle} shares the document ${JSON.stringify(filename)} with you on ${instanceName} (${publicUrl()}).`,
      '"croft vault share list --received" lists what was shared with you.',
    ];
    return {
      to: recipient.email,
      reader: { vault: "share", id },
      subject: `${caller.handle} shares a document with you on ${instanceName}`,
      text: `${paragraphs.join("\n\n")}\n`,
    };
  }

  async function getOwn(from: Queries, caller: VaultCaller, id: string): Promise<VaultShare> {
    const share = await findShare(from, id);
    if (share?.ownerId !== caller.userId) throw shareNotFound();
    return share;
  }
}

function recipientError(message: string): AppError {
  return toFieldError(["body", "recipient_handle"], message, "recipient");
}

function shareNotFound(): AppError {
  return new AppError("not_found", "Share not found");
}
