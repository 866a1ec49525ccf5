import { hash } from "node:crypto";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { findVaultUserByEmail, type VaultUser } from "../../../storage/tables/vault/users.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { JobKind } from "../../jobs/job-kind.ts";
import { fingerprintOfHash, type ResetTokens } from "./reset-tokens.ts";

/** A mail as the queue of mails takes it. */
export interface MailMessage {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/** Adds a mail to the queue in the caller's transaction. */
export type QueueMail = (tx: Transaction, message: MailMessage) => Promise<unknown>;

/** Why a link is mailed; it decides what the mail says. */
export type ResetReason = "asked" | "demanded" | "created";

/** Has reset links mailed by a job. */
export interface ResetMails {
  /** Asks for a mail to an address, whoever has it. Several requests that wait are one. */
  request(
    tx: Transaction,
    given: { readonly email: string; readonly reason: ResetReason },
  ): Promise<void>;
  /** The job: looks who has the address, makes the link and queues the mail, or does nothing. */
  readonly job: JobKind;
}

export interface ResetMailsDeps {
  readonly db: Database;
  readonly enqueue: Enqueue;
  readonly queueMail: QueueMail;
  readonly resetTokens: ResetTokens;
  readonly instanceName: string;
  /** Base of the link, without a trailing slash; known once the daemon listens. */
  readonly frontendUrl: () => string;
}

const KIND = "vault.password-reset";

/**
 * The look-up is the job's and not the request's: a request takes as long for an address that nobody has as for
 * any other, and what it leaves behind looks the same.
 */
export function createResetMails(deps: ResetMailsDeps): ResetMails {
  return {
    async request(tx, { email, reason }) {
      await deps.enqueue(tx, {
        kind: KIND,
        payload: { email, reason },
        key: hash("sha256", email, "hex"),
      });
    },

    job: {
      kind: KIND,
      async run(payload) {
        const { email, reason } = payload as { email: string; reason: ResetReason };
        const user = await findVaultUserByEmail(deps.db, email);
        if (user === undefined) return;
        const token = await deps.resetTokens.issue({
          userId: user.id,
          replaces: fingerprintOfHash(user.passwordHash),
        });
        const link = `${deps.frontendUrl()}/password-reset/confirm?token=${encodeURIComponent(token)}`;
        const message = toMessage({ user, reason, link, instanceName: deps.instanceName });
        await deps.db.transaction((tx) => deps.queueMail(tx, message));
      },
    },
  };
}

function toMessage(given: {
  readonly user: VaultUser;
  readonly reason: ResetReason;
  readonly link: string;
  readonly instanceName: string;
}): MailMessage {
  const { user, reason, link, instanceName } = given;
  const paragraphs = [
    `Hello ${user.handle},`,
    opening[reason](instanceName),
    `Choose a password here:\n${link}`,
    "The link works once and for one hour. After that, ask for another one.",
    ...(reason === "asked"
      ? ["If it was not you who asked, you need not do anything: your password stays as it is."]
      : []),
  ];
  return {
    to: user.email,
    subject:
      reason === "created" ? `Your account on ${instanceName}` : `Your password on ${instanceName}`,
    text: `${paragraphs.join("\n\n")}\n`,
  };
}

const opening: Record<ResetReason, (instanceName: string) => string> = {
  asked: (name) => `somebody asked for another password for your account on ${name}.`,
  demanded: (name) =>
    `an administrator of ${name} asks you to choose another password. Until then you cannot sign in.`,
  created: (name) => `an administrator of ${name} made an account for you. It has no password yet.`,
};
