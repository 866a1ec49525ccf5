import type { Queries, Transaction } from "../../../engine/database.ts";
import type { ChoreId, UserId, RepositoryId } from "../ids.ts";

/** A repository whose files must move to `target`. Paths are relative to the folder of repositories. */
export interface MovingRepository {
  readonly id: RepositoryId;
  readonly path: string;
  /** `{owner}/{name}.git` in lower case. */
  readonly target: string;
}

/** Pending work on files after a committed change. */
export interface RepositoryChore {
  readonly id: ChoreId;
  /**
   * `remove` deletes the folder at `path`. `follow` moves the content of `path` into `target`. `head` points HEAD of the
   * repository whose id is `path` to its default branch.
   */
  readonly kind: "remove" | "follow" | "head";
  readonly path: string;
  readonly target: string | undefined;
}

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
export async function isPathInUse(db: Queries, path: string): Promise<boolean> {
  return (await findRepositoryIdByPath(db, path)) !== undefined;
}

/** Marks all repositories of a renamed owner for a move. */
export async function markForMove(tx: Transaction, ownerId: UserId): Promise<void> {
  await tx.run("UPDATE forge_repositories SET needs_move = 1 WHERE owner_id = ?", ownerId);
}

/** Records work on files that follows the commit, and returns its id. */
export async function insertChore(
  tx: Transaction,
  chore: Omit<RepositoryChore, "id">,
): Promise<ChoreId> {
  const row = await tx.get<{ id: ChoreId }>(
    "INSERT INTO forge_repository_chores (kind, path, target) VALUES (?, ?, ?) RETURNING id",
    chore.kind,
    chore.path,
    chore.target ?? null,
  );
  if (row === undefined) throw new Error("the statement for the chore returned no row");
  return row.id;
}

/** Returns all pending work, oldest first. */
export async function listChores(db: Queries): Promise<RepositoryChore[]> {
  const rows = await db.all<ChoreRow>(
    "SELECT id, kind, path, target FROM forge_repository_chores ORDER BY id",
  );
  return rows.map(toChore);
}

/** Returns the pending work on these folders. */
export async function listChoresAt(
  db: Queries,
  paths: readonly string[],
): Promise<RepositoryChore[]> {
  const rows = await db.all<ChoreRow>(
    `SELECT id, kind, path, target FROM forge_repository_chores WHERE path IN (${paths.map(() => "?").join(", ")}) ORDER BY id`,
    ...paths,
  );
  return rows.map(toChore);
}

export async function deleteChore(db: Queries, id: ChoreId): Promise<void> {
  await db.run("DELETE FROM forge_repository_chores WHERE id = ?", id);
}

const movingSelect =
  "SELECT r.id AS id, r.path AS path, u.lower_name || '/' || r.lower_name || '.git' AS target " +
  "FROM forge_repositories r JOIN forge_users u ON u.id = r.owner_id";

interface ChoreRow {
  id: ChoreId;
  kind: RepositoryChore["kind"];
  path: string;
  target: string | null;
}

function toChore(row: ChoreRow): RepositoryChore {
  return {
    id: row.id,
    kind: row.kind,
    path: row.path,
    target: row.target ?? undefined,
  };
}
