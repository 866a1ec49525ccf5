import type { Git } from "./git.ts";

/** Somebody's name in a commit. */
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
 * The newest `limit` commits that `range` reaches (such as `["a..b"]`, or `["b", "--not", "refs/heads/main"]`),
 * newest first. Names that are no UTF-8 come with replacement characters. @throws GitError
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

/** How many commits `range` reaches. @throws GitError */
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

/** The commit that a ref or tag leads to; undefined when it leads to none. @throws GitError */
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

/** Reads what `git log -z --name-status` prints: eight fields, then pairs of a letter and a path. */
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
    // The first letter follows a line break; a commit without files has none.
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
