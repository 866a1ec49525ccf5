import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import { readBranches, readSizeKib } from "../../../storage/git/refs.ts";
import {
  findRepositoryById,
  type ForgeRepository,
  listRepositoriesAfter,
  updateRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";

/** Looks after the files of all repositories. What fails with one does not keep the others waiting. */
export interface RepositoryCare {
  /** Has git look for damage. @throws Error that names the damaged repositories' ids */
  checkAll(signal: AbortSignal): Promise<void>;
  /** Packs loose objects and throws away what nothing has needed for two weeks. @throws Error as above */
  collectAll(signal: AbortSignal): Promise<void>;
  /** Has the records say how large repositories are and how many branches they have. @throws Error as above */
  countAll(signal: AbortSignal): Promise<void>;
}

export interface RepositoryCareDeps {
  readonly db: Database;
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
}

const BATCH = 100;
/** A text about failures names so many repositories. */
const NAMED_MAX = 20;

export function createRepositoryCare({ db, git, locate }: RepositoryCareDeps): RepositoryCare {
  return {
    checkAll: (signal) =>
      forEach(signal, "git found damage in", (directory) =>
        runGit(directory, ["fsck", "--full", "--no-dangling", "--no-progress"], signal),
      ),

    collectAll: (signal) =>
      forEach(signal, "git could not pack", async (directory, repository) => {
        await runGit(directory, ["gc", "--quiet", "--prune=2.weeks.ago"], signal);
        await count(directory, repository);
      }),

    countAll: (signal) => forEach(signal, "git could not count", count),
  };

  async function forEach(
    signal: AbortSignal,
    failure: string,
    work: (directory: string, repository: ForgeRepository) => Promise<void>,
  ): Promise<void> {
    const failed: unknown[] = [];
    const ids: number[] = [];
    let afterId = 0;
    for (;;) {
      const batch = await listRepositoriesAfter(db, afterId, BATCH);
      for (const repository of batch) {
        signal.throwIfAborted();
        try {
          await work(await locate(repository), repository);
        } catch (error) {
          // One that was deleted meanwhile is no failure.
          if ((await findRepositoryById(db, repository.id)) === undefined) continue;
          failed.push(error);
          ids.push(repository.id);
        }
      }
      const lastId = batch.at(-1)?.id;
      if (lastId === undefined) break;
      afterId = lastId;
    }
    if (ids.length === 0) return;
    const more = ids.length > NAMED_MAX ? `, and ${ids.length - NAMED_MAX} more` : "";
    throw new Error(`${failure} the repositories ${ids.slice(0, NAMED_MAX).join(", ")}${more}`, {
      cause: failed[0],
    });
  }

  async function count(directory: string, { id }: ForgeRepository): Promise<void> {
    const { branches } = await readBranches(git, directory);
    const sizeKib = await readSizeKib(git, directory);
    const facts = { sizeKib, branchCount: branches.length, isEmpty: branches.length === 0 };
    await db.transaction((tx) => updateRepository(tx, id, facts));
  }

  /** Runs git however long it takes, but not beyond the signal. @throws Error when it fails */
  async function runGit(
    directory: string,
    args: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const child = git.start(args, { directory });
    const stop = () => child.stop();
    signal.addEventListener("abort", stop, { once: true });
    child.stdout.resume();
    child.stdin.end();
    const { exitCode, stderr } = await child.ended;
    signal.removeEventListener("abort", stop);
    signal.throwIfAborted();
    if (exitCode !== 0) throw new Error(`git ${args[0]} ended with ${exitCode}: ${stderr}`);
  }
}
