import type { Queries, Transaction } from "../../../engine/database.ts";
import { generated, id, optional, text } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { ChoreId, UserId, RepositoryId } from "../ids.ts";
import { repositories } from "./repositories.ts";

/** A repository whose files must move to `target`. Paths are relative to the folder of repositories. */
export interface MovingRepository {
  readonly id: RepositoryId;
  readonly path: string;
  /** `{owner}/{name}.git` in lower case. */
  readonly target: string;
}

const chores = defineTable("forge_repository_chores", {
  id: generated(id<ChoreId>()),
  /**
   * `remove` deletes the folder at `path`. `follow` moves the content of `path` into `target`. `head` points HEAD of the
   * repository whose id is `path` to its default branch.
   */
  kind: text<"remove" | "follow" | "head">(),
  path: text(),
  target: optional(text()),
});
/** Pending work on files after a committed change. */
export type RepositoryChore = RecordOf<typeof chores>;

/** Returns the repositories whose files must move, by id after the given one. */
export async function listMovingRepositories(
  db: Queries,
  { afterId, limit }: { readonly afterId: number; readonly limit: number },
): Promise<MovingRepository[]> {
  return db.all<MovingRepository>(
    `${movingSelect} WHERE r.needs_move = 1 AND r.id > ? ORDER BY r.id LIMIT ?`,
    afterId,
    limit,
  );
}

/** Returns the pending move of a repository; undefined without a pending move, or when the repository does not exist. */
export async function findMovingRepository(
  db: Queries,
  id: RepositoryId,
): Promise<MovingRepository | undefined> {
  return db.get<MovingRepository>(`${movingSelect} WHERE r.needs_move = 1 AND r.id = ?`, id);
}

/** Returns the id of the repository with this path. */
export async function findRepositoryIdByPath(
  db: Queries,
  path: string,
): Promise<RepositoryId | undefined> {
  const row = await db.get<{ id: RepositoryId }>(
    "SELECT id FROM forge_repositories WHERE path = ?",
    path,
  );
  return row?.id;
}

/** Returns the paths of repositories in an owner's folder, whichever owner they have now. */
export async function listPathsIn(db: Queries, ownerFolder: string): Promise<string[]> {
  // "0" follows "/", so the range has all paths that begin with the folder and a slash.
  const rows = await db.all<{ path: string }>(
    "SELECT path FROM forge_repositories WHERE path >= ? AND path < ? ORDER BY path",
    `${ownerFolder}/`,
    `${ownerFolder}0`,
  );
  return rows.map((row) => row.path);
}

/** Returns whether a repository has this path. */
export const isPathInUse = (db: Queries, path: string): Promise<boolean> =>
  repositories.exists(db, { path });

/** Marks all repositories of a renamed owner for a move. */
export async function markForMove(tx: Transaction, ownerId: UserId): Promise<void> {
  await repositories.update(tx, { ownerId }, { needsMove: true });
}

/** Records work on files that follows the commit, and returns its id. */
export async function insertChore(
  tx: Transaction,
  chore: Omit<RepositoryChore, "id">,
): Promise<ChoreId> {
  return (await chores.insert(tx, chore)).id;
}

/** Returns all pending work, oldest first. */
export const listChores = (db: Queries): Promise<RepositoryChore[]> =>
  chores.list(db, {}, { order: "id" });

/** Returns the pending work on these folders. */
export const listChoresAt = (db: Queries, path: readonly string[]): Promise<RepositoryChore[]> =>
  chores.list(db, { path }, { order: "id" });

export async function deleteChore(db: Queries, id: ChoreId): Promise<void> {
  await chores.delete(db, { id });
}

const movingSelect =
  "SELECT r.id AS id, r.path AS path, u.lower_name || '/' || r.lower_name || '.git' AS target " +
  "FROM forge_repositories r JOIN forge_users u ON u.id = r.owner_id";
