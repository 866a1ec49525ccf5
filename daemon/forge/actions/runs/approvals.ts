import type { Queries } from "../../../../storage/engine/database.ts";
import { findUserById, type ForgeUser } from "../../../../storage/tables/forge/accounts/users.ts";
import { hasApprovedRun } from "../../../../storage/tables/forge/actions/runs.ts";
import type { UserId } from "../../../../storage/tables/forge/ids.ts";
import { hasMergedPull } from "../../../../storage/tables/forge/pulls/pulls.ts";
import type { OwnedRepository } from "../../events.ts";
import { findAccess, reaches } from "../../repositories/access.ts";

/**
 * Returns whether a run with the workflow of a fork waits for approval: unless both the person who caused the event and the
 * author of the pull request are known in the repository.
 */
export async function needsApproval(
  db: Queries,
  owned: OwnedRepository,
  people: readonly (UserId | undefined)[],
): Promise<boolean> {
  for (const id of new Set(people)) {
    const user = id === undefined ? undefined : await findUserById(db, id);
    if (user === undefined || !(await isKnown(db, owned, user))) return true;
  }
  return false;
}

/**
 * Returns whether a person may start runs of a fork: one who may write, whose pull request was merged, or of whom a run was
 * approved. A restricted account needs to be able to write.
 */
async function isKnown(db: Queries, owned: OwnedRepository, user: ForgeUser): Promise<boolean> {
  for (const unit of ["repo.code", "repo.actions"] as const)
    if (reaches(await findAccess(db, owned, user, unit), "write")) return true;
  const { id } = owned.repository;
  if (user.isRestricted) return false;
  return (await hasMergedPull(db, id, user.id)) || (await hasApprovedRun(db, id, user.id));
}
