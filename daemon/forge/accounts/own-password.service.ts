import type { Database } from "../../../storage/engine/database.ts";
import {
  findUserById,
  type ForgeUser,
  updateUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import type { PasswordHasher } from "../../utilities/password-hasher.ts";
import type { ForgeCaller } from "../caller.ts";
import type { PasswordRules } from "./password-rules.ts";
import type { SignInAttempts } from "./sign-in-attempts.ts";

export type OwnPassword = ReturnType<typeof createOwnPassword>;

export interface OwnPasswordDeps {
  readonly db: Database;
  readonly passwords: PasswordHasher;
  readonly rules: PasswordRules;
  readonly attempts: SignInAttempts;
}

/** The caller's own password. */
export function createOwnPassword({ db, passwords, rules, attempts }: OwnPasswordDeps) {
  return {
    /**
     * Changes the caller's password, and clears the requirement to change it. Tokens stay valid. Throws `forbidden` for a
     * caller who did not sign in with this account's password and for a wrong current password, `unprocessable` for a new
     * password that is too short, too long or the current one, `rate_limited` after too many wrong current passwords.
     * @param address of the client, for the limit
     */
    async change(
      caller: ForgeCaller,
      { current, next }: { readonly current: string; readonly next: string },
      address: string,
    ): Promise<void> {
      const { id } = assertOwnPassword(caller);
      // A separate counter: the sign-in of the same request resets the one for sign-ins.
      const passwordHash = await attempts.password(`change id ${id}`, address, {
        async check() {
          const stored = ((await findUserById(db, id)) ?? caller.user).passwordHash;
          return (await passwords.verify(stored, current)).fits ? stored : undefined;
        },
      });
      if (passwordHash === undefined) throw wrongPassword();
      if (current === next)
        throw new AppError("unprocessable", "the new password must differ from the current one");
      await rules.assertAllowed(next);
      const nextHash = await passwords.hash(next);
      await db.transaction(async (tx) => {
        const current = await findUserById(tx, id);
        // A concurrent request changed the password after this one checked it.
        if (current?.passwordHash !== passwordHash) throw wrongPassword();
        const changes = { passwordHash: nextHash, mustChangePassword: false, updatedAt: tx.now };
        await updateUser(tx, current, changes);
      });
    },
  };
}

/** Throws `forbidden`: a token, or an administrator who impersonates, must not change how a person signs in. */
export function assertOwnPassword(caller: ForgeCaller): ForgeUser {
  if (caller.method !== "basic_password" || caller.actor.id !== caller.user.id)
    throw new AppError("forbidden", "sign in with Basic authentication and your own password");
  return caller.user;
}

const wrongPassword = () => new AppError("forbidden", "the current password is wrong");
