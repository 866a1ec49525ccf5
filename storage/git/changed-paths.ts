import type { Git } from "./git.ts";
import type { ReadOptions } from "./objects.ts";
import { readRecords } from "./records.ts";

/** Two commits, by id. */
export interface CommitPair {
  readonly before: string;
  readonly after: string;
}

/**
 * Returns the paths whose files differ between two commits, with both names of a renamed file; undefined for more than
 * `pathsMax`. @throws GitError
 */
export async function readChangedPaths(
  git: Git,
  { before, after }: CommitPair,
  { pathsMax, ...options }: ReadOptions & { readonly pathsMax: number },
): Promise<readonly string[] | undefined> {
  const paths: string[] = [];
  const args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", before, after, "--"];
  for await (const path of readRecords(git, args, options)) {
    if (paths.length === pathsMax) return undefined;
    paths.push(path);
  }
  return paths;
}

/** Returns a best common ancestor of two commits; undefined when their histories share none. @throws GitError */
export async function findMergeBase(
  git: Git,
  { before, after }: CommitPair,
  options: ReadOptions,
): Promise<string | undefined> {
  // Git ends with 1 when there is none.
  const output = await git.run(["merge-base", before, after], { ...options, accept: [1] });
  return /^[0-9a-f]+/.exec(output.toString("latin1"))?.[0];
}
