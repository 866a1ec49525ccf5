import type { Queries, SqlValue, Transaction } from "../../../engine/database.ts";
import { id } from "../../columns.ts";
import type { Condition } from "../../condition.ts";
import { defineTable } from "../../table.ts";
import type { UserId, TeamId, RepositoryId } from "../ids.ts";
import { ADMIN_ACCESS, type RepositoryUnit } from "./teams.ts";

/** A part of a repository; `any` is the one with the highest access. */
export type UnitOrAny = RepositoryUnit | "any";

/** Returns the expression for the access that a team `t` gives to a unit: 0 none, 1 read, 2 write, 3 admin, 4 owner. */
function toAccess(unit: UnitOrAny): Condition {
  const unitCondition = unit === "any" ? "" : " AND n.unit = ?";
  return {
    sql: `CASE WHEN t.access >= ${ADMIN_ACCESS} THEN t.access ELSE
      (SELECT COALESCE(MAX(n.access), 0) FROM forge_team_units n WHERE n.team_id = t.id${unitCondition}) END`,
    values: unit === "any" ? [] : [unit],
  };
}

/** The condition that a team `t` gives any access to its repositories. */
export const TEAM_HAS_ACCESS = `(${toAccess("any").sql}) > 0`;

const hasRepository = `(t.includes_all_repositories = 1 OR EXISTS (SELECT 1 FROM forge_team_repositories p
       WHERE p.team_id = t.id AND p.repository_id = ?))`;

/** Returns the highest access that a user's teams give to a unit of a repository: 0 none, 1 read, 2 write, 3 admin, 4 owner. */
export async function getTeamAccess(
  db: Queries,
  where: { readonly orgId: UserId; readonly repositoryId: RepositoryId },
  userId: UserId,
  unit: UnitOrAny,
): Promise<number> {
  const access = toAccess(unit);
  const row = await db.get<{ access: number | null }>(
    `SELECT MAX(${access.sql}) AS access FROM forge_team_members m JOIN forge_teams t ON t.id = m.team_id
     WHERE m.user_id = ? AND m.org_id = ? AND ${hasRepository}`,
    ...access.values,
    userId,
    where.orgId,
    where.repositoryId,
  );
  return row?.access ?? 0;
}

/**
 * Returns the highest access of a user's teams to a unit of an organization itself, such as packages, not of its
 * repositories.
 */
export async function getOrganizationAccess(
  db: Queries,
  orgId: UserId,
  userId: UserId,
  unit: UnitOrAny = "any",
): Promise<number> {
  const access = toAccess(unit);
  const row = await db.get<{ access: number | null }>(
    `SELECT MAX(${access.sql}) AS access FROM forge_team_members m JOIN forge_teams t ON t.id = m.team_id
     WHERE m.user_id = ? AND m.org_id = ?`,
    ...access.values,
    userId,
    orgId,
  );
  return row?.access ?? 0;
}

/**
 * Returns the condition for the repositories `r` that a user's teams give access to a unit of.
 * @param user the expression for the id of the user
 * @param publicMemberships only through organizations whose membership the user shows
 */
export function toTeamReached(
  user: Condition,
  unit: UnitOrAny,
  publicMemberships: boolean,
): Condition {
  const access = toAccess(unit);
  const membershipCondition = publicMemberships
    ? ` AND EXISTS (SELECT 1 FROM forge_org_members o
          WHERE o.org_id = m.org_id AND o.user_id = m.user_id AND o.is_public = 1)`
    : "";
  const teams = (included: string) =>
    `FROM forge_team_members m JOIN forge_teams t ON t.id = m.team_id ${included}
     AND (${access.sql}) > 0${membershipCondition}`;
  const values: SqlValue[] = [...user.values, ...access.values];
  return {
    sql: `r.owner_id IN (SELECT t.org_id ${teams(`WHERE m.user_id = ${user.sql} AND t.includes_all_repositories = 1`)})
      OR r.id IN (SELECT p.repository_id ${teams(`JOIN forge_team_repositories p ON p.team_id = t.id WHERE m.user_id = ${user.sql}`)})`,
    values: [...values, ...values],
  };
}

/** Returns the ids of an organization's members who are in a team with access to a repository. */
export async function listRepositoryTeamMembers(
  db: Queries,
  where: { readonly orgId: UserId; readonly repositoryId: RepositoryId },
): Promise<UserId[]> {
  const rows = await db.all<{ id: UserId }>(
    `SELECT DISTINCT m.user_id AS id FROM forge_team_members m JOIN forge_teams t ON t.id = m.team_id
     WHERE m.org_id = ? AND ${hasRepository} AND ${TEAM_HAS_ACCESS} ORDER BY m.user_id`,
    where.orgId,
    where.repositoryId,
  );
  return rows.map(({ id }) => id);
}

const teamRepositories = defineTable("forge_team_repositories", {
  teamId: id<TeamId>(),
  repositoryId: id<RepositoryId>(),
});

/** Gives a team access to a repository. Idempotent. */
export async function insertTeamRepository(
  tx: Transaction,
  teamId: TeamId,
  repositoryId: RepositoryId,
): Promise<void> {
  const conflict = "ON CONFLICT (team_id, repository_id) DO NOTHING";
  await teamRepositories.upsert(tx, { teamId, repositoryId }, conflict);
}

/** Revokes a team's access to a repository. */
export async function deleteTeamRepository(
  tx: Transaction,
  teamId: TeamId,
  repositoryId: RepositoryId,
): Promise<void> {
  await teamRepositories.delete(tx, { teamId, repositoryId });
}

/** Revokes the access of all teams to a repository, because it gets another owner. */
export async function deleteTeamsOfRepository(
  tx: Transaction,
  repositoryId: RepositoryId,
): Promise<void> {
  await teamRepositories.delete(tx, { repositoryId });
}
