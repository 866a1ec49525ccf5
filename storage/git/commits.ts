import type { Git } from "./git.ts";

/** Author or committer of a commit. */
export interface CommitSignature {
  readonly name: string;
  readonly email: string;
  /** RFC 3339 with the person's own offset. */
  readonly at: string;
}

/** A commit with the files that it changes against its first parent. */
export interface CommitFacts {
  readonly id: string;
  readonly message: string;
  readonly author: CommitSignature;
  readonly committer: CommitSignature;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly modified: readonly string[];
}

const LOG_BYTES_MAX = 8 * 1024 * 1024;
const FIELDS = 8;

/**
 * Returns the newest `limit` commits that `range` reaches (such as `["a..b"]`, or `["b", "--not", "refs/heads/main"]`),
 * newest first. In names that are not UTF-8, invalid bytes become replacement characters. @throws GitError
 */
export async function readCommits(
  git: Git,
  directory: string,
  range: readonly string[],
  limit: number,
): Promise<CommitFacts[]> {
  const text = await git.run(
    [
      "log",
      "-z",
      `--max-count=${limit}`,
      "--diff-merges=first-parent",
      "--no-renames",
      "--name-status",
      "--format=tformat:%H%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B",
      ...range,
      "--",
    ],
    { directory, outputBytesMax: LOG_BYTES_MAX },
  );
  return parseLog(text.toString("utf8"));
}

/** Returns the number of commits that `range` reaches. @throws GitError */
export async function countCommits(
  git: Git,
  directory: string,
  range: readonly string[],
): Promise<number> {
  const text = await git.run(["rev-list", "--count", ...range, "--"], {
    directory,
  });
  return Number(text.toString("utf8").trim());
}

/** Peels a ref or tag to its commit; undefined when it does not lead to one. @throws GitError */
export async function findCommitId(
  git: Git,
  directory: string,
  id: string,
): Promise<string | undefined> {
  const text = await git.run(["rev-parse", "--verify", "--quiet", `${id}^{commit}`], {
    directory,
    accept: [1, 128],
  });
  const found = text.toString("utf8").trim();
  return found === "" ? undefined : found;
}

/** Parses the output of `git log -z --name-status`: eight fields, then pairs of a letter and a path. */
function parseLog(text: string): CommitFacts[] {
  const parts = text.split("\0");
  const commits: CommitFacts[] = [];
  let at = 0;
  while (at + FIELDS <= parts.length && parts[at] !== "") {
    const [
      id = "",
      name = "",
      email = "",
      authored = "",
      byName = "",
      byEmail = "",
      committed = "",
      message = "",
    ] = parts.slice(at, at + FIELDS);
    at += FIELDS;
    const files = { A: [] as string[], D: [] as string[], M: [] as string[] };
    // The first letter follows a line break; a commit without files has no letter.
    for (let letter = parts[at]?.replace(/^\n/, ""); letter?.length === 1; letter = parts[at]) {
      const path = parts[at + 1] ?? "";
      (letter === "A" ? files.A : letter === "D" ? files.D : files.M).push(path);
      at += 2;
    }
    commits.push({
      id,
      message,
      author: { name, email, at: authored },
      committer: { name: byName, email: byEmail, at: committed },
      added: files.A,
      removed: files.D,
      modified: files.M,
    });
  }
  return commits;
}
