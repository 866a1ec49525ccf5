import { readTip } from "./ref-files.ts";
import { type Git, GitError } from "./git.ts";
import { readRecords } from "./records.ts";
import { type CommitSignature, toRfc3339 } from "./signatures.ts";

/** A commit with the files that it changes against its first parent. */
export interface CommitWithFiles {
  readonly id: string;
  readonly message: string;
  readonly author: CommitSignature;
  readonly committer: CommitSignature;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly modified: readonly string[];
  /** Whether it changes more files than `files` names. */
  readonly lacksFiles: boolean;
}

/** Longest text of one field that is read, such as a message, in bytes; a path is shorter. */
const FIELD_BYTES_MAX = 16 * 1024;
/** Files that the commits of one list name together. */
const FILES_MAX = 20_000;
const FIELDS = 8;

/**
 * Returns the newest `limit` commits that `range` reaches (such as `["a..b"]`, or `["b", "--not", "refs/heads/main"]`),
 * newest first. Long messages are cut after 16 KiB, and all commits together name 20,000 files. In names that are not UTF-8,
 * invalid bytes become replacement characters. @throws GitError
 */
export async function readCommits(
  git: Git,
  directory: string,
  range: readonly string[],
  limit: number,
): Promise<CommitWithFiles[]> {
  const records = readRecords(
    git,
    [
      "log",
      "-z",
      `--max-count=${limit}`,
      "--diff-merges=first-parent",
      "--no-renames",
      "--name-status",
      "--date=raw",
      "--format=tformat:%H%x00%an%x00%ae%x00%ad%x00%cn%x00%ce%x00%cd%x00%B",
      ...range,
      "--",
    ],
    { directory, cutAt: FIELD_BYTES_MAX },
  );
  return parseLog(records);
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
  const tip = readTip(directory, id);
  if (tip !== undefined) return tip;
  try {
    const args = ["rev-parse", "--verify", "--quiet", `${id}^{commit}`];
    return (await git.run(args, { directory })).toString("utf8").trim();
  } catch (error) {
    if (error instanceof GitError && NO_COMMIT.test(error.message)) return undefined;
    throw error;
  }
}

/** Git says nothing of a missing object, and of other failures, such as too few file descriptors, what it was. */
const NO_COMMIT =
  /^git rev-parse ended with 1: (?:error: .*: expected commit type, but the object dereferences to \w+ type)?$/;

/** Parses the records of `git log -z --name-status`: eight fields, then pairs of a letter and a path. */
async function parseLog(records: AsyncIterable<string>): Promise<CommitWithFiles[]> {
  const commits: MutableCommit[] = [];
  let fields: string[] = [];
  let letter: string | undefined;
  let count = 0;
  for await (const record of records) {
    const last = commits.at(-1);
    if (letter !== undefined && last !== undefined) {
      count += 1;
      if (count > FILES_MAX) last.lacksFiles = true;
      else
        (letter === "A" ? last.added : letter === "D" ? last.removed : last.modified).push(record);
      letter = undefined;
      continue;
    }
    // The first letter follows a line break; a commit without files has no letter. An id is longer.
    const word = fields.length === 0 ? record.replace(/^\n/, "") : record;
    if (fields.length === 0 && word.length === 1) {
      letter = word;
      continue;
    }
    fields.push(word);
    if (fields.length < FIELDS) continue;
    commits.push(toCommit(fields));
    fields = [];
  }
  return commits;
}

interface MutableCommit extends CommitWithFiles {
  readonly added: string[];
  readonly removed: string[];
  readonly modified: string[];
  lacksFiles: boolean;
}

function toCommit([id = "", name = "", email = "", at = "", ...rest]: readonly string[]) {
  const [committerName = "", committerEmail = "", committedAt = "", message = ""] = rest;
  return {
    id,
    message,
    author: { name, email, at: toTime(at) },
    committer: { name: committerName, email: committerEmail, at: toTime(committedAt) },
    added: [],
    removed: [],
    modified: [],
    lacksFiles: false,
  };
}

/** Converts seconds and a zone, which may be any number in a commit that no git made. */
function toTime(raw: string): string {
  const [seconds = "0", zone = "+0000"] = raw.split(" ");
  return toRfc3339(Number(seconds), zone);
}
