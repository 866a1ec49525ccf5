import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Git } from "./git.ts";

/** What a repository's branches say about it. */
export interface BranchFacts {
  readonly branches: readonly string[];
  /** The branch that HEAD names, whether it exists or not; undefined when HEAD names none. */
  readonly head: string | undefined;
}

const REFS_BYTES_MAX = 64 * 1024 * 1024;

/** The names of a repository's branches, and the one that HEAD points to. @throws GitError */
export async function readBranches(git: Git, directory: string): Promise<BranchFacts> {
  const [text, head] = await Promise.all([
    git.run(["for-each-ref", "--format=%(refname)", "refs/heads/"], {
      directory,
      outputBytesMax: REFS_BYTES_MAX,
    }),
    readFile(join(directory, "HEAD"), "utf8"),
  ]);
  const branches = toLines(text).map((name) => name.slice("refs/heads/".length));
  return { branches, head: /^ref: refs\/heads\/([^\n]+)\n?$/.exec(head)?.[1] };
}

/**
 * The branch that people see first: HEAD's when it exists, else the first of `preferred` that exists, else the
 * first of all; undefined when there is no branch.
 */
export function chooseDefaultBranch(
  { branches, head }: BranchFacts,
  preferred: readonly string[],
): string | undefined {
  const existing = new Set(branches);
  const wanted = [...(head === undefined ? [] : [head]), ...preferred];
  return wanted.find((name) => existing.has(name)) ?? branches[0];
}

/** Points HEAD to a branch. @throws GitError */
export async function writeHead(git: Git, directory: string, branch: string): Promise<void> {
  await git.run(["symbolic-ref", "HEAD", `refs/heads/${branch}`], { directory });
}

/** What a repository's objects take on disk, in KiB. @throws GitError */
export async function readSizeKib(git: Git, directory: string): Promise<number> {
  const text = (await git.run(["count-objects", "-v"], { directory })).toString("utf8");
  const of = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, "m").exec(text)?.[1] ?? 0);
  return of("size") + of("size-pack");
}

/** The objects that these refs name today; refs that do not exist are left out. @throws GitError */
export async function readRefs(
  git: Git,
  directory: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const wanted = new Set(names);
  const text = await git.run(["for-each-ref", "--format=%(objectname) %(refname)"], {
    directory,
    outputBytesMax: REFS_BYTES_MAX,
  });
  const found = toLines(text).map((line) => {
    const space = line.indexOf(" ");
    return [line.slice(space + 1), line.slice(0, space)] as const;
  });
  return new Map(found.filter(([name]) => wanted.has(name)));
}

function toLines(text: Buffer): string[] {
  return text
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "");
}
