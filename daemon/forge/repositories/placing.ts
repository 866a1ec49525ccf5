import type { RepositoryFiles } from "../../../storage/git/repository-files.ts";
import type { Database } from "../../../storage/engine/database.ts";
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
import type { Enqueue } from "../../jobs/queue.ts";
import type { JobKind } from "../../jobs/job-kind.ts";
import type { Log } from "../../utilities/logging.ts";

/**
 * Brings the files to where the rows say they belong. The rows decide: a change commits first, and what is left to do
 * on disk is in them, so that a crash at any point is finished or undone by doing the rest later.
 */
export interface Placing {
  /** Moves a repository's files to their place. Whether they are there now; something else may lie there. */
  settle(repositoryId: number): Promise<boolean>;
  /** Does what is still to be done at a place, so that something new may be put there. */
  clear(path: string): Promise<void>;
  /** Adopting and deleting files without a record must not cross a move. */
  alone<T>(work: () => Promise<T>): Promise<T>;
  /** After a start: does what a crash left undone, but for throwing away. */
  recover(): Promise<void>;
  /** Everything that is left to do, including throwing away; `tidyJob` enqueues it. */
  readonly job: JobKind;
}

const TIDY = "forge.repositories.tidy";
const BATCH = 100;

/** Has the files tidied up after the transaction; jobs that wait are one. */
export async function enqueueTidy(enqueue: Enqueue, tx: Parameters<Enqueue>[0]): Promise<void> {
  await enqueue(tx, { kind: TIDY, payload: null, key: "all" });
}

/** Where the chore of a repository's HEAD is noted: no account can have such a folder. */
export const toHeadPath = (repositoryId: number): string => `.head/${repositoryId}`;

export interface PlacingDeps {
  readonly db: Database;
  readonly git: Git;
  readonly files: RepositoryFiles;
  readonly newId: () => string;
  readonly log: Log;
  /** No other process works in the folder: what is half-made there is of a process that is gone. */
  readonly isAlone: boolean;
}

export function createPlacing({ db, git, files, newId, log, isAlone }: PlacingDeps): Placing {
  // Renames are quick, so one at a time is enough; what takes long is done on folders that are out of the way.
  let last: Promise<unknown> = Promise.resolve();
  const alone = <T>(work: () => Promise<T>): Promise<T> => {
    const run = last.then(work, work);
    last = run.catch(() => undefined);
    return run;
  };

  return {
    settle: (repositoryId) => alone(() => settle(repositoryId)),
    clear: (path) => alone(() => clear(path)),
    alone,
    async recover() {
      await alone(moveAll);
      for (const chore of await listChores(db))
        await alone(() => perform(chore)).catch((error: unknown) =>
          log.warn({ err: error, chore: chore.kind }, "files cannot be tidied up yet"),
        );
      // What is in `.croft` now is of an earlier run: nobody makes anything before the daemon listens.
      if (isAlone) await files.sweepUnfinished((path) => isPathInUse(db, path));
    },
    job: {
      kind: TIDY,
      async run() {
        await alone(moveAll);
        for (const chore of await listChores(db)) await alone(() => perform(chore));
        await files.sweep();
      },
    },
  };

  async function settle(repositoryId: number): Promise<boolean> {
    const moving = await findMovingRepository(db, repositoryId);
    if (moving === undefined) return true;
    await clear(moving.target, moving.id);
    return move(moving);
  }

  async function move({ id, path, target }: MovingRepository): Promise<boolean> {
    const outcome = path === target ? "placed" : await files.place(path, target);
    // Moved already, by a run that did not come to note it.
    const isThere =
      outcome === "placed" || (outcome === "missing" && (await files.locate(target)) !== undefined);
    if (isThere) {
      // Deleted while its files were on the way: what was to be removed lies at the new place.
      if (!(await updateRepository(db, id, { path: target, needsMove: false })))
        await files.discard(target, newId());
      const [folder = ""] = path.split("/");
      if (!folder.startsWith(".")) await files.removeIfEmpty(folder);
    } else log.warn({ repository_id: id, outcome }, "a repository's files cannot be moved yet");
    return isThere;
  }

  async function clear(path: string, exceptId?: number): Promise<void> {
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
      for (const moving of batch) await settle(moving.id);
      const lastId = batch.at(-1)?.id;
      if (lastId === undefined) return;
      afterId = lastId;
    }
  }

  async function perform({ id, kind, path, target }: RepositoryChore): Promise<void> {
    if (kind === "head") await followHead(Number(path.slice(toHeadPath(0).length - 1)));
    else if (kind === "follow" && target !== undefined) await follow(path, target);
    else if (!path.includes("/")) await removeOwnerFolder(path);
    else await files.discard(path, newId());
    await deleteChore(db, id);
  }

  /** An owner's folder goes with what has no record, but never with a repository that belongs to somebody else today. */
  async function removeOwnerFolder(folder: string): Promise<void> {
    for (const path of await listPathsIn(db, folder)) {
      const id = await findRepositoryIdByPath(db, path);
      const moving = id === undefined ? undefined : await findMovingRepository(db, id);
      if (moving === undefined || moving.target === path || !(await move(moving)))
        throw new Error("a repository in the folder of a deleted owner cannot be moved");
    }
    await files.discard(folder, newId());
  }

  /** The row decides which branch HEAD names, so doing this twice or late does no harm. */
  async function followHead(repositoryId: number): Promise<void> {
    const repository = await findRepositoryById(db, repositoryId);
    const directory = repository && (await files.locate(repository.path));
    if (repository !== undefined && directory !== undefined)
      await writeHead(git, directory, repository.defaultBranch);
  }

  /** What has no record follows its owner to the new name, unless somebody else has the old one by now. */
  async function follow(folder: string, target: string): Promise<void> {
    if ((await findUserByName(db, folder)) !== undefined) return;
    for (const name of await files.listFolders(folder)) {
      const path = `${folder}/${name}`;
      if (!(await isPathInUse(db, path))) await files.place(path, `${target}/${name}`);
    }
    await files.removeIfEmpty(folder);
  }
}
