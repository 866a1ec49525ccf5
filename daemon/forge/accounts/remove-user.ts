import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { deleteCommentsOf } from "../../../storage/tables/forge/issues/comments.ts";
import {
  countOrganizationsOf,
  listOrganizationsOnlyOwnedBy,
} from "../../../storage/tables/forge/accounts/orgs.ts";
import {
  deleteUser,
  findUserByName,
  type ForgeUser,
} from "../../../storage/tables/forge/accounts/users.ts";
import { hasOtherActiveSiteAdmin } from "../../../storage/tables/forge/accounts/user-lists.ts";
import { AppError } from "../../errors.ts";
import { lastAdmin, targetIsOrganization, userNotFound } from "../refusals.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";

/**
 * Repositories or packages that an account owns. Each function runs inside the transaction of the change. A job that
 * the same transaction enqueues removes files, so that a crash cannot leave a partial removal.
 */
export interface AccountDependents {
  /** Throws `unprocessable` if the account owns any, in Gitea's words. */
  assertNoneOwned(tx: Transaction, account: ForgeUser): Promise<void>;
  /** Removes all that the account, a user or an organization, owns. Idempotent. */
  removeAll(tx: Transaction, account: ForgeUser): Promise<void>;
  /**
   * Removes the account's rows in other features, such as watches. Called for every deletion, in a purge after
   * `removeAll`.
   */
  forget?(tx: Transaction, account: ForgeUser): Promise<void>;
  /** Applies a rename, also one that changes only the case. */
  rename?(tx: Transaction, account: ForgeUser, formerName: string): Promise<void>;
}

export interface RemoveUserDeps {
  readonly db: Database;
  readonly repositories: AccountDependents | undefined;
  readonly packages: AccountDependents | undefined;
}

/**
 * Deletes a user in one transaction. Throws `unprocessable`, in this order, for an organization, the
 * caller, the last administrator, and unless `purge` for owned repositories, memberships and owned packages. A purge
 * also
 * deletes those, organizations left without an owner, and the user's comments.
 */
export async function removeUser(
  deps: RemoveUserDeps,
  username: string,
  { callerId, purge }: { readonly callerId: UserId; readonly purge: boolean },
): Promise<void> {
  await deps.db.transaction(async (tx) => {
    const user = await findUserByName(tx, username);
    if (user === undefined) throw userNotFound(username);
    if (user.kind === "organization") throw targetIsOrganization();
    if (user.id === callerId) throw new AppError("unprocessable", "you cannot delete yourself");
    if (isActiveAdmin(user) && !(await hasOtherActiveSiteAdmin(tx, user.id)))
      throw lastAdmin("unprocessable", user);
    if (purge) await removeBelongings(deps, tx, user);
    else await assertNoBelongings(deps, tx, user);
    await deps.repositories?.forget?.(tx, user);
    await deps.packages?.forget?.(tx, user);
    // Foreign keys delete tokens, addresses, keys, badges, memberships, the second factor and redirects.
    await deleteUser(tx, user);
  });
}

/** Whether the account is a site administrator who can sign in. */
export function isActiveAdmin(user: ForgeUser): boolean {
  return user.isAdmin && user.isActive && !user.prohibitLogin;
}

async function assertNoBelongings(
  { repositories, packages }: RemoveUserDeps,
  tx: Transaction,
  user: ForgeUser,
): Promise<void> {
  await repositories?.assertNoneOwned(tx, user);
  if ((await countOrganizationsOf(tx, user.id)) > 0)
    throw new AppError(
      "unprocessable",
      `user still has membership of organizations [uid: ${user.id}]`,
    );
  await packages?.assertNoneOwned(tx, user);
}

async function removeBelongings(
  { repositories, packages }: RemoveUserDeps,
  tx: Transaction,
  user: ForgeUser,
): Promise<void> {
  await deleteCommentsOf(tx, user.id);
  const orphaned = await listOrganizationsOnlyOwnedBy(tx, user.id);
  for (const owner of [user, ...orphaned]) {
    await repositories?.removeAll(tx, owner);
    await packages?.removeAll(tx, owner);
  }
  for (const organization of orphaned) {
    await repositories?.forget?.(tx, organization);
    await packages?.forget?.(tx, organization);
    await deleteUser(tx, organization);
  }
}
