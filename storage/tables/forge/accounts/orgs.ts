import type { Queries, Transaction } from "../../../engine/database.ts";
import { all, raw, sql } from "../../condition.ts";
import type { Reader } from "../repositories/readable.ts";
import { toVisible } from "./follows.ts";
import { insertTeam, insertTeamMember, OWNER_ACCESS } from "./teams.ts";
import { type ForgeUser, users } from "./users.ts";
import type { UserId } from "../ids.ts";
import { flag, id } from "../../columns.ts";
import { defineTable } from "../../table.ts";

const memberships = defineTable("forge_org_members", {
  orgId: id<UserId>(),
  userId: id<UserId>(),
  isPublic: flag(),
});

/** An id that no user has. */
const NO_USER = 0;

/** Adds the owners' team of an organization, with its first member. */
export async function insertOwnersTeam(
  tx: Transaction,
  orgId: UserId,
  ownerId: UserId,
): Promise<void> {
  const team = await insertTeam(tx, {
    orgId,
    name: "Owners",
    description: "",
    access: OWNER_ACCESS,
    includesAllRepositories: true,
    canCreateRepositories: true,
    visibility: "private",
    units: new Map(),
  });
  await insertTeamMember(tx, team, ownerId);
}

/** Returns the number of organizations that a user is a member of. */
export async function countOrganizationsOf(db: Queries, userId: UserId): Promise<number> {
  return memberships.count(db, { userId });
}

/**
 * Returns a page of the organizations that a user is a member of, by name, and the count of all.
 * @param window.shownTo lists only memberships that this viewer may see: public ones, and hidden ones in common
 *   organizations; `null` is an anonymous viewer
 */
export async function listOrganizationsOf(
  db: Queries,
  userId: UserId,
  window: {
    readonly limit: number;
    readonly offset: number;
    readonly isPublicOnly: boolean;
    readonly shownTo?: number | null;
  },
): Promise<{ readonly organizations: readonly ForgeUser[]; readonly total: number }> {
  const { shownTo } = window;
  const visibilities = raw(shownTo === null ? "0" : "0, 1");
  const conditions = [sql`m.user_id = ${userId}`];
  if (window.isPublicOnly) conditions.push(sql`u.visibility = 0`);
  if (shownTo !== undefined)
    conditions.push(
      sql`((m.is_public = 1 AND u.visibility IN (${visibilities}))
           OR m.org_id IN (SELECT c.org_id FROM forge_org_members c WHERE c.user_id = ${shownTo ?? NO_USER}))`,
    );
  const from = sql`forge_org_members m JOIN forge_users u ON u.id = m.org_id WHERE ${all(conditions)}`;
  const { records, total } = await users
    .as("u")
    .page(db, from, { ...window, order: "u.lower_name" });
  return { organizations: records, total };
}

/** Returns the organizations that would have no owner without this person. */
export async function listOrganizationsOnlyOwnedBy(
  db: Queries,
  userId: UserId,
): Promise<ForgeUser[]> {
  return users.readAll(
    db,
    `SELECT ${users.as("u").columns} FROM forge_users u
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
}

/** Returns whether a person belongs to an organization. */
export async function isMember(db: Queries, orgId: UserId, userId: UserId): Promise<boolean> {
  return memberships.exists(db, { orgId, userId });
}

/** Returns whether a user is in the team that owns an organization. */
export async function isOwner(db: Queries, orgId: UserId, userId: UserId): Promise<boolean> {
  const row = await db.get(
    `SELECT 1 AS found FROM forge_team_members m JOIN forge_teams t ON t.id = m.team_id
     WHERE m.org_id = ? AND m.user_id = ? AND t.access = ?`,
    orgId,
    userId,
    OWNER_ACCESS,
  );
  return row !== undefined;
}

/** Returns whether a user owns an organization that has no other owner. */
export async function isOnlyOwner(db: Queries, orgId: UserId, userId: UserId): Promise<boolean> {
  const rows = await db.all<{ id: UserId }>(
    `SELECT DISTINCT m.user_id AS id FROM forge_team_members m JOIN forge_teams t ON t.id = m.team_id
     WHERE m.org_id = ? AND t.access = ? LIMIT 2`,
    orgId,
    OWNER_ACCESS,
  );
  return rows.length === 1 && rows[0]?.id === userId;
}

/**
 * Returns a page of an organization's members by name, and the count of all.
 * @param window.shownTo only the members who show that they are, and whom this reader may see
 */
export async function listMembers(
  db: Queries,
  orgId: UserId,
  window: {
    readonly limit: number;
    readonly offset: number;
    readonly shownTo?: { readonly reader: Reader };
  },
): Promise<{ readonly users: readonly ForgeUser[]; readonly total: number }> {
  const visible =
    window.shownTo === undefined
      ? sql``
      : sql` AND m.is_public = 1 AND (${toVisible(window.shownTo.reader)})`;
  const from = sql`forge_org_members m JOIN forge_users u ON u.id = m.user_id
    WHERE m.org_id = ${orgId}${visible}`;
  const { records, total } = await users
    .as("u")
    .page(db, from, { ...window, order: "u.lower_name" });
  return { users: records, total };
}

export async function isPublicMember(db: Queries, orgId: UserId, userId: UserId): Promise<boolean> {
  return memberships.exists(db, { orgId, userId, isPublic: true });
}

/** Shows or hides a membership. */
export async function updateMembership(
  db: Queries,
  orgId: UserId,
  userId: UserId,
  isPublic: boolean,
): Promise<void> {
  await memberships.update(db, { orgId, userId }, { isPublic });
}

/** Removes a user from an organization and all of its teams. */
export async function deleteMembership(
  tx: Transaction,
  orgId: UserId,
  userId: UserId,
): Promise<void> {
  await tx.run("DELETE FROM forge_team_members WHERE org_id = ? AND user_id = ?", orgId, userId);
  await memberships.delete(tx, { orgId, userId });
}

/** Returns whether a user is in any team of an organization. */
export async function hasTeam(db: Queries, orgId: UserId, userId: UserId): Promise<boolean> {
  const row = await db.get(
    "SELECT 1 AS found FROM forge_team_members WHERE org_id = ? AND user_id = ? LIMIT 1",
    orgId,
    userId,
  );
  return row !== undefined;
}
