import type { Transaction } from "../../../storage/engine/database.ts";
import type { RepositoryId } from "../../../storage/tables/forge/ids.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import { AppError } from "../../errors.ts";

export interface WorkInFolderDeps {
  readonly find: (repositoryId: RepositoryId) => Promise<ForgeRepository | undefined>;
  /** Moves the folder to its path first: a new repository is still in its staging folder when its first job runs. */
  readonly complete: (repositoryId: RepositoryId) => Promise<boolean>;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
}

/** Maximum number of moves during one job. People rename repositories rarely; more moves fail the attempt. */
const ATTEMPTS_MAX = 3;

/**
 * Runs the work of a job in the folder of a repository. Runs it again when the folder was moved, because git cannot
 * start in a folder that no longer exists. Has no effect for a repository that is or gets deleted.
 */
export async function workInFolder(
  deps: WorkInFolderDeps,
  repositoryId: RepositoryId,
  work: (directory: string, repository: ForgeRepository) => Promise<void>,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    await deps.complete(repositoryId);
    const found = await findFolder(deps, repositoryId);
    if (found === undefined) return;
    try {
      return await work(found.directory, found.repository);
    } catch (error) {
      const now = await findFolder(deps, repositoryId);
      if (now === undefined) return;
      if (now.directory === found.directory || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}

async function findFolder({ find, locate }: WorkInFolderDeps, repositoryId: RepositoryId) {
  const repository = await find(repositoryId);
  if (repository === undefined) return undefined;
  try {
    return { repository, directory: await locate(repository) };
  } catch (error) {
    // Deleted while the work was running.
    if (error instanceof AppError && error.code === "not_found") return undefined;
    throw error;
  }
}

/** How long the first jobs of an adopted repository wait. */
const ADOPTED_WAIT_MS = 5_000;

/**
 * Returns when the first jobs of a repository run. Those of an adopted one wait: people adopt many folders at once, and the
 * processes of git of the jobs would take half of the processors from the adoptions that follow.
 */
export const toFirstRun = ({ now }: Pick<Transaction, "now">, isAdopted: boolean): number =>
  isAdopted ? now + ADOPTED_WAIT_MS : now;
