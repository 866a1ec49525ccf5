import type { Database, Queries } from "../../../storage/engine/database.ts";
import { GitError } from "../../../storage/git/git.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { refusing } from "../repositories/git-refusals.ts";

/** A repository is renamed by a person; git that finds no folder this many times gives up. */
const ATTEMPTS_MAX = 3;

/**
 * Runs `work`, which starts git at once in the folder of a repository. When a rename has moved the folder before git could
 * start, finds it again and repeats: no byte of output exists by then. A git that has started keeps its folder, wherever that
 * moves. Refuses with `AppError` as `refusing` does: `unavailable` when the folder keeps moving.
 */
export type RunInFolder = <T>(
  repository: ForgeRepository,
  work: (directory: string) => T | Promise<T>,
) => Promise<T>;

export function createRunInFolder({
  db,
  locate,
}: {
  readonly db: Database;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
}): RunInFolder {
  return (repository, work) =>
    refusing(() => followMoves(db, repository, async (current) => work(await locate(current))));
}

/**
 * Runs `read`, which finds the folder of a repository and starts git there, and repeats it with the current row when the folder
 * was moved in between. Errors of git stay as they are, for jobs that tell them apart or run again.
 * @throws GitError of the code `moved` when the folder keeps moving
 */
export async function followMoves<T>(
  db: Queries,
  repository: ForgeRepository,
  read: (repository: ForgeRepository) => Promise<T>,
): Promise<T> {
  let found = repository;
  for (let attempt = 1; ; attempt++) {
    try {
      return await read(found);
    } catch (error) {
      const hasMoved = error instanceof GitError && error.code === "moved";
      const current = hasMoved ? await findRepositoryById(db, repository.id) : undefined;
      if (current === undefined || attempt === ATTEMPTS_MAX) throw error;
      found = current;
    }
  }
}
