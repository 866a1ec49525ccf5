import type { Queries, Transaction } from "../../../engine/database.ts";

/** A repository whose files are not where they belong. Paths are relative to the folder of repositories. */
export interface MovingRepository {
  readonly id: number;
  readonly path: string;
  /** Where they belong: `{owner}/{name}.git` in lower case. */
  readonly target: string;
}

/** Work on files that a committed change has left to be done. */
export interface RepositoryChore {
  readonly id: number;
  /**
   * `remove`: the folder at `path` goes. `follow`: what lies in `path` moves into `target`. `head`: HEAD of the repository
   * whose id is `path` shall name its default branch.
   */
  readonly kind: "remove" | "follow" | "head";
  readonly path: string;
  readonly target: string | undefined;
}

/** The repositories whose files still have to be moved, by id after the given one. */
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

/** The same of one repository; undefined when its files are where they belong, or when it is gone. */
export async function findMovingRepository(
  db: Queries,
  id: number,
): Promise<MovingRepository | undefined> {
  return db.get<MovingRepository>(`${movingSelect} WHERE r.needs_move = 1 AND r.id = ?`, id);
}

/** The repository whose files lie at `path`, or are said to. */
export async function findRepositoryIdByPath(
  db: Queries,
  path: string,
): Promise<number | undefined> {
  const row = await db.get<{ id: number }>(
    "SELECT id FROM forge_repositories WHERE path = ?",
    path,
  );
  return row?.id;
}

/** The paths of repositories whose files lie in an owner's folder, whoever the owner is today. */
export async function listPathsIn(db: Queries, ownerFolder: string): Promise<string[]> {
  // "0" follows "/": all that begins with the folder's name and a slash.
  const rows = await db.all<{ path: string }>(
    "SELECT path FROM forge_repositories WHERE path >= ? AND path < ? ORDER BY path",
    `${ownerFolder}/`,
    `${ownerFolder}0`,
  );
  return rows.map((row) => row.path);
}

/** Whether any repository's files lie at this path. */
export async function isPathInUse(db: Queries, path: string): Promise<boolean> {
  return (await findRepositoryIdByPath(db, path)) !== undefined;
}

/** An owner has another name: the files of all its repositories have to move. */
export async function markForMove(tx: Transaction, ownerId: number): Promise<void> {
  await tx.run("UPDATE forge_repositories SET needs_move = 1 WHERE owner_id = ?", ownerId);
}

/** Notes work on files, to be done after the commit. Returns its id. */
export async function insertChore(
  tx: Transaction,
  chore: Omit<RepositoryChore, "id">,
): Promise<number> {
  const row = await tx.get<{ id: number }>(
    "INSERT INTO forge_repository_chores (kind, path, target) VALUES (?, ?, ?) RETURNING id",
    chore.kind,
    chore.path,
    chore.target ?? null,
  );
  if (row === undefined) throw new Error("an inserted chore came back as no row");
  return row.id;
}

/** What is left to be done, oldest first. */
export async function listChores(db: Queries): Promise<RepositoryChore[]> {
  const rows = await db.all<ChoreRow>(
    "SELECT id, kind, path, target FROM forge_repository_chores ORDER BY id",
  );
  return rows.map(toChore);
}

/** What is left to be done with these folders. */
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

export async function deleteChore(db: Queries, id: number): Promise<void> {
  await db.run("DELETE FROM forge_repository_chores WHERE id = ?", id);
}

const movingSelect =
  "SELECT r.id AS id, r.path AS path, u.lower_name || '/' || r.lower_name || '.git' AS target " +
  "FROM forge_repositories r JOIN forge_users u ON u.id = r.owner_id";

interface ChoreRow {
  id: number;
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
