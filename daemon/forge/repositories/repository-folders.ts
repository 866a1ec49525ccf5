import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { AppError } from "../../errors.ts";
import type { JobQueue } from "../../jobs/queue.ts";
import { createFolderMoves, enqueueCleanup, type FolderMovesDeps } from "./folder-moves.ts";

export type RepositoryFolders = ReturnType<typeof createRepositoryFolders>;

/** The folders on disk that belong to the repositories' rows. */
export function createRepositoryFolders(
  deps: FolderMovesDeps & { readonly jobs: Pick<JobQueue, "enqueue" | "register"> },
) {
  const { db, files, jobs } = deps;
  const moves = createFolderMoves(deps);
  jobs.register(moves.job);
  const sweepSoon = () => db.transaction((tx) => enqueueCleanup(jobs.enqueue, tx));
  return {
    moves,
    /** Enqueues the job that completes moves and deletions. */
    sweepSoon,

    /**
     * Returns the absolute folder of a repository's files. Completes a pending move first, because a job that the
     * transaction of a creation or a rename enqueued runs at the same time as the move. Run git in the folder at once,
     * because it may be moved later. Refuses with `not_found` when the repository or its files are missing.
     */
    async locate(repository: ForgeRepository): Promise<string> {
      const found = repository.needsMove ? undefined : await files.locate(repository.path);
      if (found !== undefined) return found;
      const moved = await moves.settled(repository.id, async () => {
        const current = await findRepositoryById(db, repository.id);
        return current && files.locate(current.path);
      });
      if (moved === undefined)
        throw new AppError("not_found", "the repository's files are missing");
      return moved;
    },

    /** Completes or undoes operations that a crash interrupted. Call it before the daemon listens. */
    async recover(): Promise<void> {
      await moves.recover();
      await sweepSoon();
    },
  };
}
