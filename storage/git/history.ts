import type { Git } from "./git.ts";
import type { ReadOptions } from "./objects.ts";
import { readRecords } from "./records.ts";

/** Which commits to list: those that lead to `tip`. */
export interface HistoryQuery extends ReadOptions {
  /** An object id. */
  readonly tip: string;
  /** Only commits that change this file or folder; undefined for all. */
  readonly path?: string | undefined;
  /** An object id whose history is left out. */
  readonly not?: string | undefined;
  /** RFC 3339 bounds of the committer's time. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** The change of one file by a commit. */
export interface FileChange {
  readonly path: string;
  readonly status: "added" | "removed" | "modified";
}

/** The changes of a commit against its first parent. */
export interface CommitChanges {
  /** At most as many as were requested. */
  readonly files: readonly FileChange[];
  /** Lines, over all files. */
  readonly additions: number;
  readonly deletions: number;
}

/** Paths are literal names, even with the special characters of patterns. */
const literalPaths = { GIT_LITERAL_PATHSPECS: "1" } as const;

/** Returns the ids of a page of history, newest first. @throws GitError */
export async function listHistory(
  git: Git,
  query: HistoryQuery,
  { limit, offset }: { readonly limit: number; readonly offset: number },
): Promise<string[]> {
  const text = await git.run(
    ["rev-list", `--max-count=${limit}`, `--skip=${offset}`, ...toArguments(query)],
    { directory: query.directory, signal: query.signal, env: literalPaths },
  );
  return text
    .toString("latin1")
    .split("\n")
    .filter((id) => id !== "");
}

/** Returns how many commits the query has. @throws GitError */
export async function countHistory(git: Git, query: HistoryQuery): Promise<number> {
  const text = await git.run(["rev-list", "--count", ...toArguments(query)], {
    directory: query.directory,
    signal: query.signal,
    env: literalPaths,
  });
  return Number(text.toString("latin1").trim());
}

/** Returns the changes of each commit against its first parent. @throws GitError */
export async function readCommitChanges(
  git: Git,
  ids: readonly string[],
  { filesMax, ...options }: ReadOptions & { readonly filesMax: number },
): Promise<ReadonlyMap<string, CommitChanges>> {
  const found = new Map(
    ids.map((id) => [id, { files: [] as FileChange[], additions: 0, deletions: 0 }]),
  );
  const records = readRecords(
    git,
    [
      "diff-tree",
      "--stdin",
      "-r",
      "--root",
      "--no-renames",
      "--diff-merges=first-parent",
      "--raw",
      "--numstat",
      "-z",
    ],
    { ...options, input: ids.map((id) => `${id}\n`).join("") },
  );
  let current = found.get("");
  let letter: string | undefined;
  for await (const record of records) {
    if (letter !== undefined) {
      if (current !== undefined && current.files.length < filesMax)
        current.files.push({ path: record, status: toStatus(letter) });
      letter = undefined;
      continue;
    }
    // `:100644 100644 … M`, then the path as a record of its own.
    if (record.startsWith(":")) {
      letter = record.at(-1);
      continue;
    }
    const [, added, deleted] = /^(\d+|-)\t(\d+|-)\t/.exec(record) ?? [];
    if (added === undefined) current = found.get(record);
    else if (current !== undefined) {
      // Binary files have no lines.
      current.additions += Number(added) || 0;
      current.deletions += Number(deleted) || 0;
    }
  }
  return found;
}

function toStatus(letter: string): FileChange["status"] {
  if (letter === "A") return "added";
  return letter === "D" ? "removed" : "modified";
}

function toArguments({ tip, path, not, since, until }: HistoryQuery): string[] {
  return [
    ...(since === undefined ? [] : [`--since=${since}`]),
    ...(until === undefined ? [] : [`--until=${until}`]),
    tip,
    ...(not === undefined ? [] : [`^${not}`]),
    "--",
    ...(path === undefined ? [] : [path]),
  ];
}

/** Returns whether a commit is an ancestor of another one, or the same. @throws GitError */
export async function isAncestor(
  git: Git,
  directory: string,
  ancestor: string,
  descendant: string,
  quarantine?: string,
): Promise<boolean> {
  const text = await git.run(["rev-list", "--count", "--max-count=1", ancestor, `^${descendant}`], {
    directory,
    ...(quarantine === undefined ? {} : { env: { GIT_ALTERNATE_OBJECT_DIRECTORIES: quarantine } }),
  });
  return text.toString("latin1").trim() === "0";
}

/** Returns how many commits each of two commits has that the other lacks. @throws GitError */
export async function countDivergence(
  git: Git,
  { base, head, ...options }: ReadOptions & { readonly base: string; readonly head: string },
): Promise<{ readonly ahead: number; readonly behind: number }> {
  const args = ["rev-list", "--left-right", "--count", `${base}...${head}`, "--"];
  const text = (await git.run(args, options)).toString("latin1");
  const [behind = 0, ahead = 0] = text.trim().split("\t").map(Number);
  return { ahead, behind };
}

/** Authors of commits with their number of commits, the most active first. @throws GitError `too_long` */
export async function listContributors(
  git: Git,
  {
    tip,
    timeoutMs,
    ...options
  }: ReadOptions & { readonly tip: string; readonly timeoutMs: number },
): Promise<{ readonly name: string; readonly email: string; readonly commits: number }[]> {
  const args = ["shortlog", "--summary", "--numbered", "--email", tip, "--"];
  const text = (await git.run(args, { ...options, timeoutMs })).toString("utf8");
  return text.split("\n").flatMap((line) => {
    const [, count, name = "", email = ""] = /^\s*(\d+)\t(.*?) ?<([^>]*)>$/s.exec(line) ?? [];
    return count === undefined ? [] : [{ name, email, commits: Number(count) }];
  });
}
