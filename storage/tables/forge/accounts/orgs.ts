import type { Queries, Transaction } from "../../../engine/database.ts";
import { type ForgeUser, toUser, toUserColumns, type UserRow } from "./users.ts";

/** Adds the team whose members own the organization, with its first member. */
export async function insertOwnersTeam(
  tx: Transaction,
  orgId: number,
  ownerId: number,
): Promise<void> {
  const team = await tx.get<{ id: number }>(
    `INSERT INTO forge_teams (org_id, name, lower_name, access, includes_all_repositories, can_create_repositories)
     VALUES (?, 'Owners', 'owners', ?, 1, 1) RETURNING id`,
    orgId,
    OWNER_ACCESS,
  );
  if (team === undefined) throw new Error("an inserted team came back as no row");
  await tx.run(
    "INSERT INTO forge_org_members (org_id, user_id, is_public) VALUES (?, ?, 0)",
    orgId,
    ownerId,
  );
  await tx.run(
    "INSERT INTO forge_team_members (team_id, user_id, org_id) VALUES (?, ?, ?)",
    team.id,
    ownerId,
    orgId,
  );
}

/** How many organizations a person is a member of. */
export async function countOrganizationsOf(db: Queries, userId: number): Promise<number> {
  const row = await db.get<{ total: number }>(
    "SELECT COUNT(*) AS total FROM forge_org_members WHERE user_id = ?",
    userId,
  );
  return row?.total ?? 0;
}

/** Returns a page of the organizations that a user is a member of, by name, and the count of all. */
export async function listOrganizationsOf(
  db: Queries,
  userId: number,
  window: { readonly limit: number; readonly offset: number; readonly isPublicOnly: boolean },
): Promise<{ readonly organizations: readonly ForgeUser[]; readonly total: number }> {
  const from = `FROM forge_org_members m JOIN forge_users u ON u.id = m.org_id
     WHERE m.user_id = ?${window.isPublicOnly ? " AND u.visibility = 0" : ""}`;
  const counted = await db.get<{ total: number }>(`SELECT COUNT(*) AS total ${from}`, userId);
  const rows = await db.all<UserRow>(
    `SELECT ${toUserColumns("u.")} ${from} ORDER BY u.lower_name LIMIT ? OFFSET ?`,
    userId,
    window.limit,
    window.offset,
  );
  return { organizations: rows.map(toUser), total: counted?.total ?? 0 };
}

/** The organizations that would have no owner without this person. */
export async function listOrganizationsOnlyOwnedBy(
  db: Queries,
  userId: number,
): Promise<ForgeUser[]> {
  const rows = await db.all<UserRow>(
    `SELECT ${toUserColumns("u.")} FROM forge_users u
     WHERE u.id IN (SELECT m.org_id FROM forge_team_members m JOIN forge_teams t ON t.id = m.team_id
                    WHERE m.user_id = ? AND t.access = ?)
       AND NOT EXISTS (SELECT 1 FROM forge_team_members m JOIN forge_teams t ON t.id = m.team_id
                       WHERE m.org_id = u.id AND t.access = ? AND m.user_id <> ?)
     ORDER BY u.id`,
    userId,
    OWNER_ACCESS,
    OWNER_ACCESS,
    userId,
  );
  return rows.map(toUser);
}

/** The ids of those who are in any team of an organization. */
export async function listTeamMembers(db: Queries, orgId: number): Promise<number[]> {
  const rows = await db.all<{ id: number }>(
    "SELECT DISTINCT user_id AS id FROM forge_team_members WHERE org_id = ? ORDER BY user_id",
    orgId,
  );
  return rows.map(({ id }) => id);
}

/** Whether a person belongs to an organization. */
export async function isMember(db: Queries, orgId: number, userId: number): Promise<boolean> {
  const row = await db.get(
    "SELECT 1 AS found FROM forge_org_members WHERE org_id = ? AND user_id = ?",
    orgId,
    userId,
  );
  return row !== undefined;
}

/** The strongest access that a person's teams give in an organization: 0 none, 1 read, 2 write, 3 admin, 4 owner. */
export async function getTeamAccess(db: Queries, orgId: number, userId: number): Promise<number> {
  const row = await db.get<{ access: number | null }>(
    `SELECT MAX(t.access) AS access FROM forge_team_members m JOIN forge_teams t ON t.id = m.team_id
     WHERE m.user_id = ? AND m.org_id = ?`,
    userId,
    orgId,
  );
  return row?.access ?? 0;
}

/** A team of an organization; `access` is 1 read, 2 write, 3 admin, 4 owner. */
export interface ForgeTeam {
  readonly id: number;
  readonly orgId: number;
  readonly name: string;
  readonly access: number;
  readonly includesAllRepositories: boolean;
  readonly canCreateRepositories: boolean;
}

/** Those of these teams that exist, by id. */
export async function listTeamsByIds(db: Queries, ids: readonly number[]): Promise<ForgeTeam[]> {
  if (ids.length === 0) return [];
  const rows = await db.all<{
    id: number;
    org_id: number;
    name: string;
    access: number;
    includes_all_repositories: number;
    can_create_repositories: number;
  }>(
    `SELECT id, org_id, name, access, includes_all_repositories, can_create_repositories FROM forge_teams
     WHERE id IN (${ids.map(() => "?").join(", ")}) ORDER BY id`,
    ...ids,
  );
  return rows.map((row) => ({
    id: row.id,
    orgId: row.org_id,
    name: row.name,
    access: row.access,
    includesAllRepositories: row.includes_all_repositories === 1,
    canCreateRepositories: row.can_create_repositories === 1,
  }));
}

/** The access of the team that owns an organization. */
export const OWNER_ACCESS = 4;
