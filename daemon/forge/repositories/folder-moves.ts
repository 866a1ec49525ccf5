import type { RepositoryFiles } from "../../../storage/git/repository-files.ts";
import type { Database } from "../../../storage/engine/database.ts";
import { createSemaphore } from "../../../storage/locks.ts";
import type { Git } from "../../../storage/git/git.ts";
import { writeHead } from "../../../storage/git/refs.ts";
import {
  findRepositoryById,
  updateRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import {
  deleteChore,
  findMovingRepository,
  findRepositoryIdByPath,
  isPathInUse,
  listChores,
  listChoresAt,
  listMovingRepositories,
  listPathsIn,
  type MovingRepository,
  type RepositoryChore,
} from "../../../storage/tables/forge/repositories/moves.ts";
import { findUserByName } from "../../../storage/tables/forge/accounts/users.ts";
import { type RepositoryId, toRepositoryId } from "../../../storage/tables/forge/ids.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { JobKind } from "../../jobs/job-kind.ts";
import type { Log } from "../../utilities/logging.ts";

export type FolderMoves = ReturnType<typeof createFolderMoves>;

const KIND = "forge.repositories.tidy";
const BATCH = 100;

/** Enqueues the job in a transaction; waiting jobs are deduplicated. */
export async function enqueueCleanup(enqueue: Enqueue, tx: Parameters<Enqueue>[0]): Promise<void> {
  await enqueue(tx, { kind: KIND, payload: null, key: "all" });
}

/** The folder of the paths under which chores of HEADs are recorded; no account can have this name. */
const HEADS = ".head/";

/** Returns the path under which the chore of a repository's HEAD is recorded. */
export const toHeadPath = (repositoryId: RepositoryId): string => `${HEADS}${repositoryId}`;

export interface FolderMovesDeps {
  readonly db: Database;
  readonly git: Git;
  readonly files: RepositoryFiles;
  readonly newId: () => string;
  readonly log: Log;
  /** Whether no other process uses the folder, so that unfinished folders in it remain from a crash. */
  readonly isAlone: boolean;
}

/**
 * Moves the folders of repositories to the paths in their rows. A change is committed first and its rows record the
 * remaining work on disk, so recovery after a crash at any point completes that work. Every operation is idempotent.
 */
export function createFolderMoves({ db, git, files, newId, log, isAlone }: FolderMovesDeps) {
  // One lock is enough: renames are fast, and slow work uses folders that were moved aside.
  const withLock = createSemaphore({ permits: 1 });

  return {
    /** Moves the folder of a repository to its path. Returns false when another folder occupies the path. */
    complete: (repositoryId: RepositoryId): Promise<boolean> =>
      withLock(() => complete(repositoryId)),
    /** Runs `work` after the pending move of a repository, while no folder is being moved. */
    settled: <T>(repositoryId: RepositoryId, work: () => Promise<T>): Promise<T> =>
      withLock(async () => {
        await complete(repositoryId);
        return work();
      }),
    /** Completes pending work at a path, so that a new folder may be created there. */
    completeAt: (path: string): Promise<void> => withLock(() => completeAt(path)),
    /** Runs `work` while no folder is being moved. Adoption and deletion of folders without a row need it. */
    withLock,
    /** Completes at startup the moves that a crash interrupted, except for the slow deletion of discarded folders. */
    async recover(): Promise<void> {
      await withLock(moveAll);
      for (const chore of await listChores(db))
        await withLock(() => perform(chore)).catch((error: unknown) =>
          log.warn(
            { err: error, chore: chore.kind },
            "failed to complete a pending change of repository files, will retry",
          ),
        );
      // All of `.croft` belongs to an earlier run, because nothing is created before the daemon listens.
      if (isAlone) await files.sweepUnfinished((path) => isPathInUse(db, path));
    },
    /** Completes all pending work and deletes discarded folders. `enqueueCleanup` enqueues it. */
    job: {
      kind: KIND,
      async run() {
        await withLock(moveAll);
        for (const chore of await listChores(db)) await withLock(() => perform(chore));
        await files.sweep();
      },
    } satisfies JobKind,
  };

  async function complete(repositoryId: RepositoryId): Promise<boolean> {
    const moving = await findMovingRepository(db, repositoryId);
    if (moving === undefined) return true;
    await completeAt(moving.target, moving.id);
    return move(moving);
  }

  async function move({ id, path, target }: MovingRepository): Promise<boolean> {
    const outcome = path === target ? "placed" : await files.place(path, target);
    // An earlier run moved it and crashed before it updated the row.
    const isThere =
      outcome === "placed" || (outcome === "missing" && (await files.locate(target)) !== undefined);
    if (isThere) {
      // The repository was deleted during the move, so the files at the new path must be deleted.
      if (!(await updateRepository(db, id, { path: target, needsMove: false })))
        await files.discard(target, newId());
      const [folder = ""] = path.split("/");
      if (!folder.startsWith(".")) await files.removeIfEmpty(folder);
    } else
      log.warn(
        { repository_id: id, outcome },
        "failed to move the folder of a repository, will retry",
      );
    return isThere;
  }

  async function completeAt(path: string, exceptId?: RepositoryId): Promise<void> {
    const [ownerFolder = path] = path.split("/");
    for (const chore of await listChoresAt(db, [path, ownerFolder])) await perform(chore);
    const occupant = await findRepositoryIdByPath(db, path);
    const moving =
      occupant === undefined || occupant === exceptId
        ? undefined
        : await findMovingRepository(db, occupant);
    if (moving !== undefined && moving.target !== path) await move(moving);
  }

  async function moveAll(): Promise<void> {
    let afterId = 0;
    for (;;) {
      const batch = await listMovingRepositories(db, { afterId, limit: BATCH });
      for (const moving of batch) await complete(moving.id);
      const lastId = batch.at(-1)?.id;
      if (lastId === undefined) return;
      afterId = lastId;
    }
  }

  async function perform({ id, kind, path, target }: RepositoryChore): Promise<void> {
    if (kind === "head") await followHead(toRepositoryId(path.slice(HEADS.length)));
    else if (kind === "follow" && target !== undefined) await follow(path, target);
    else if (!path.includes("/")) await removeOwnerFolder(path);
    else await files.discard(path, newId());
    await deleteChore(db, id);
  }

  /** Removes the folder of a deleted owner, after moving repositories that now have another owner out of it. */
  async function removeOwnerFolder(folder: string): Promise<void> {
    for (const path of await listPathsIn(db, folder)) {
      const id = await findRepositoryIdByPath(db, path);
      const moving = id === undefined ? undefined : await findMovingRepository(db, id);
      if (moving === undefined || moving.target === path || !(await move(moving)))
        throw new Error("a repository in the folder of a deleted owner cannot be moved");
    }
    await files.discard(folder, newId());
  }

  /** Points HEAD to the default branch of the row, so a late or repeated run is harmless. */
  async function followHead(repositoryId: RepositoryId): Promise<void> {
    const repository = await findRepositoryById(db, repositoryId);
    const directory = repository && (await files.locate(repository.path));
    if (repository !== undefined && directory !== undefined)
      await writeHead(git, directory, repository.defaultBranch);
  }

  /** Moves folders without a row to the new name of their owner, unless another account now has the old name. */
  async function follow(folder: string, target: string): Promise<void> {
    if ((await findUserByName(db, folder)) !== undefined) return;
    for (const name of await files.listFolders(folder)) {
      const path = `${folder}/${name}`;
      if (!(await isPathInUse(db, path))) await files.place(path, `${target}/${name}`);
    }
    await files.removeIfEmpty(folder);
  }
}
