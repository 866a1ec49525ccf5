import type { Queries } from "../../../engine/database.ts";
import type { UserId, RepositoryId } from "../ids.ts";

/** Adds a watch of a repository. Idempotent. */
export async function insertWatch(
  db: Queries,
  watch: {
    readonly repositoryId: RepositoryId;
    readonly userId: UserId;
    readonly createdAt: number;
  },
): Promise<void> {
  await db.run(
    "INSERT INTO forge_watches (repository_id, user_id, created_at) VALUES (?, ?, ?) ON CONFLICT (repository_id, user_id) DO NOTHING",
    watch.repositoryId,
    watch.userId,
    watch.createdAt,
  );
}

/** Returns the numbers of watchers by repository, without repositories that have no watcher. */
export async function countWatchers(
  db: Queries,
  repositoryIds: readonly RepositoryId[],
): Promise<ReadonlyMap<RepositoryId, number>> {
  if (repositoryIds.length === 0) return new Map();
  const rows = await db.all<{ id: RepositoryId; watchers: number }>(
    `SELECT repository_id AS id, COUNT(*) AS watchers FROM forge_watches
     WHERE repository_id IN (${repositoryIds.map(() => "?").join(", ")}) GROUP BY repository_id`,
    ...repositoryIds,
  );
  return new Map(rows.map(({ id, watchers }) => [id, watchers]));
}

/** Returns the ids of a repository's watchers. */
export async function listWatchers(db: Queries, repositoryId: RepositoryId): Promise<UserId[]> {
  const rows = await db.all<{ id: UserId }>(
    "SELECT user_id AS id FROM forge_watches WHERE repository_id = ? ORDER BY user_id",
    repositoryId,
  );
  return rows.map(({ id }) => id);
}
