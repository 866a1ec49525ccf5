import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import { readBranches, readSizeKib, WIKI_FOLDER } from "../../../storage/git/refs.ts";
import {
  findRepositoryById,
  type ForgeRepository,
  listRepositoriesAfter,
  updateRepository,
} from "../../../storage/tables/forge/repositories/repositories.ts";
import { countRecordedPushes } from "../../../storage/tables/forge/repositories/pushes.ts";
import type { CronTask } from "../../jobs/cron-task.ts";
import { forgeTasks } from "../tasks.ts";
import type { RepositoryId } from "../../../storage/tables/forge/ids.ts";

export interface RepositoryTasksDeps {
  readonly db: Database;
  readonly git: Git;
  readonly locate: (repository: ForgeRepository) => Promise<string>;
}

const BATCH = 100;
/** Maximum number of repositories that an error message lists. */
const NAMED_MAX = 20;

/** Returns the scheduled tasks that maintain the files of all repositories. */
export function createRepositoryTasks(deps: RepositoryTasksDeps): readonly CronTask[] {
  const { checkAll, countAll, collectAll } = createMaintenance(deps);
  return [
    { ...forgeTasks.repo_health_check, run: checkAll },
    { ...forgeTasks.check_repo_stats, run: countAll },
    // Archives are streamed and never stored, so there are none to delete.
    { ...forgeTasks.archive_cleanup, run: () => Promise.resolve() },
    { ...forgeTasks.git_gc_repos, run: collectAll },
  ];
}

/** Work on the files of all repositories. A failure in one repository does not stop the others. */
function createMaintenance({ db, git, locate }: RepositoryTasksDeps) {
  return {
    /** Runs `git fsck`. @throws Error with the ids of damaged repositories */
    checkAll: (signal: AbortSignal): Promise<void> =>
      forEach(signal, "git found damage in", async (directory) => {
        for (const each of withWiki(directory))
          await runGit(each, ["fsck", "--full", "--no-dangling", "--no-progress"], signal);
      }),

    /**
     * Runs `git gc`: packs loose objects and prunes those unreachable for two weeks; then writes the commit-graph with
     * changed paths. @throws Error as above
     */
    collectAll: (signal: AbortSignal): Promise<void> =>
      forEach(signal, "git could not pack", async (directory, repository) => {
        for (const each of withWiki(directory)) await collect(each, signal);
        await count(directory, repository);
      }),

    /** Updates the recorded sizes and branch counts. @throws Error as above */
    countAll: (signal: AbortSignal): Promise<void> => forEach(signal, "git could not count", count),
  };

  async function collect(directory: string, signal: AbortSignal): Promise<void> {
    await runGit(directory, ["gc", "--quiet", "--prune=2.weeks.ago"], signal);
    // The changed paths of each commit let git find the last commit of a file without reading every tree.
    const graph = ["commit-graph", "write", "--reachable", "--changed-paths", "--no-progress"];
    await runGit(directory, graph, signal);
  }

  async function forEach(
    signal: AbortSignal,
    failure: string,
    work: (directory: string, repository: ForgeRepository) => Promise<void>,
  ): Promise<void> {
    const failed: unknown[] = [];
    const ids: RepositoryId[] = [];
    let afterId = 0;
    for (;;) {
      const batch = await listRepositoriesAfter(db, afterId, BATCH);
      for (const repository of batch) {
        signal.throwIfAborted();
        try {
          await work(await locate(repository), repository);
        } catch (error) {
          // Ignores a repository that was deleted in the meantime.
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
    const seen = await countRecordedPushes(db, id);
    const { branches } = await readBranches(git, directory);
    const sizeKib = await readSizeKib(git, directory);
    const changes = { sizeKib, branchCount: branches.length, isEmpty: branches.length === 0 };
    await db.transaction(async (tx) => {
      // A push that was recorded in the meantime has counted, after this.
      if ((await countRecordedPushes(tx, id)) === seen) await updateRepository(tx, id, changes);
    });
  }

  /** Runs git without a deadline until it ends or `signal` is aborted. @throws Error when it fails */
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

/** Returns the folder of a repository, and that of its wiki if it has one. */
function withWiki(directory: string): string[] {
  const wiki = join(directory, WIKI_FOLDER);
  return existsSync(wiki) ? [directory, wiki] : [directory];
}
