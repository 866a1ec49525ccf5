import type { Queries, Transaction } from "../../../storage/engine/database.ts";
import { findTeamByName, listTeamsByIds } from "../../../storage/tables/forge/accounts/teams.ts";
import { findUserByName, listUsersByIds } from "../../../storage/tables/forge/accounts/users.ts";
import type { TeamId, UserId } from "../../../storage/tables/forge/ids.ts";
import { AppError } from "../../errors.ts";
import { isVisibleTo } from "../accounts/users.service.ts";
import type { ForgeCaller } from "../caller.ts";

// The lists of users and teams in the rules that protect branches and tags.

/** Maximum number of users or teams of one list. */
const LISTED_MAX = 100;

/** Returns the ids of users. Refuses with `unprocessable` unknown names and more than a list may have. */
export async function findUserIds(
  tx: Transaction,
  names: readonly string[],
  caller: ForgeCaller,
): Promise<UserId[]> {
  assertListLength(names);
  const ids: UserId[] = [];
  for (const name of names) {
    const user = await findUserByName(tx, name);
    if (user?.kind !== "individual" || !isVisibleTo(user, caller.user))
      throw new AppError("unprocessable", `user does not exist [uid: 0, name: ${name}]`);
    ids.push(user.id);
  }
  return [...new Set(ids)];
}

/** Returns the ids of teams of an organization. Refuses as `findUserIds` does. */
export async function findTeamIds(
  tx: Transaction,
  orgId: UserId,
  names: readonly string[],
): Promise<TeamId[]> {
  assertListLength(names);
  const ids: TeamId[] = [];
  for (const name of names) {
    const team = await findTeamByName(tx, orgId, name);
    if (team === undefined)
      throw new AppError(
        "unprocessable",
        `team does not exist [org_id ${orgId}, team_id 0, name: ${name}]`,
      );
    ids.push(team.id);
  }
  return [...new Set(ids)];
}

export function assertListLength(names: readonly string[]): void {
  if (names.length > LISTED_MAX)
    throw new AppError("unprocessable", `a list has at most ${LISTED_MAX} names`);
}

/** The names of listed users and teams. */
export interface ListedNames {
  readonly usernames: ReadonlyMap<UserId, string>;
  readonly teamNames: ReadonlyMap<TeamId, string>;
}

/** Returns the names of users and teams that still exist. */
export async function findListedNames(
  db: Queries,
  userIds: readonly UserId[],
  teamIds: readonly TeamId[],
): Promise<ListedNames> {
  const users = await listUsersByIds(db, userIds);
  const teams = await listTeamsByIds(db, teamIds);
  return {
    usernames: new Map(users.map(({ id, name }) => [id, name])),
    teamNames: new Map(teams.map(({ id, name }) => [id, name])),
  };
}
