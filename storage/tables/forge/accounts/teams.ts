import type { Database, Queries, Transaction } from "../../../engine/database.ts";
import { all, sql, type SqlText } from "../../condition.ts";
import { toContains } from "../../contains.ts";
import { type RecordOf, type Window, defineTable } from "../../table.ts";
import type { UserId, TeamId, RepositoryId } from "../ids.ts";
import type { ForgeVisibility } from "./user-facets.ts";
import { type ForgeUser, users } from "./users.ts";
import { coded, flag, id, integer, text, unread } from "../../columns.ts";

const visibilities = ["public", "limited", "private"] as const;

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

const teams = defineTable("forge_teams", {
  id: id<TeamId>(),
  orgId: id<UserId>(),
  name: text(),
  lowerName: unread(text()),
  description: text(),
  access: integer(),
  includesAllRepositories: flag(),
  canCreateRepositories: flag(),
  visibility: coded(visibilities, "private"),
});

/** A team of an organization; `access` is 1 read, 2 write, 3 admin, 4 owner. */
export type ForgeTeam = RecordOf<typeof teams> & {
  /** Permissions by unit, 0 none, 1 read and 2 write, of a team whose access is below admin. A missing unit means no permission. */
  readonly units: ReadonlyMap<RepositoryUnit, number>;
};

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
  await teams.insert(tx, { ...team, id: next.id, lowerName: team.name.toLowerCase() });
  await replaceUnits(tx, next.id, team.units);
  return { ...team, id: next.id };
}

/** Writes every member of a team but its organization. Throws `conflict` when the organization has one of the same name. */
export async function updateTeam(tx: Transaction, team: ForgeTeam): Promise<void> {
  const { id, orgId, units, ...changes } = team;
  await teams.update(tx, { id, orgId }, { ...changes, lowerName: team.name.toLowerCase() });
  await replaceUnits(tx, id, units);
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
  await teams.delete(tx, { id });
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
  const team = await teams.find(db, { orgId, lowerName: name.toLowerCase() });
  return team && (await withUnits(db, [team]))[0];
}

/** Returns those of the teams that exist, by id. */
export async function listTeamsByIds(db: Queries, ids: readonly TeamId[]): Promise<ForgeTeam[]> {
  if (ids.length === 0) return [];
  return withUnits(db, await teams.list(db, { id: ids }, { order: "id" }));
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
  const from = sql`forge_teams t WHERE ${toCondition(filter, db.dialect)}`;
  const order = `CASE WHEN t.access = ${OWNER_ACCESS} THEN 0 ELSE 1 END, t.lower_name, t.id`;
  const { records, total } = await teams.as("t").page(db, from, { ...window, order });
  return { teams: await withUnits(db, records), total };
}

function toCondition(filter: TeamFilter, dialect: Database["dialect"]): SqlText {
  const { orgId, memberId, repositoryId, visibleTo, term } = filter;
  const conditions: SqlText[] = [];
  const isMember = (userId: UserId) =>
    sql`t.id IN (SELECT m.team_id FROM forge_team_members m WHERE m.user_id = ${userId})`;
  if (orgId !== undefined) conditions.push(sql`t.org_id = ${orgId}`);
  if (memberId !== undefined) conditions.push(isMember(memberId));
  if (filter.isPublicOnly === true)
    conditions.push(sql`t.org_id IN (SELECT u.id FROM forge_users u WHERE u.visibility = 0)`);
  if (repositoryId !== undefined)
    conditions.push(
      sql`(t.includes_all_repositories = 1 OR t.id IN
         (SELECT p.team_id FROM forge_team_repositories p WHERE p.repository_id = ${repositoryId}))`,
    );
  if (visibleTo !== undefined) {
    const codes = visibleTo.visibilities.map((word) => visibilities.indexOf(word));
    conditions.push(sql`(t.visibility IN (${codes}) OR ${isMember(visibleTo.memberId)})`);
  }
  if (term !== undefined && term !== "") {
    const name = toContains(dialect, "t.lower_name", term);
    conditions.push(
      filter.includesDescription === true
        ? sql`(${name} OR ${toContains(dialect, "t.description", term)})`
        : sql`(${name})`,
    );
  }
  return all(conditions);
}

/** Returns how many teams an organization has. */
export async function countTeams(db: Queries, orgId: UserId): Promise<number> {
  return teams.count(db, { orgId });
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

async function withUnits(
  db: Queries,
  records: readonly RecordOf<typeof teams>[],
): Promise<ForgeTeam[]> {
  if (records.length === 0) return [];
  const units = await db.all<{ team_id: TeamId; unit: RepositoryUnit; access: number }>(
    `SELECT team_id, unit, access FROM forge_team_units
     WHERE team_id IN (${records.map(() => "?").join(", ")}) ORDER BY unit`,
    ...records.map(({ id }) => id),
  );
  return records.map((team) => ({
    ...team,
    units: new Map(
      units.filter((unit) => unit.team_id === team.id).map(({ unit, access }) => [unit, access]),
    ),
  }));
}
