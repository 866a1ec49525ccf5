import { hash } from "node:crypto";
import { z } from "zod";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { findVaultUserByEmail, type VaultUser } from "../../../storage/tables/vault/users.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import { type JobKind, parsePayload } from "../../jobs/job-kind.ts";
import type { VaultMailReason } from "./mail-recipients.ts";
import { fingerprintOfAccount, type ResetTokens } from "./reset-tokens.ts";

/** A message for the mail queue. */
export interface MailMessage {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Checked again when the mail is sent: a mail may wait for half a day. */
  readonly reader: VaultMailReason;
}

/** Adds a mail to the queue in the caller's transaction. */
export type QueueMail = (tx: Transaction, message: MailMessage) => Promise<unknown>;

const reasonSchema = z.enum(["asked", "demanded", "created"]);
/** The reason for a reset link, which selects the text of the mail. */
export type ResetReason = z.output<typeof reasonSchema>;

/** Mails reset links by a job. */
export type ResetMails = ReturnType<typeof createResetMails>;

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
const payloadSchema = z.object({ email: z.string(), reason: reasonSchema });

/**
 * The job looks the account up, not the request, so an unknown address takes the same time and leaves the same rows as a
 * known one.
 */
export function createResetMails(deps: ResetMailsDeps) {
  return {
    /** Enqueues a mail to an address, known or not. Waiting requests for one address are deduplicated. */
    async request(
      tx: Transaction,
      { email, reason }: { readonly email: string; readonly reason: ResetReason },
    ): Promise<void> {
      await deps.enqueue(tx, {
        kind: KIND,
        payload: { email, reason },
        key: hash("sha256", email, "hex"),
      });
    },

    /** The job: finds the account of the address, creates the link and queues the mail, or does nothing. */
    job: {
      kind: KIND,
      async run(payload) {
        const { email, reason } = parsePayload(payloadSchema, payload);
        const user = await findVaultUserByEmail(deps.db, email);
        // A link of a deactivated account would set no password.
        if (user?.isActive !== true) return;
        const replaces = fingerprintOfAccount(user);
        const token = await deps.resetTokens.issue({ userId: user.id, replaces });
        const link = `${deps.frontendUrl()}/password-reset/confirm?token=${encodeURIComponent(token)}`;
        const message = toMessage({ user, reason, link, instanceName: deps.instanceName });
        const reader = { vault: "password", id: user.id, replaces } as const;
        await deps.db.transaction((tx) => deps.queueMail(tx, { ...message, reader }));
      },
    } satisfies JobKind,
  };
}

function toMessage(input: {
  readonly user: VaultUser;
  readonly reason: ResetReason;
  readonly link: string;
  readonly instanceName: string;
}): Omit<MailMessage, "reader"> {
  const { user, reason, link, instanceName } = input;
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
  asked: (name) => `a new password for your account on ${name} was requested.`,
  demanded: (name) =>
    `an administrator of ${name} asks you to choose another password. Until then you cannot sign in.`,
  created: (name) => `an administrator of ${name} made an account for you. It has no password yet.`,
};
