import type { Database, Queries, SqlValue, Transaction } from "../../../engine/database.ts";
import { sql } from "../../condition.ts";
import { toContains } from "../../contains.ts";
import { type Window, defineTable } from "../../table.ts";
import type { UserId, TeamId, RepositoryId } from "../ids.ts";
import type { ForgeVisibility } from "./user-facets.ts";
import { type ForgeUser, users } from "./users.ts";
import { id } from "../../columns.ts";

const teamMembers = defineTable("forge_team_members", {
  teamId: id<TeamId>(),
  userId: id<UserId>(),
  orgId: id<UserId>(),
});

/** The parts of a repository that a team may have different permissions on. */
export const repositoryUnits = [
  "repo.code",
  "repo.issues",
  "repo.ext_issues",
  "repo.pulls",
  "repo.releases",
  "repo.wiki",
  "repo.ext_wiki",
  "repo.projects",
  "repo.packages",
  "repo.actions",
] as const;
export type RepositoryUnit = (typeof repositoryUnits)[number];

/** A team of an organization; `access` is 1 read, 2 write, 3 admin, 4 owner. */
export interface ForgeTeam {
  readonly id: TeamId;
  readonly orgId: UserId;
  readonly name: string;
  readonly description: string;
  readonly access: number;
  readonly includesAllRepositories: boolean;
  readonly canCreateRepositories: boolean;
  readonly visibility: ForgeVisibility;
  /** Permissions by unit, 0 none, 1 read and 2 write, of a team whose access is below admin. A missing unit means no permission. */
  readonly units: ReadonlyMap<RepositoryUnit, number>;
}

/** The access of the team that owns an organization. */
export const OWNER_ACCESS = 4;
/** The access of a team that administers its repositories. From here on, units do not limit a team. */
export const ADMIN_ACCESS = 3;

/** Adds a team. Throws `conflict` when the organization has one of the same name. */
export async function insertTeam(tx: Transaction, team: Omit<ForgeTeam, "id">): Promise<ForgeTeam> {
  const next = await tx.get<{ id: TeamId }>(
    "UPDATE forge_people_state SET last_team_id = last_team_id + 1 WHERE id = 1 RETURNING last_team_id AS id",
  );
  if (next === undefined) throw new Error("the row of the last ids is missing");
  await tx.run(
    `INSERT INTO forge_teams
       (id, org_id, name, lower_name, description, access, includes_all_repositories, can_create_repositories, visibility)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    next.id,
    team.orgId,
    ...toValues(team),
  );
  await replaceUnits(tx, next.id, team.units);
  return { ...team, id: next.id };
}

/** Writes every member of a team but its organization. Throws `conflict` when the organization has one of the same name. */
export async function updateTeam(tx: Transaction, team: ForgeTeam): Promise<void> {
  await tx.run(
    `UPDATE forge_teams SET name = ?, lower_name = ?, description = ?, access = ?, includes_all_repositories = ?,
       can_create_repositories = ?, visibility = ? WHERE id = ?`,
    ...toValues(team),
    team.id,
  );
  await replaceUnits(tx, team.id, team.units);
}

function toValues(team: Omit<ForgeTeam, "id">): SqlValue[] {
  return [
    team.name,
    team.name.toLowerCase(),
    team.description,
    team.access,
    Number(team.includesAllRepositories),
    Number(team.canCreateRepositories),
    visibilities.indexOf(team.visibility),
  ];
}

async function replaceUnits(
  tx: Transaction,
  teamId: TeamId,
  units: ForgeTeam["units"],
): Promise<void> {
  await tx.run("DELETE FROM forge_team_units WHERE team_id = ?", teamId);
  for (const [unit, access] of units)
    await tx.run(
      "INSERT INTO forge_team_units (team_id, unit, access) VALUES (?, ?, ?)",
      teamId,
      unit,
      access,
    );
}

/** Removes a team with its memberships, units and repositories. */
export async function deleteTeam(tx: Transaction, id: TeamId): Promise<void> {
  await tx.run("DELETE FROM forge_teams WHERE id = ?", id);
}

export async function findTeam(db: Queries, id: TeamId): Promise<ForgeTeam | undefined> {
  return (await listTeamsByIds(db, [id]))[0];
}

/** Finds a team by its name in an organization; case is ignored. */
export async function findTeamByName(
  db: Queries,
  orgId: UserId,
  name: string,
): Promise<ForgeTeam | undefined> {
  const row = await db.get<TeamRow>(
    `SELECT ${teamColumns} FROM forge_teams t WHERE t.org_id = ? AND t.lower_name = ?`,
    orgId,
    name.toLowerCase(),
  );
  return row && (await toTeams(db, [row]))[0];
}

/** Returns those of the teams that exist, by id. */
export async function listTeamsByIds(db: Queries, ids: readonly TeamId[]): Promise<ForgeTeam[]> {
  if (ids.length === 0) return [];
  const rows = await db.all<TeamRow>(
    `SELECT ${teamColumns} FROM forge_teams t WHERE t.id IN (${ids.map(() => "?").join(", ")}) ORDER BY t.id`,
    ...ids,
  );
  return toTeams(db, rows);
}

/** Conditions of a list of teams; an absent one matches every team. */
export interface TeamFilter {
  readonly orgId?: UserId;
  readonly memberId?: UserId;
  readonly repositoryId?: RepositoryId;
  /** Only teams of public organizations. */
  readonly isPublicOnly?: boolean;
  /** Only teams of these visibilities, and those of a member. */
  readonly visibleTo?: {
    readonly memberId: UserId;
    readonly visibilities: readonly ForgeVisibility[];
  };
  /** Part of the name or, with `includesDescription`, of the description; case is ignored. */
  readonly term?: string;
  readonly includesDescription?: boolean;
}

/** Returns a page of teams, an organization's owners first, then by name, and the count of all. */
export async function listTeams(
  db: Queries & Pick<Database, "dialect">,
  filter: TeamFilter,
  window: { readonly limit: number; readonly offset: number },
): Promise<{ readonly teams: readonly ForgeTeam[]; readonly total: number }> {
  const { where, values } = toCondition(filter, db.dialect);
  const counted = await db.get<{ total: number }>(
    `SELECT COUNT(*) AS total FROM forge_teams t WHERE ${where}`,
    ...values,
  );
  const rows = await db.all<TeamRow>(
    `SELECT ${teamColumns} FROM forge_teams t WHERE ${where}
     ORDER BY CASE WHEN t.access = ${OWNER_ACCESS} THEN 0 ELSE 1 END, t.lower_name, t.id LIMIT ? OFFSET ?`,
    ...values,
    window.limit,
    window.offset,
  );
  return { teams: await toTeams(db, rows), total: counted?.total ?? 0 };
}

function toCondition(
  filter: TeamFilter,
  dialect: Database["dialect"],
): { where: string; values: SqlValue[] } {
  const conditions = ["1 = 1"];
  const values: SqlValue[] = [];
  const add = (condition: string, ...more: SqlValue[]) => {
    conditions.push(condition);
    values.push(...more);
  };
  const { orgId, memberId, repositoryId, visibleTo } = filter;
  const isMember = "t.id IN (SELECT m.team_id FROM forge_team_members m WHERE m.user_id = ?)";
  if (orgId !== undefined) add("t.org_id = ?", orgId);
  if (memberId !== undefined) add(isMember, memberId);
  if (filter.isPublicOnly === true)
    add("t.org_id IN (SELECT u.id FROM forge_users u WHERE u.visibility = 0)");
  if (repositoryId !== undefined)
    add(
      `(t.includes_all_repositories = 1 OR t.id IN
         (SELECT p.team_id FROM forge_team_repositories p WHERE p.repository_id = ?))`,
      repositoryId,
    );
  if (visibleTo !== undefined) {
    const words = visibleTo.visibilities.map((word) => visibilities.indexOf(word));
    add(
      `(${words.length === 0 ? "1 = 0" : `t.visibility IN (${words.join(", ")})`} OR ${isMember})`,
      visibleTo.memberId,
    );
  }
  if (filter.term !== undefined && filter.term !== "") {
    const { term } = filter;
    const columns = [
      "t.lower_name",
      ...(filter.includesDescription === true ? ["t.description"] : []),
    ];
    const contains = columns.map((column) => toContains(dialect, column, term));
    add(
      `(${contains.map(({ sql }) => sql).join(" OR ")})`,
      ...contains.flatMap((each) => each.values),
    );
  }
  return { where: conditions.join(" AND "), values };
}

/** Returns how many teams an organization has. */
export async function countTeams(db: Queries, orgId: UserId): Promise<number> {
  const row = await db.get<{ total: number }>(
    "SELECT COUNT(*) AS total FROM forge_teams WHERE org_id = ?",
    orgId,
  );
  return row?.total ?? 0;
}

/** Adds a member to a team and its organization. Idempotent. */
export async function insertTeamMember(
  tx: Transaction,
  team: Pick<ForgeTeam, "id" | "orgId">,
  userId: UserId,
): Promise<void> {
  await teamMembers.upsert(
    tx,
    { teamId: team.id, userId, orgId: team.orgId },
    "ON CONFLICT (team_id, user_id) DO NOTHING",
  );
  await tx.run(
    "INSERT INTO forge_org_members (org_id, user_id, is_public) VALUES (?, ?, 0) ON CONFLICT (org_id, user_id) DO NOTHING",
    team.orgId,
    userId,
  );
}

/** Removes a member from a team. Returns whether the user was one. */
export async function deleteTeamMember(
  tx: Transaction,
  teamId: TeamId,
  userId: UserId,
): Promise<boolean> {
  return (await teamMembers.delete(tx, { teamId, userId })) > 0;
}

export async function isTeamMember(db: Queries, teamId: TeamId, userId: UserId): Promise<boolean> {
  return teamMembers.exists(db, { teamId, userId });
}

/** Returns a page of a team's members by name, and the count of all. */
export async function listMembersOfTeam(
  db: Queries,
  teamId: TeamId,
  window: Window,
): Promise<{ readonly users: readonly ForgeUser[]; readonly total: number }> {
  const from = sql`forge_team_members m JOIN forge_users u ON u.id = m.user_id WHERE m.team_id = ${teamId}`;
  const { records, total } = await users
    .as("u")
    .page(db, from, { ...window, order: "u.lower_name" });
  return { users: records, total };
}

interface TeamRow {
  id: TeamId;
  org_id: UserId;
  name: string;
  description: string;
  access: number;
  includes_all_repositories: number;
  can_create_repositories: number;
  visibility: number;
}

const teamColumns =
  "t.id, t.org_id, t.name, t.description, t.access, t.includes_all_repositories, t.can_create_repositories, t.visibility";
const visibilities = ["public", "limited", "private"] as const;

async function toTeams(db: Queries, rows: readonly TeamRow[]): Promise<ForgeTeam[]> {
  if (rows.length === 0) return [];
  const units = await db.all<{ team_id: TeamId; unit: RepositoryUnit; access: number }>(
    `SELECT team_id, unit, access FROM forge_team_units
     WHERE team_id IN (${rows.map(() => "?").join(", ")}) ORDER BY unit`,
    ...rows.map(({ id }) => id),
  );
  return rows.map((row) => ({
    id: row.id,
    orgId: row.org_id,
    name: row.name,
    description: row.description,
    access: row.access,
    includesAllRepositories: row.includes_all_repositories === 1,
    canCreateRepositories: row.can_create_repositories === 1,
    visibility: visibilities[row.visibility] ?? "private",
    units: new Map(
      units.filter((unit) => unit.team_id === row.id).map(({ unit, access }) => [unit, access]),
    ),
  }));
}
