import { hash } from "node:crypto";
import { z } from "zod";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { findEmail } from "../../../storage/tables/forge/accounts/emails.ts";
import {
  deleteExpiredPasswordResets,
  deletePasswordReset,
  findPasswordReset,
  type PasswordReset,
  putPasswordReset,
} from "../../../storage/tables/forge/accounts/password-resets.ts";
import {
  findUserById,
  type ForgeUser,
  updateUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import { INVITATION_SECONDS } from "../../contract/invitations.ts";
import { AppError } from "../../errors.ts";
import { type JobKind, parsePayload } from "../../jobs/job-kind.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { PasswordHasher } from "../../utilities/password-hasher.ts";
import { type ForgeUrls, toUrl } from "../urls.ts";
import type { PasswordRules } from "./password-rules.ts";
import type { QueueMail } from "./welcome-mail.ts";

export type PasswordResets = ReturnType<typeof createPasswordResets>;

export interface PasswordResetsDeps {
  readonly db: Database;
  readonly clock: () => number;
  readonly random: (bytes: number) => Uint8Array;
  readonly enqueue: Enqueue;
  readonly queueMail: QueueMail;
  readonly passwords: PasswordHasher;
  readonly rules: PasswordRules;
  readonly limiter: {
    consume(
      key: string,
      rule: { readonly max: number; readonly seconds: number },
    ): Promise<{ readonly allowed: boolean; readonly resetSeconds: number }>;
    /** The key of an address: an IPv6 network counts as one caller. */
    addressKey(address: string): string;
  };
  readonly urls: ForgeUrls;
  readonly instanceName: string;
}

const KIND = "forge.password-reset";
const payloadSchema = z.object({ email: z.string() });

const TOKEN_BYTES = 32;
const LINK_MS = 3_600_000;
/** Minimum interval of mails to one account. */
const MAIL_INTERVAL_MS = 3 * 60_000;
/** Maximum number of requests for links, and of attempts to use one, of one client. */
const REQUESTS_PER_ADDRESS = { max: 10, seconds: 900 } as const;

/** Resets forgotten passwords through mailed links, each of which works once. */
export function createPasswordResets(deps: PasswordResetsDeps) {
  const { db, clock, random, passwords, rules, limiter } = deps;
  return {
    /**
     * Mails a link to the account of a verified address. An unknown address gets the same response in the same time.
     * Throws `rate_limited` after too many requests of a client.
     */
    async request(email: string, address: string): Promise<void> {
      await count("request", address);
      const lowerEmail = email.trim().toLowerCase();
      // The job looks the account up, not the request: both addresses leave the same rows in the same time.
      await db.transaction((tx) =>
        deps.enqueue(tx, {
          kind: KIND,
          payload: { email: lowerEmail },
          key: hash("sha256", lowerEmail, "hex"),
        }),
      );
    },

    /** Returns whether the token of a link can still set a password. */
    isUsable: async (token: string): Promise<boolean> => (await findAccount(token)) !== undefined,

    /** Returns the sentence about the first rule that a new password breaks; undefined for a good one. */
    async findBroken(password: string): Promise<string | undefined> {
      const broken = await rules.findBroken(password);
      return broken && `The new password ${broken.text}.`;
    },

    /**
     * Sets the password with the token of a link. It ends the sessions of pages; tokens and the second factor stay. Throws
     * `invalid_argument` for a link that is unknown, expired or used, `unprocessable` for the password, `rate_limited`.
     */
    async confirm(token: string, next: string, address: string): Promise<void> {
      await count("confirm", address);
      const found = await findAccount(token);
      if (found === undefined) throw badLink();
      const { user, reset } = found;
      await rules.assertAllowed(next);
      const passwordHash = await passwords.hash(next);
      await db.transaction(async (tx) => {
        const current = await findUserById(tx, user.id);
        // The link was used, or the password changed, while the new one was hashed.
        const isValid = current !== undefined && toMark(current) === reset.passwordMark;
        if (!(await deletePasswordReset(tx, reset.tokenHash)) || !isValid) throw badLink();
        const changes = { passwordHash, mustChangePassword: false, updatedAt: tx.now };
        await updateUser(tx, current, changes);
      });
    },

    /** Deletes the links that have expired. Returns how many. */
    deleteExpired: (): Promise<number> => deleteExpiredPasswordResets(db, clock()),

    /** The job that finds the account of an address and queues the mail. Register it with the queue. */
    job: {
      kind: KIND,
      async run(payload) {
        const { email } = parsePayload(payloadSchema, payload);
        const found = await findEmail(db, email);
        // An unverified address may belong to another person.
        if (found === undefined || !found.isVerified) return;
        const token = createResetToken(random);
        await db.transaction(async (tx) => {
          const user = await findUserById(tx, found.userId);
          if (user === undefined || !mayReset(user)) return;
          const earlier = await findPasswordReset(tx, { userId: user.id });
          if (earlier !== undefined && mayNotReplace(earlier, tx.now)) return;
          await putResetLink(tx, user, { token, expiresAt: tx.now + LINK_MS });
          await deps.queueMail(tx, toMail(user, token));
        });
      },
    } satisfies JobKind,
  };

  /** Returns the account whose password a token may set; undefined for a token that is unknown, expired or used. */
  async function findAccount(
    token: string,
  ): Promise<{ readonly user: ForgeUser; readonly reset: PasswordReset } | undefined> {
    const reset = await findPasswordReset(db, { tokenHash: toResetHash(token) });
    if (reset === undefined || reset.expiresAt <= clock()) return undefined;
    const user = await findUserById(db, reset.userId);
    const isValid = user !== undefined && isResetOf(user, reset);
    return isValid ? { user, reset } : undefined;
  }

  async function count(step: "request" | "confirm", address: string): Promise<void> {
    const key = `forge.reset.${step}:${limiter.addressKey(address)}`;
    const { allowed, resetSeconds } = await limiter.consume(key, REQUESTS_PER_ADDRESS);
    if (allowed) return;
    throw new AppError("rate_limited", `too many requests, try again in ${resetSeconds} seconds`, {
      retryAfterSeconds: resetSeconds,
    });
  }

  function toMail(user: ForgeUser, token: string) {
    const { instanceName, urls } = deps;
    return {
      to: user.email,
      reader: { userId: user.id, resetHash: toResetHash(token) },
      subject: `Your password on ${instanceName}`,
      text: [
        `Hello ${user.fullName === "" ? user.name : user.fullName},`,
        "",
        `a new password for your account ${user.name} on ${instanceName} was requested.`,
        "",
        "Choose a password here:",
        toUrl(urls, `/user/recover_account?code=${token}`),
        "",
        "The link works once and for one hour. After that, ask for another one.",
        "",
        "If you did not request it, do nothing: your password stays as it is.",
        "",
      ].join("\n"),
    };
  }
}

/** Returns an unpredictable token for a link. */
export function createResetToken(random: (bytes: number) => Uint8Array): string {
  return Buffer.from(random(TOKEN_BYTES)).toString("base64url");
}

/** Makes `token` the only one that sets the password of an account. A new password or address invalidates it. */
export function putResetLink(
  tx: Transaction,
  user: ForgeUser,
  { token, expiresAt }: { readonly token: string; readonly expiresAt: number },
): Promise<void> {
  return putPasswordReset(tx, {
    userId: user.id,
    tokenHash: toResetHash(token),
    passwordMark: toMark(user),
    expiresAt,
  });
}

/** An account that could not sign in with the new password gets no link. */
export function mayReset({ kind, isActive, prohibitLogin, loginSource }: ForgeUser): boolean {
  return kind === "individual" && isActive && !prohibitLogin && loginSource === 0;
}

/** Returns whether a link still sets the password of an account. */
export function isResetOf(user: ForgeUser, { passwordMark }: PasswordReset): boolean {
  return mayReset(user) && toMark(user) === passwordMark;
}

export const toResetHash = (token: string): string =>
  hash("sha256", `password reset\n${token}`, "hex");

/** Depends on password and address, so that a link mailed to a former address is invalid. */
const toMark = ({ passwordHash, email }: ForgeUser): string =>
  hash("sha256", `${email}\n${passwordHash}`, "hex");

const badLink = () => new AppError("invalid_argument", "the link is invalid, expired or used");

/** A link that was mailed a moment ago stays valid, and so does that of an invitation. */
function mayNotReplace({ expiresAt }: PasswordReset, now: number): boolean {
  // The clock was ahead when it was mailed.
  if (expiresAt > now + INVITATION_SECONDS * 1000) return false;
  return expiresAt - LINK_MS > now - MAIL_INTERVAL_MS || expiresAt > now + LINK_MS;
}
