import type { Database, Queries } from "../../../storage/engine/database.ts";
import { listRepositoryTeamMembers } from "../../../storage/tables/forge/accounts/team-access.ts";
import { type ForgeUser, findUserByName } from "../../../storage/tables/forge/accounts/users.ts";
import { listCollaborators } from "../../../storage/tables/forge/repositories/collaborators.ts";
import { AppError } from "../../errors.ts";
import { isVisibleTo } from "../accounts/users.service.ts";
import type { ForgeCaller } from "../caller.ts";
import { findAccess, reaches } from "../repositories/access.ts";
import type { OwnedRepository } from "../events.ts";
import { findPeople } from "./issue-details.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";

/** Maximum number of users in the list, which has no pages in the reference. */
const USERS_MAX = 1_000;

/** Lists the users who may write to a repository and whom the caller may see, by name. */
export async function listAssignableUsers(
  db: Database,
  opened: OwnedRepository,
  caller: ForgeCaller | undefined,
): Promise<readonly ForgeUser[]> {
  const { repository, owner } = opened;
  const window = { limit: USERS_MAX, offset: 0 };
  const { users: collaborators } = await listCollaborators(db, repository.id, window);
  const memberIds =
    owner.kind === "organization"
      ? await listRepositoryTeamMembers(db, { orgId: owner.id, repositoryId: repository.id })
      : [owner.id];
  const members = await findPeople(db, memberIds.slice(0, USERS_MAX));
  const candidates = new Map([
    ...collaborators.map((user) => [user.id, user] as const),
    ...members,
  ]);
  const users: ForgeUser[] = [];
  for (const user of candidates.values())
    if (
      isVisibleTo(user, caller?.user) &&
      reaches(await findAccess(db, opened, user, "repo.issues"), "write")
    )
      users.push(user);
  return users.toSorted((a, b) => (a.lowerName < b.lowerName ? -1 : 1)).slice(0, USERS_MAX);
}

/**
 * Finds users by name. An empty name is skipped: tea sends one for an issue without assignees. Refuses with
 * `unprocessable` an unknown user, or one who may not read the repository.
 */
export async function findAssignees(
  db: Queries,
  owned: OwnedRepository,
  names: readonly string[],
): Promise<UserId[]> {
  const ids: UserId[] = [];
  for (const name of names.filter((each) => each !== "")) {
    const user = await findUserByName(db, name);
    const isOne =
      user?.kind === "individual" &&
      reaches(await findAccess(db, owned, user, "repo.issues"), "read");
    if (user === undefined || !isOne)
      throw new AppError(
        "unprocessable",
        `Assignee does not exist: [name: user does not exist [uid: 0, name: ${name}]]`,
      );
    ids.push(user.id);
  }
  return ids;
}

/** Returns whether `findAssignees` accepts a user whom the viewer may see. */
export async function isAssignable(
  db: Queries,
  owned: OwnedRepository,
  name: string,
  viewer: ForgeUser | undefined,
): Promise<boolean> {
  const user = await findUserByName(db, name);
  return (
    user?.kind === "individual" &&
    isVisibleTo(user, viewer) &&
    reaches(await findAccess(db, owned, user, "repo.issues"), "read")
  );
}
