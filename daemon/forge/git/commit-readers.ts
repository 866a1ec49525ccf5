import { findMergeBase, readChangedPaths } from "../../../storage/git/changed-paths.ts";
import {
  type CommitWithFiles,
  countCommits,
  findCommitId,
  readCommits,
} from "../../../storage/git/commits.ts";
import { type Git, GitError } from "../../../storage/git/git.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import { isRefName } from "../../contract/forge/repositories/rules.ts";
import type { RefChange } from "../events.ts";
import type { PushCommits } from "../push-subscriber.ts";

export interface CommitReaderDeps {
  readonly git: Git;
  /** Returns the folder of a repository's files; undefined when they are missing. */
  readonly locate: (repository: ForgeRepository) => Promise<string | undefined>;
}

/**
 * Reads the commits of a push. Returns undefined when the files or the commits are missing, as after the deletion of a
 * branch.
 * @throws GitError when git fails in another way: then nothing is known of the push
 */
export type ReadPush = (
  repository: ForgeRepository,
  change: RefChange,
  commitsMax: number,
) => Promise<PushCommits | undefined>;

const NO_COMMITS: PushCommits = { commits: [], total: 0, head: undefined };

export function createPushReader({ git, locate }: CommitReaderDeps): ReadPush {
  return async (repository, change, commitsMax) => {
    const directory = await locate(repository);
    const { after } = change;
    if (directory === undefined || after === undefined) return undefined;
    const found = await unlessMissing(async () => {
      // Git lets a branch name commits only; every run of git that is saved here is saved for each ref of a push.
      const isBranch = change.ref.startsWith("refs/heads/");
      const headId = isBranch ? after : await findCommitId(git, directory, after);
      if (headId === undefined) return NO_COMMITS;
      // The commits of a tag exist already, or arrive with a branch.
      if (change.ref.startsWith("refs/tags/"))
        return { commits: [], total: 0, head: await readHead(directory, headId) };
      const base =
        change.before ??
        (change.ref === `refs/heads/${repository.defaultBranch}`
          ? undefined
          : await findCommitId(git, directory, `refs/heads/${repository.defaultBranch}`));
      // New commits of a branch: since its previous head; of a new branch: since it left the default branch.
      const range = base === undefined ? [headId] : [headId, `^${base}`];
      const commits = await readCommits(git, directory, range, commitsMax);
      const isWhole = commits.length < commitsMax;
      return {
        commits,
        total: isWhole ? commits.length : await countCommits(git, directory, range),
        head: commits.find(({ id }) => id === headId) ?? (await readHead(directory, headId)),
      };
    });
    if (found !== undefined) return found;
    return (await findCommitId(git, directory, after)) === undefined ? NO_COMMITS : undefined;
  };

  async function readHead(directory: string, id: string): Promise<CommitWithFiles | undefined> {
    return (await readCommits(git, directory, [id], 1))[0];
  }
}

/** Maximum number of paths that are compared with the filters of workflows. */
const PATHS_MAX = 20_000;

/**
 * Returns the paths that a push changed in a branch: those that differ between its heads before and after; of a new branch,
 * since it left the default branch; without such a commit, those of the commits of the push. Undefined when there are too
 * many. @throws GitError
 */
export async function readPushedPaths(
  { git, locate }: CommitReaderDeps,
  repository: ForgeRepository,
  { change, pushed }: { readonly change: RefChange; readonly pushed: PushCommits },
): Promise<readonly string[] | undefined> {
  const directory = await locate(repository);
  const after = pushed.head?.id;
  if (directory === undefined || after === undefined) return undefined;
  const before = change.before ?? (await findFork(directory, after));
  return before === undefined
    ? toPaths(pushed)
    : readChangedPaths(git, { before, after }, { directory, pathsMax: PATHS_MAX });

  async function findFork(folder: string, head: string): Promise<string | undefined> {
    const ref = `refs/heads/${repository.defaultBranch}`;
    if (change.ref === ref) return undefined;
    const main = await findCommitId(git, folder, ref);
    return main && findMergeBase(git, { before: main, after: head }, { directory: folder });
  }
}

function toPaths({ commits, total }: PushCommits): readonly string[] | undefined {
  if (total > commits.length || commits.some(({ lacksFiles }) => lacksFiles)) return undefined;
  return commits.flatMap(({ added, removed, modified }) => [...added, ...removed, ...modified]);
}

/**
 * Finds a commit by a whole id, else by branch, tag or full ref, else by an abbreviated id. A name that git would parse as
 * another expression finds nothing.
 * @throws GitError when git fails for another reason than a missing commit
 */
export type FindCommit = (
  repository: ForgeRepository,
  name: string,
) => Promise<CommitWithFiles | undefined>;

export function createCommitFinder({ git, locate }: CommitReaderDeps): FindCommit {
  return async (repository, name) => {
    const isId = /^[0-9a-f]{4,64}$/i.test(name);
    const isWhole = isId && [40, 64].includes(name.length);
    if (!isId && !isRefName(name)) return undefined;
    const directory = await locate(repository);
    if (directory === undefined) return undefined;
    return unlessMissing(async () => {
      const isRef = /^refs\/(?:heads|tags)\//.test(name);
      const short = isRef ? [name] : [`refs/heads/${name}`, `refs/tags/${name}`];
      for (const full of isWhole ? [name, ...short] : [...short, ...(isId ? [name] : [])]) {
        const id = await findCommitId(git, directory, full);
        if (id !== undefined) return (await readCommits(git, directory, [id], 1))[0];
      }
      return undefined;
    });
  };
}

/** Returns undefined when git misses an object. Every other failure may be over at the next attempt. */
async function unlessMissing<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof GitError && error.code === "failed" && isMissing(error.message))
      return undefined;
    throw error;
  }
}

/** Without file descriptors or memory git cannot open its files, and then misses objects too. */
function isMissing(message: string): boolean {
  return (
    /fatal: bad (?:object|revision)/.test(message) &&
    !/too many open files|cannot allocate|resource temporarily|input\/output error/i.test(message)
  );
}
