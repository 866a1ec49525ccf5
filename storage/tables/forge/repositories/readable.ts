import type { Condition } from "../../condition.ts";
import { toTeamReached, type UnitOrAny } from "../accounts/team-access.ts";
import type { UserId, TeamId } from "../ids.ts";

/** The reader; undefined is an anonymous caller. */
export type Reader =
  | { readonly id: UserId; readonly isAdmin: boolean; readonly isRestricted: boolean }
  | undefined;

const EVERYONES = "r.is_private = 0 AND u.visibility = 0";

/**
 * Returns the condition for the repositories that a reader may read, over `forge_repositories r` joined with their owners
 * `forge_users u`. It is the access function of `daemon/forge/repositories/access.ts` for lists; a test compares the two.
 * @param unit the part that the reader must be able to read
 */
export function toReadable(
  reader: Reader,
  isPublicOnly: boolean,
  unit: UnitOrAny = "any",
): Condition {
  if (isPublicOnly || reader === undefined) return { sql: EVERYONES, values: [] };
  if (reader.isAdmin) return { sql: "1 = 1", values: [] };
  const user = { sql: "?", values: [reader.id] };
  return anyOf([
    { sql: EVERYONES, values: [] },
    toGranted(user, unit),
    ...(reader.isRestricted ? [] : [toSignedIn(user)]),
  ]);
}

/** Returns the condition of `toReadable` for the user of each row, `forge_users v`, instead of one reader. */
export function toReadableByRow(unit: UnitOrAny): Condition {
  const user = { sql: "v.id", values: [] };
  const signedIn = toSignedIn(user);
  return anyOf([
    { sql: EVERYONES, values: [] },
    { sql: "v.is_admin = 1", values: [] },
    toGranted(user, unit),
    { sql: `v.is_restricted = 0 AND (${signedIn.sql})`, values: signedIn.values },
  ]);
}

/** The repositories that a user owns, reaches as a collaborator or through a team, or is offered. */
function toGranted(user: Condition, unit: UnitOrAny): Condition {
  const reached = toReachedBy(user, { unit });
  return {
    sql: `${reached.sql} OR r.id IN (SELECT t.repository_id FROM forge_repository_transfers t
      WHERE t.recipient_id = ${user.sql}
        OR t.recipient_id IN (SELECT m.org_id FROM forge_team_members m JOIN forge_teams e ON e.id = m.team_id
                              WHERE m.user_id = ${user.sql} AND e.can_create_repositories = 1))`,
    values: [...reached.values, ...user.values, ...user.values],
  };
}

/** The public repositories of owners who are visible to a signed-in user. */
function toSignedIn(user: Condition): Condition {
  return {
    sql: `r.is_private = 0 AND (u.visibility = 1 OR (u.kind = 1 AND r.owner_id IN
      (SELECT o.org_id FROM forge_org_members o WHERE o.user_id = ${user.sql})))`,
    values: user.values,
  };
}

function anyOf(parts: readonly Condition[]): Condition {
  return {
    sql: `(${parts.map(({ sql }) => `(${sql})`).join(" OR ")})`,
    values: parts.flatMap(({ values }) => values),
  };
}

/**
 * Returns the condition for the repositories that a user owns or reaches as a collaborator or through a team.
 * @param options.publicMemberships uses only public facts: organizations whose membership the user shows, no
 * collaborations
 */
export function toReached(
  userId: UserId,
  options: { readonly publicMemberships?: boolean; readonly unit?: UnitOrAny } = {},
): Condition {
  return toReachedBy({ sql: "?", values: [userId] }, options);
}

function toReachedBy(
  user: Condition,
  options: { readonly publicMemberships?: boolean; readonly unit?: UnitOrAny },
): Condition {
  const { publicMemberships = false, unit = "any" } = options;
  const teams = toTeamReached(user, unit, publicMemberships);
  const collaborator = publicMemberships
    ? ""
    : ` OR r.id IN (SELECT c.repository_id FROM forge_collaborators c WHERE c.user_id = ${user.sql})`;
  return {
    sql: `r.owner_id = ${user.sql} OR ${teams.sql}${collaborator}`,
    values: [...user.values, ...teams.values, ...(publicMemberships ? [] : user.values)],
  };
}

/** Returns the condition for the repositories that a team has. */
export function toInTeam(teamId: TeamId): Condition {
  return {
    sql: `r.owner_id IN (SELECT e.org_id FROM forge_teams e WHERE e.id = ? AND e.includes_all_repositories = 1)
      OR r.id IN (SELECT p.repository_id FROM forge_team_repositories p WHERE p.team_id = ?)`,
    values: [teamId, teamId],
  };
}
