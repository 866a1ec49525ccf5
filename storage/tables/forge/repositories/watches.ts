import type { Queries } from "../../../engine/database.ts";
import { id, integer } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { UserId, RepositoryId } from "../ids.ts";

const watches = defineTable("forge_watches", {
  repositoryId: id<RepositoryId>(),
  userId: id<UserId>(),
  createdAt: integer(),
});

/** Adds a watch of a repository. Idempotent. */
export async function insertWatch(db: Queries, watch: RecordOf<typeof watches>): Promise<void> {
  await watches.upsert(db, watch, "ON CONFLICT (repository_id, user_id) DO NOTHING");
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
  const rows = await watches.list(db, { repositoryId }, { order: "user_id" });
  return rows.map(({ userId }) => userId);
}
