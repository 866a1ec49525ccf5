import type { Queries, SqlValue } from "../../../engine/database.ts";
import { findRepositoriesByIds, type ForgeRepository } from "./repositories.ts";

/** Maximum number of owners whose index ranges are merged. */
const RANGES_MAX = 64;

/** Returns a page of the repositories that a user owns or reaches through a team, by name, and the total count. */
export async function listRepositoriesOfMember(
  db: Queries,
  userId: number,
  window: { readonly limit: number; readonly offset: number; readonly isPublicOnly: boolean },
): Promise<{ readonly repositories: readonly ForgeRepository[]; readonly total: number }> {
  const { isPublicOnly } = window;
  const owners = await db.all<{ id: number }>(
    `SELECT u.id FROM forge_users u
     WHERE (u.id = ? OR u.id IN (SELECT org_id FROM forge_team_members WHERE user_id = ?))` +
      (isPublicOnly ? " AND u.visibility = 0" : ""),
    userId,
    userId,
  );
  const ownerIds = owners.map(({ id }) => id);
  if (ownerIds.length === 0) return { repositories: [], total: 0 };
  const counted = await db.get<{ total: number }>(
    `SELECT CAST(COALESCE(SUM(repositories), 0) AS BIGINT) AS total FROM forge_repository_totals WHERE owner_id IN (${ownerIds.map(() => "?").join(", ")})` +
      (isPublicOnly ? " AND is_private = 0" : ""),
    ...ownerIds,
  );
  const total = counted?.total ?? 0;
  const limit = Math.min(window.limit, total - window.offset);
  if (limit <= 0) return { repositories: [], total };
  // Reads the second half of the list from its end, so that offsets stay small.
  const fromEnd = total - window.offset - limit;
  const isBackwards = fromEnd < window.offset;
  const offset = isBackwards ? fromEnd : window.offset;
  const page = toOwnedStatement(ownerIds, { isPublicOnly, isBackwards, limit, offset });
  const ids = (await db.all<{ id: number }>(page.sql, ...page.values)).map(({ id }) => id);
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
  ownerIds: readonly number[],
  page: {
    readonly isPublicOnly: boolean;
    readonly isBackwards: boolean;
    readonly limit: number;
    readonly offset: number;
  },
): { readonly sql: string; readonly values: readonly SqlValue[] } {
  const direction = page.isBackwards ? "DESC" : "ASC";
  const isPublic = page.isPublicOnly ? " AND is_private = 0" : "";
  const select = "SELECT id, lower_name FROM forge_repositories WHERE";
  const isMerged = ownerIds.length <= RANGES_MAX;
  const ranges = isMerged
    ? ownerIds.map(() => `${select} owner_id = ?${isPublic}`).join(" UNION ALL ")
    : `${select} owner_id IN (${ownerIds.map(() => "?").join(", ")})${isPublic}`;
  return {
    sql: `${ranges} ORDER BY lower_name ${direction}, id ${direction} LIMIT ? OFFSET ?`,
    values: [...ownerIds, page.limit, page.offset],
  };
}
