import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CommitGraphReader } from "./commit-graph.ts";
import { readCommitsIn } from "./commit-objects.ts";
import type { Git } from "./git.ts";
import { type FoundCommits, searchLastCommits } from "./last-commit-search.ts";
import type { ObjectSession } from "./object-session.ts";
import type { ReadOptions } from "./objects.ts";

/** The newest commit that changed a file or folder, with RFC 3339 times. */
export interface LastCommit {
  readonly id: string;
  readonly authoredAt: string;
  readonly committedAt: string;
  /** The first line of its message, at most `TITLE_LENGTH_MAX` characters. */
  readonly title: string;
}

/** Entries of one folder of a commit. */
export interface LastCommitsQuery extends ReadOptions {
  /** The id of a commit. */
  readonly tip: string;
  /** Empty for the top folder. */
  readonly folder: string;
  readonly names: readonly string[];
  readonly known?: KnownLastCommits | undefined;
  /** Maximum number of objects that the search reads. */
  readonly readsMax?: number;
  /** Ends the search early, after some tenths of a second; a later one continues from what is known. */
  readonly isQuick?: boolean | undefined;
}

/** Results of earlier searches of one folder. */
export interface KnownLastCommits {
  find(commitId: string): FoundCommits | undefined;
  /** Keeps the result for the tip, also one with a rest, from which the next search continues. */
  keep(found: FoundCommits): void;
}

/** Last commits of entries. */
export interface LastCommits {
  /** The commits by the names of the entries. */
  readonly commits: ReadonlyMap<string, LastCommit>;
  /** False when the search met its limit: some of many names are missing. */
  readonly isComplete: boolean;
}

/** Maximum number of entries for which git is started after the search: each run may read the whole history. */
const LOGS_MAX = 3;
/** Bounds of a quick search. */
const QUICK = { readsMax: 4_000, lookupsMax: 1_000_000 } as const;

/**
 * Returns the commits that `git log -1 -- path` prints for entries of a folder. In long histories, above all without a
 * commit-graph, some of many names may be missing. @throws GitError
 */
export async function readLastCommits(
  {
    git,
    objects,
    graphs,
  }: {
    readonly git: Git;
    readonly objects: ObjectSession;
    readonly graphs: CommitGraphReader;
  },
  { tip, folder, names, known, readsMax, isQuick = false, ...options }: LastCommitsQuery,
): Promise<LastCommits> {
  const searched = await search();
  const ids = new Map(searched?.found);
  const prefix = folder === "" ? "" : `${folder}/`;
  const missing = names.filter((name) => !ids.has(name));
  const mayLog = missing.length <= LOGS_MAX && !isQuick;
  const isComplete = mayLog || searched?.rest.size === 0;
  if (mayLog)
    for (const name of missing) {
      const id = await findLastCommitId(git, { ...options, tip, path: prefix + name });
      if (id !== undefined) ids.set(name, id);
    }
  if (searched !== undefined) known?.keep(isComplete ? { found: ids, rest: new Map() } : searched);
  const commits = await readCommitsIn(objects, [...new Set(ids.values())]);
  const byId = new Map(
    commits.map(({ id, author, committer, message }) => [
      id,
      { id, authoredAt: author.at, committedAt: committer.at, title: toTitle(message) },
    ]),
  );
  const found = new Map<string, LastCommit>();
  for (const [name, id] of ids) {
    const commit = byId.get(id);
    if (commit !== undefined) found.set(name, commit);
  }
  return { commits: found, isComplete };

  /** Undefined for what only git itself finds. */
  async function search(): Promise<FoundCommits | undefined> {
    const { directory } = options;
    // Git reads such a folder as relative to a working tree, and invalid bytes are lost in its text.
    if (names.length === 0 || /\n|\ufffd|^\.{1,2}(?:\/|$)/.test(folder)) return undefined;
    if (await exists(join(directory, "info/grafts"))) return undefined;
    const [shallow, graph] = await Promise.all([
      readShallow(join(directory, "shallow")),
      graphs.read(directory),
    ]);
    return searchLastCommits(objects, {
      tip,
      folder,
      names,
      shallow,
      graph,
      findKnown: known?.find,
      readsMax,
      ...(isQuick ? QUICK : {}),
    });
  }
}

/** Returns the id of the commit that `git log -1 -- path` prints. @throws GitError */
export async function findLastCommitId(
  git: Git,
  { tip, path, ...options }: ReadOptions & { readonly tip: string; readonly path: string },
): Promise<string | undefined> {
  const text = await git.run(["rev-list", "--max-count=1", tip, "--", path], {
    ...options,
    // Paths are literal names, even with the special characters of patterns.
    env: { GIT_LITERAL_PATHSPECS: "1" },
  });
  return /^[0-9a-f]+/.exec(text.toString("latin1"))?.[0];
}

/** Characters of a title that lists of files show; thousands of them are cached. */
const TITLE_LENGTH_MAX = 200;

/** Returns the first line of a message, cut to `TITLE_LENGTH_MAX`. */
export function toTitle(message: string): string {
  return message.trimStart().slice(0, TITLE_LENGTH_MAX).split("\n", 1).join("").toWellFormed();
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Reads the ids in the file `shallow`, which only shallow clones have. */
async function readShallow(path: string): Promise<string[]> {
  try {
    return (await readFile(path, "latin1")).split("\n").filter((id) => id !== "");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
