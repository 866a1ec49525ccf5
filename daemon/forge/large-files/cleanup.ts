import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import { readSmallBlobs } from "../../../storage/git/small-blobs.ts";
import {
  findRepositoryById,
  type ForgeRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import {
  deleteLargeFile,
  listRepositoriesWithLargeFiles,
  listUnusedLargeFiles,
  touchLargeFiles,
} from "../../../storage/tables/forge/repositories/large-files.ts";
import type { CronTask } from "../../jobs/cron-task.ts";
import { forgeTasks } from "../tasks.ts";
import { parsePointer, POINTER_BYTES_MAX } from "./pointer.ts";

/** A client uploads files before it pushes the commits that name them, and may take days for both. */
const GRACE_MS = 7 * 24 * 3_600_000;
const BATCH = 500;

/**
 * Returns the task that removes large files which no commit has named for a week. The bytes go with the next sweep of the
 * object store, unless another repository has them.
 */
export function createLargeFileCleanup({
  db,
  git,
  locate,
  clock,
}: {
  readonly db: Database;
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
  readonly clock: () => number;
}): CronTask {
  return {
    ...forgeTasks.gc_lfs,
    async run(signal) {
      const before = clock() - GRACE_MS;
      const failures: unknown[] = [];
      for (const id of await listRepositoriesWithLargeFiles(db, before)) {
        signal.throwIfAborted();
        const repository = await findRepositoryById(db, id);
        if (repository === undefined) continue;
        try {
          await clean(repository, before, signal);
        } catch (error) {
          signal.throwIfAborted();
          // Ignores a repository that was deleted in the meantime.
          if ((await findRepositoryById(db, id)) !== undefined) failures.push(error);
        }
      }
      if (failures.length > 0)
        throw new Error(`the large files of ${failures.length} repositories could not be checked`, {
          cause: failures[0],
        });
    },
  };

  async function clean(
    repository: ForgeRepository,
    before: number,
    signal: AbortSignal,
  ): Promise<void> {
    const named = await readNamed(await locate(repository), signal);
    for (let after = ""; ;) {
      const page = { before, after, limit: BATCH };
      const files = await listUnusedLargeFiles(db, repository.id, page);
      const last = files.at(-1);
      if (last === undefined) return;
      const kept = files.filter(({ sha256 }) => named.has(sha256));
      // Spares the repository the next reading for as long as the grace.
      await db.transaction((tx) =>
        touchLargeFiles(
          tx,
          repository.id,
          kept.map(({ sha256 }) => sha256),
        ),
      );
      for (const file of files) if (!named.has(file.sha256)) await deleteLargeFile(db, file);
      after = last.sha256;
    }
  }

  /** Returns the names of the files that the commits of a repository point to. */
  async function readNamed(directory: string, signal: AbortSignal): Promise<ReadonlySet<string>> {
    const named = new Set<string>();
    const bytesMax = POINTER_BYTES_MAX;
    for await (const bytes of readSmallBlobs(git, { directory, bytesMax, signal })) {
      const pointer = parsePointer(bytes);
      if (pointer !== undefined) named.add(pointer.oid);
    }
    return named;
  }
}
