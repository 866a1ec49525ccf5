import type { Queries } from "../../../storage/engine/database.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import { listBasesOfEditableHeads } from "../../../storage/tables/forge/pulls/pulls.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import type { ActingUser } from "../caller.ts";
import { findAccess, reaches } from "./access.ts";
import { keepsPulls } from "./repository-settings.view.ts";

/**
 * Returns whether a person may push to a branch of a fork without a right to the fork: it is the head of an open pull
 * request whose author lets those who may write to the base edit it. Jobs and deploy keys may not.
 * @param branch undefined for any branch
 */
export async function mayEditHead(
  db: Queries,
  user: ActingUser | undefined,
  fork: Pick<ForgeRepository, "id">,
  branch?: string,
): Promise<boolean> {
  if (user === undefined || user.task !== undefined || user.deployKey !== undefined) return false;
  for (const id of await listBasesOfEditableHeads(db, fork.id, branch)) {
    const repository = await findRepositoryById(db, id);
    const owner = repository && (await findUserById(db, repository.ownerId));
    if (repository === undefined || owner === undefined) continue;
    if (repository.archivedAt !== undefined || !keepsPulls(repository.settings)) continue;
    if (reaches(await findAccess(db, { repository, owner }, user), "write")) return true;
  }
  return false;
}
