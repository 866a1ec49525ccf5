import type { Git } from "./git.ts";
import type { ReadOptions } from "./objects.ts";
import { readRecords } from "./records.ts";
import { toRfc3339 } from "./signatures.ts";

/** The newest commit that changed a file or folder, with RFC 3339 times. */
export interface LastCommit {
  readonly id: string;
  readonly authoredAt: string;
  readonly committedAt: string;
}

/** Maximum number of history records that are read for one folder. Older history is not read. */
const RECORDS_MAX = 100_000;

/**
 * Returns the newest commits that changed the entries of a folder of a commit, by the names of the entries.
 * @param folder empty for the top folder @throws GitError
 */
export async function readLastCommits(
  git: Git,
  {
    tip,
    folder,
    names,
    ...options
  }: ReadOptions & {
    readonly tip: string;
    readonly folder: string;
    readonly names: readonly string[];
  },
): Promise<Map<string, LastCommit>> {
  const wanted = new Set(names);
  const found = new Map<string, LastCommit>();
  if (wanted.size === 0) return found;
  const prefix = folder === "" ? "" : `${folder}/`;
  const only = wanted.size === 1 ? [...wanted][0] : undefined;
  const path = only === undefined ? folder : prefix + only;
  const records = readRecords(
    git,
    [
      "log",
      "-z",
      "--name-only",
      "--no-renames",
      "--diff-merges=combined",
      ...(only === undefined ? [] : ["--max-count=1"]),
      "--date=raw",
      "--format=tformat:%x01%H %ad %cd",
      tip,
      "--",
      ...(path === "" ? [] : [path]),
    ],
    // Paths are names, whatever characters of a pattern they contain.
    { ...options, env: { GIT_LITERAL_PATHSPECS: "1" } },
  );
  let commit: LastCommit | undefined;
  let isFirst = false;
  let count = 0;
  for await (const record of records) {
    if (record.startsWith("\u0001")) {
      const [id = "", authored = "", authorZone = "", committed = "", zone = ""] = record
        .slice(1)
        .split(" ");
      commit = {
        id,
        authoredAt: toRfc3339(Number(authored), authorZone),
        committedAt: toRfc3339(Number(committed), zone),
      };
      isFirst = true;
      if (only !== undefined) found.set(only, commit);
      continue;
    }
    // The first path follows a line break.
    const changed = isFirst ? record.replace(/^\n/, "") : record;
    isFirst = false;
    const name = changed.slice(prefix.length).split("/")[0] ?? "";
    if (commit !== undefined && changed.startsWith(prefix) && wanted.has(name) && !found.has(name))
      found.set(name, commit);
    count += 1;
    if (found.size === wanted.size || count > RECORDS_MAX) break;
  }
  return found;
}
