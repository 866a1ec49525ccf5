import type { Database } from "../../../storage/engine/database.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import { endSessions } from "../../../storage/tables/vault/sessions.ts";
import { changePassword, findVaultUser } from "../../../storage/tables/vault/users.ts";
import type { AccountId } from "../../../storage/tables/vault/ids.ts";
import { AppError } from "../../errors.ts";
import type { BreachLookup } from "../../outbound/breach/lookup.ts";
import type { PasswordHasher } from "../../utilities/password-hasher.ts";
import type { VaultCaller } from "../caller.ts";
import { type AttemptCounter, countPasswordCheck } from "./attempts.ts";
import type { Client } from "./client.ts";
import { assertNotBreached, assertStrong } from "./password-rules.ts";
import { badCredentials } from "./refusals.ts";
import { fingerprintOfAccount, type ResetTokens } from "./reset-tokens.ts";
import type { ResetMails } from "./reset-mails.ts";
import { endOtherSessions } from "./sessions.service.ts";

export type Passwords = ReturnType<typeof createPasswords>;

export interface PasswordsDeps {
  readonly db: Database;
  readonly hasher: PasswordHasher;
  readonly breaches: BreachLookup;
  readonly attempts: AttemptCounter;
  readonly resetTokens: ResetTokens;
  readonly resetMails: ResetMails;
}

/** Changes and resets passwords. */
export function createPasswords(deps: PasswordsDeps) {
  const { db, hasher, breaches } = deps;
  return {
    /**
     * Changes the caller's password and returns how many other sessions it revoked. Throws `invalid_credentials` for a
     * wrong current password, `unprocessable` for a breached or weak
     * new one, and `rate_limited` after too many attempts.
     */
    async change(
      { userId, address }: VaultCaller,
      { current, next }: { readonly current: string; readonly next: string },
      client: Client,
    ): Promise<number> {
      await countPasswordCheck(deps.attempts, userId);
      const user = await findVaultUser(db, userId);
      const { fits } = await hasher.verify(user?.passwordHash ?? "", current);
      if (user === undefined || !fits) throw wrongCurrent();
      await assertNotBreached(breaches, next);
      assertStrong(next);
      const to = await hasher.hash(next);

      const ended = await db.transaction(async (tx) => {
        const changed = await changePassword(tx, userId, { from: user.passwordHash, to });
        if (!changed) return undefined;
        const others = await endOtherSessions(tx, userId, client);
        await insertAudit(tx, {
          eventType: "auth.password_changed",
          userId,
          actorId: userId,
          ipAddress: address,
          metadata: { sessions_revoked: others },
        });
        return others;
      });
      // The password changed or the account was deactivated while the new password was hashed.
      if (ended === undefined) throw wrongCurrent();
      return ended;
    },

    /** Mails a reset link if an account has the address. Time and result are the same for an unknown address. */
    requestReset: (email: string): Promise<void> =>
      db.transaction((tx) => deps.resetMails.request(tx, { email, reason: "asked" })),

    /** Returns whether the token of a reset link can still set a password. */
    async isUsable(token: string): Promise<boolean> {
      const claims = await deps.resetTokens.read(token);
      const user = claims && (await findVaultUser(db, claims.userId));
      return user?.isActive === true && fingerprintOfAccount(user) === claims?.replaces;
    },

    /**
     * Sets the password with the token of a reset link, and returns the account. Throws
     * `invalid_argument` for an invalid, expired or used link, and `unprocessable` for a weak or breached password.
     */
    async confirmReset(token: string, next: string, { address }: Client): Promise<AccountId> {
      const claims = await deps.resetTokens.read(token);
      if (claims === undefined) throw badLink();
      const user = await findVaultUser(db, claims.userId);
      if (user !== undefined && fingerprintOfAccount(user) !== claims.replaces) throw badLink();
      assertStrong(next);
      await assertNotBreached(breaches, next);
      if (user === undefined || !user.isActive) throw badLink();
      const to = await hasher.hash(next);

      const changed = await db.transaction(async (tx) => {
        if (!(await changePassword(tx, user.id, { from: user.passwordHash, to }))) return false;
        const ended = await endSessions(tx, user.id);
        await insertAudit(tx, {
          eventType: "auth.password_reset",
          userId: user.id,
          actorId: user.id,
          ipAddress: address,
          metadata: { sessions_revoked: ended },
        });
        return true;
      });
      // A concurrent request used the link first.
      if (!changed) throw badLink();
      return user.id;
    },
  };
}

function wrongCurrent(): AppError {
  return badCredentials("Current password is incorrect");
}

function badLink(): AppError {
  return new AppError("invalid_argument", "Invalid or expired reset link");
}
