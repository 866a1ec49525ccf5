import type { Queries, SqlValue } from "../../../engine/database.ts";
import { TEAM_HAS_ACCESS } from "../accounts/team-access.ts";
import { type UserId, type RepositoryId, toUserId } from "../ids.ts";
import { findRepositoriesByIds, type ForgeRepository } from "./repositories.ts";

/** Maximum number of owners whose index ranges are merged. */
const RANGES_MAX = 64;
const NO_OWNER = toUserId(0);

/**
 * Returns a page of the repositories that a user owns or reaches as a collaborator or through a team, by name, and the
 * count of all.
 */
export async function listRepositoriesOfMember(
  db: Queries,
  userId: UserId,
  window: { readonly limit: number; readonly offset: number; readonly isPublicOnly: boolean },
): Promise<{ readonly repositories: readonly ForgeRepository[]; readonly total: number }> {
  const { isPublicOnly } = window;
  const owners = await db.all<{ id: UserId }>(
    `SELECT u.id FROM forge_users u
     WHERE (u.id = ? OR u.id IN (SELECT m.org_id FROM forge_team_members m JOIN forge_teams t ON t.id = m.team_id
                                      WHERE m.user_id = ? AND t.includes_all_repositories = 1 AND ${TEAM_HAS_ACCESS}))` +
      (isPublicOnly ? " AND u.visibility = 0" : ""),
    userId,
    userId,
  );
  // An id that no owner has keeps the lists of placeholders from being empty, which PostgreSQL refuses.
  const ownerIds = owners.length === 0 ? [NO_OWNER] : owners.map(({ id }) => id);
  const shared = await listShared(db, userId, isPublicOnly);
  const sharedIds = shared.filter(({ ownerId }) => !ownerIds.includes(ownerId)).map(({ id }) => id);
  const counted = await db.get<{ total: number }>(
    `SELECT CAST(COALESCE(SUM(repositories), 0) AS BIGINT) AS total FROM forge_repository_totals WHERE owner_id IN (${ownerIds.map(() => "?").join(", ")})` +
      (isPublicOnly ? " AND is_private = 0" : ""),
    ...ownerIds,
  );
  const total = (counted?.total ?? 0) + sharedIds.length;
  const limit = Math.min(window.limit, total - window.offset);
  if (limit <= 0) return { repositories: [], total };
  // Reads the second half of the list from its end, so that offsets stay small.
  const fromEnd = total - window.offset - limit;
  const isBackwards = fromEnd < window.offset;
  const offset = isBackwards ? fromEnd : window.offset;
  const page = toOwnedStatement(ownerIds, { isPublicOnly, sharedIds, isBackwards, limit, offset });
  const ids = (await db.all<{ id: RepositoryId }>(page.sql, ...page.values)).map(({ id }) => id);
  const found = new Map(
    (await findRepositoriesByIds(db, ids)).map((repository) => [repository.id, repository]),
  );
  const ordered = isBackwards ? ids.toReversed() : ids;
  return { repositories: ordered.flatMap((id) => found.get(id) ?? []), total };
}

/**
 * Returns the statement for the ids of a page, in order: one ordered index range for each owner, merged without a sort.
 * Exported for the test of its query plan.
 */
export function toOwnedStatement(
  ownerIds: readonly UserId[],
  page: {
    readonly isPublicOnly: boolean;
    /** Additional repositories of other owners. */
    readonly sharedIds?: readonly RepositoryId[];
    readonly isBackwards: boolean;
    readonly limit: number;
    readonly offset: number;
  },
): { readonly sql: string; readonly values: readonly SqlValue[] } {
  const direction = page.isBackwards ? "DESC" : "ASC";
  const isPublic = page.isPublicOnly ? " AND is_private = 0" : "";
  const select = "SELECT id, lower_name FROM forge_repositories WHERE";
  const { sharedIds = [] } = page;
  const placeholders = (ids: readonly number[]) => ids.map(() => "?").join(", ");
  const isMerged = ownerIds.length <= RANGES_MAX;
  const ranges = isMerged
    ? ownerIds.map(() => `${select} owner_id = ?${isPublic}`)
    : [`${select} owner_id IN (${placeholders(ownerIds)})${isPublic}`];
  const shared = sharedIds.length === 0 ? [] : [`${select} id IN (${placeholders(sharedIds)})`];
  return {
    sql: `${[...ranges, ...shared].join(" UNION ALL ")} ORDER BY lower_name ${direction}, id ${direction} LIMIT ? OFFSET ?`,
    values: [...ownerIds, ...sharedIds, page.limit, page.offset],
  };
}

/** More repositories of other owners than this are not listed for a collaborator or the member of a team. */
const SHARED_MAX = 10_000;

async function listShared(
  db: Queries,
  userId: UserId,
  isPublicOnly: boolean,
): Promise<readonly { readonly id: RepositoryId; readonly ownerId: UserId }[]> {
  const rows = await db.all<{ id: RepositoryId; owner_id: UserId }>(
    `SELECT r.id AS id, r.owner_id AS owner_id FROM forge_repositories r JOIN forge_users u ON u.id = r.owner_id
     WHERE r.id IN (SELECT c.repository_id FROM forge_collaborators c WHERE c.user_id = ?
                    UNION SELECT p.repository_id FROM forge_team_repositories p
                      JOIN forge_team_members m ON m.team_id = p.team_id
                      JOIN forge_teams t ON t.id = p.team_id WHERE m.user_id = ? AND ${TEAM_HAS_ACCESS})
       ${isPublicOnly ? "AND r.is_private = 0 AND u.visibility = 0" : ""}
     ORDER BY r.id LIMIT ?`,
    userId,
    userId,
    SHARED_MAX,
  );
  return rows.map((row) => ({ id: row.id, ownerId: row.owner_id }));
}
