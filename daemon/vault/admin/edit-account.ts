import { type Database, isConflict, type Transaction } from "../../../storage/engine/database.ts";
import type { AccountId } from "../../../storage/tables/vault/ids.ts";
import { findFolderOwner, retireFolders } from "../../../storage/tables/vault/local-folders.ts";
import { deleteMachineTokensOf } from "../../../storage/tables/vault/machine-tokens.ts";
import {
  editVaultUser,
  findVaultUser,
  ownsFiles,
  type VaultUser,
} from "../../../storage/tables/vault/users.ts";
import { AppError } from "../../errors.ts";
import type { VaultCaller, VaultRole } from "../caller.ts";
import { assertDispensable, record } from "./account-rules.ts";

/** Changes of an account. Undefined members stay as they are. */
export interface AccountChanges {
  readonly handle?: string | undefined;
  readonly email?: string | undefined;
  readonly role?: VaultRole | undefined;
}

/**
 * Changes an account, with an audit record. Links that were mailed to a former address stop working. Throws `not_found`, and
 * `conflict` for a handle or address in use, for a handle that names folders of the server, for the role of an account with
 * files, which an administrator could not open, and for the last active administrator.
 */
export async function editAccount(
  db: Database,
  caller: VaultCaller,
  userId: AccountId,
  requested: AccountChanges,
): Promise<VaultUser> {
  try {
    return await db.transaction(async (tx) => {
      const user = await findVaultUser(tx, userId);
      if (user === undefined) throw new AppError("not_found", "User not found");
      const changes = toChanges(user, requested);
      const names = Object.keys(changes);
      if (names.length === 0) return user;
      if (changes.handle !== undefined) await releaseHandle(tx, user, changes.handle);
      if (changes.role !== undefined) await assertRole(tx, caller, user, changes.role);
      await editVaultUser(tx, userId, changes);
      await record(tx, caller, "admin.user_edited", userId, { changed: names });
      return { ...user, ...changes };
    });
  } catch (error) {
    throw isConflict(error) && error.constraint?.startsWith("vault_users")
      ? new AppError("conflict", "Email or handle already in use")
      : error;
  }
}

type Changes = Partial<Pick<VaultUser, "handle" | "email" | "role">>;

/** Returns the members that differ from the account. */
function toChanges(user: VaultUser, { handle, email, role }: AccountChanges): Changes {
  return {
    ...(handle === undefined || handle === user.handle ? {} : { handle }),
    ...(email === undefined || email === user.email ? {} : { email }),
    ...(role === undefined || role === user.role ? {} : { role }),
  };
}

async function releaseHandle(tx: Transaction, user: VaultUser, handle: string): Promise<void> {
  if (handle.toLowerCase() === user.handle.toLowerCase()) return;
  if ((await findFolderOwner(tx, user.handle)) === user.id)
    throw new AppError(
      "conflict",
      `The handle of ${user.handle} cannot change: it names the account's folder on the server`,
    );
  // A later account with the former handle must not get a folder that appears under it meanwhile.
  await retireFolders(tx, user.handle, user.id);
}

async function assertRole(
  tx: Transaction,
  caller: VaultCaller,
  user: VaultUser,
  role: VaultRole,
): Promise<void> {
  if (role === "user") return assertDispensable(tx, caller, user, "demote");
  if (await ownsFiles(tx, user.id))
    throw new AppError(
      "conflict",
      `${user.handle} has documents or connected storage, which an administrator cannot open`,
    );
  await deleteMachineTokensOf(tx, user.id);
}
