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
  hasOtherSiteAdmin,
} from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import { lastAdmin, targetIsOrganization, userNotFound } from "../refusals.ts";

/**
 * What hangs on an account and belongs to another part of the forge: its repositories, its packages. Each function runs
 * inside the transaction of the change, so rows go with the account or not at all. Files are not touched here: a job
 * that is enqueued in the same transaction does that, so that a crash leaves nothing half done.
 */
export interface AccountDependents {
  /** Refuses with `unprocessable` while the account owns something, in the words of the document (forge behaviour, 3). */
  assertNoneOwned(tx: Transaction, account: ForgeUser): Promise<void>;
  /** Removes everything that the account, a person or an organization, owns. Does nothing when it owns nothing. */
  removeAll(tx: Transaction, account: ForgeUser): Promise<void>;
  /** Removes what remains of a person elsewhere, such as watches; called for every deletion, after `removeAll` for a purge. */
  forget?(tx: Transaction, account: ForgeUser): Promise<void>;
  /** Follows a change of name, whether in letters or in case only. */
  rename?(tx: Transaction, account: ForgeUser, formerName: string): Promise<void>;
}

export interface RemoveUserDeps {
  readonly db: Database;
  readonly repositories: AccountDependents | undefined;
  readonly packages: AccountDependents | undefined;
}

/**
 * Deletes a person and everything that is the person's own (forge behaviour, 8.4), in one transaction. Refuses with
 * `unprocessable`, in this order: an organization, the caller, the last administrator, and unless `purge` owned
 * repositories, memberships, owned packages. A purge takes those along, organizations left without an owner, and what
 * the person commented.
 */
export async function removeUser(
  deps: RemoveUserDeps,
  username: string,
  { callerId, purge }: { readonly callerId: number; readonly purge: boolean },
): Promise<void> {
  await deps.db.transaction(async (tx) => {
    const user = await findUserByName(tx, username);
    if (user === undefined) throw userNotFound(username);
    if (user.kind === "organization") throw targetIsOrganization();
    if (user.id === callerId) throw new AppError("unprocessable", "you cannot delete yourself");
    if (user.isAdmin && user.isActive && !(await hasOtherSiteAdmin(tx, user.id)))
      throw lastAdmin("unprocessable", user);
    if (purge) await removeBelongings(deps, tx, user);
    else await assertNoBelongings(deps, tx, user);
    await deps.repositories?.forget?.(tx, user);
    await deps.packages?.forget?.(tx, user);
    // Tokens, addresses, keys, badges, memberships, the second factor and redirects go by their foreign keys.
    await deleteUser(tx, user);
  });
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
