import { hash } from "node:crypto";
import { type Database, isConflict, type Transaction } from "../../../storage/engine/database.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import { findDocument } from "../../../storage/tables/vault/documents/documents.ts";
import {
  countInvitations,
  deleteExpiredInvitations,
  deleteInvitation,
  findInvitation,
  findInvitationBySecret,
  insertInvitation,
  listInvitations,
  listInvitationsTo,
  type VaultInvitation,
} from "../../../storage/tables/vault/documents/invitations.ts";
import {
  findPermission,
  insertShare,
  type SharePermission,
} from "../../../storage/tables/vault/documents/shares.ts";
import type { AccountId, DocumentId } from "../../../storage/tables/vault/ids.ts";
import { AppError } from "../../errors.ts";
import type { Registration } from "../accounts/registration.service.ts";
import type { QueueMail } from "../accounts/reset-mails.ts";
import { toAudit, type VaultCaller } from "../caller.ts";
import { toFieldError } from "../cloud/field-error.ts";
import type { PageRequest } from "../page.ts";
import { documentNotFound } from "./documents.service.ts";

export type Invitations = ReturnType<typeof createInvitations>;

/** Who may share with an address. */
export type Inviting = "administrators" | "users";

export interface InvitationsDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly newId: () => string;
  readonly randomBytes: (size: number) => Uint8Array;
  readonly registration: Pick<Registration, "registerInvited">;
  readonly queueInvitation: QueueMail;
  readonly inviting: Inviting;
  readonly instanceName: string;
  /** Base of every link, without a trailing slash. */
  readonly publicUrl: () => string;
}

const DAYS = 14;
const LIFE_MS = DAYS * 24 * 3_600_000;
/** Invitations of an account that wait at the same time. */
const INVITATIONS_MAX = 200;
const SECRET_BYTES = 24;

/**
 * Shares with e-mail addresses. Each waits until its recipient accepts it with the secret of the mail, which verifies the address. The
 * sender sees the same whether the address has an account or not.
 */
export function createInvitations(deps: InvitationsDeps) {
  const { db, clock } = deps;
  return {
    /**
     * Sends an invitation. Throws `forbidden` where users do not invite, `not_found` for another user's document, `conflict`
     * when the document waits for this address already.
     */
    async create(
      caller: VaultCaller,
      wanted: {
        readonly document_id: DocumentId;
        readonly recipient_email: string;
        readonly permission: SharePermission;
      },
    ): Promise<VaultInvitation> {
      const { document_id: documentId, recipient_email: email, permission } = wanted;
      if (deps.inviting === "administrators")
        throw new AppError(
          "forbidden",
          "Only administrators invite people to this server. Ask for an account, and share with its handle.",
        );
      if (email === caller.email)
        throw toFieldError(
          ["body", "recipient_email"],
          "A document cannot be shared with its owner.",
          "recipient",
        );
      const id = deps.newId();
      const secret = Buffer.from(deps.randomBytes(SECRET_BYTES)).toString("base64url");
      try {
        await db.transaction(async (tx) => {
          const document = await findDocument(tx, documentId);
          if (document?.userId !== caller.userId) throw documentNotFound();
          await deleteExpiredInvitations(tx, caller.userId);
          if ((await countInvitations(tx, caller.userId)) >= INVITATIONS_MAX)
            throw new AppError(
              "conflict",
              `At most ${INVITATIONS_MAX} invitations may wait. Revoke some.`,
            );
          await insertInvitation(tx, {
            ...{ id, documentId, ownerId: caller.userId, email, permission },
            secretHash: toHash(secret),
            expiresAt: tx.now + LIFE_MS,
          });
          const metadata = { document_id: documentId, recipient_email: email, permission };
          await insertAudit(tx, toAudit(caller, "share.invited", id, metadata));
          const reader = { vault: "invitation", id } as const;
          const mail = toMail(caller, email, document.filename, secret);
          await deps.queueInvitation(tx, { ...mail, reader });
        });
      } catch (error) {
        if (!isConflict(error)) throw error;
        throw new AppError("conflict", `The document waits for ${email} already.`, {
          cause: error,
        });
      }
      return getOwn(caller, id);
    },

    list: (caller: VaultCaller, { page, perPage }: PageRequest) =>
      listInvitations(db, caller.userId, clock(), {
        limit: perPage,
        offset: (page - 1) * perPage,
      }),

    async revoke(caller: VaultCaller, id: string): Promise<void> {
      const { documentId, email } = await getOwn(caller, id);
      await db.transaction(async (tx) => {
        if (!(await deleteInvitation(tx, id))) throw invitationNotFound();
        const metadata = { document_id: documentId, recipient_email: email };
        await insertAudit(tx, toAudit(caller, "share.invitation_revoked", id, metadata));
      });
    },

    /** Returns the invitation of a secret; undefined for one that was accepted or revoked, or has expired. */
    find: (secret: string): Promise<VaultInvitation | undefined> =>
      findInvitationBySecret(db, toHash(secret), clock()),

    /** Creates the account of an invited address, with the shares that wait for it. Throws as a registration does. */
    async accept(
      { secret, ...account }: { secret: string; handle: string; password: string },
      address: string,
    ): Promise<{ readonly handle: string; readonly shares: number }> {
      const { email } = await getOpen(secret);
      let shares = 0;
      const { handle } = await deps.registration.registerInvited(
        { ...account, email },
        async (tx, user) => {
          // It may have been revoked while the password was hashed.
          if ((await findInvitationBySecret(tx, toHash(secret), tx.now)) === undefined)
            throw invitationNotFound();
          shares = await takeAll(tx, email, user.id, address);
        },
        address,
      );
      return { handle, shares };
    },

    /** Makes all shares that wait for the caller's address theirs. Throws `not_found` for the secret of another address. */
    async claim(
      caller: VaultCaller,
      secret: string,
    ): Promise<{ readonly handle: string; readonly shares: number }> {
      const shares = await db.transaction(async (tx) => {
        const invitation = await findInvitationBySecret(tx, toHash(secret), tx.now);
        if (invitation?.email !== caller.email) throw invitationNotFound();
        return takeAll(tx, caller.email, caller.userId, caller.address);
      });
      return { handle: caller.handle, shares };
    },
  };

  /** Makes shares of the invitations of an address. One that the account has already stays as it is. */
  async function takeAll(
    tx: Transaction,
    email: string,
    recipientId: AccountId,
    address: string,
  ): Promise<number> {
    const waiting = await listInvitationsTo(tx, email);
    for (const { id, documentId, ownerId, permission } of waiting) {
      await deleteInvitation(tx, id);
      if (ownerId === recipientId || (await findPermission(tx, documentId, recipientId))) continue;
      await insertShare(tx, { id, documentId, ownerId, recipientId, permission });
      await insertAudit(tx, {
        eventType: "share.created",
        userId: ownerId,
        actorId: recipientId,
        resourceId: id,
        ipAddress: address,
        metadata: { document_id: documentId, recipient_id: recipientId, permission },
      });
    }
    return waiting.length;
  }

  async function getOpen(secret: string): Promise<VaultInvitation> {
    const found = await findInvitationBySecret(db, toHash(secret), clock());
    if (found === undefined) throw invitationNotFound();
    return found;
  }

  async function getOwn(caller: VaultCaller, id: string): Promise<VaultInvitation> {
    const found = await findInvitation(db, id);
    if (found?.ownerId !== caller.userId) throw invitationNotFound();
    return found;
  }

  function toMail(caller: VaultCaller, to: string, filename: string, secret: string) {
    const { instanceName, publicUrl } = deps;
    const paragraphs = [
      "Hello,",
      `${caller.handle} shares the document ${JSON.stringify(filename)} with you on ${instanceName}.`,
      `Open it here, with a new account or with the one that you have:\n${publicUrl()}/vault/join/${secret}`,
      `The link works for ${DAYS} days. If you do not know ${caller.handle}, you need not do anything.`,
    ];
    return {
      to,
      subject: `${caller.handle} shares a document with you on ${instanceName}`,
      text: `${paragraphs.join("\n\n")}\n`,
    };
  }
}

const toHash = (secret: string): string => hash("sha256", secret, "hex");

function invitationNotFound(): AppError {
  return new AppError("not_found", "Invitation not found");
}
