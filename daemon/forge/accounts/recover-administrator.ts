import type { Database } from "../../../storage/engine/database.ts";
import { deleteTwoFactor } from "../../../storage/tables/forge/accounts/two-factors.ts";
import { findUserByName, updateUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { PasswordHasher } from "../../utilities/password-hasher.ts";
import { targetIsOrganization, userNotFound } from "../refusals.ts";
import type { PasswordRules } from "./password-rules.ts";

export interface RecoverAdministratorDeps {
  readonly db: Database;
  readonly hasher: PasswordHasher;
  readonly rules: PasswordRules;
}

/** The account to recover. */
export interface AdministratorRecovery {
  readonly username: string;
  readonly password: string;
  /** Also disables the account's second factor. */
  readonly resetTwoFactor: boolean;
}

/**
 * Makes an existing account an active site administrator with a new password, for a home whose administrators cannot sign
 * in. Tokens, keys and repositories stay. Returns the account's name. Throws `not_found` for an unknown name,
 * `unprocessable` for an organization and a password that breaks a rule; nothing is changed then.
 */
export async function recoverAdministrator(
  { db, hasher, rules }: RecoverAdministratorDeps,
  { username, password, resetTwoFactor }: AdministratorRecovery,
): Promise<string> {
  await rules.assertAllowed(password);
  const passwordHash = await hasher.hash(password);
  return db.transaction(async (tx) => {
    const before = await findUserByName(tx, username);
    if (before === undefined) throw userNotFound(username);
    if (before.kind === "organization") throw targetIsOrganization();
    const { name } = await updateUser(tx, before, {
      passwordHash,
      isAdmin: true,
      isActive: true,
      prohibitLogin: false,
      isRestricted: false,
      mustChangePassword: false,
      ...(resetTwoFactor && { twoFactorEnabled: false }),
      updatedAt: tx.now,
    });
    if (resetTwoFactor) await deleteTwoFactor(tx, before.id);
    return name;
  });
}
