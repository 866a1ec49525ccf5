import { allEnded } from "../../../storage/git/git.ts";
import type { Database } from "../../../storage/engine/database.ts";
import { type CommitObject, readCommitsIn } from "../../../storage/git/commit-objects.ts";
import { type IgnoredSpace, toSpaceFlags } from "../../../storage/git/diff-files.ts";
import {
  type CommitChanges,
  countHistory,
  type HistoryQuery,
  listHistory,
  readCommitChanges,
} from "../../../storage/git/history.ts";
import { type ObjectSession, withObjectSession } from "../../../storage/git/object-session.ts";
import { COMPARED_COMMITS_MAX } from "../../contract/forge/code/commits.ts";
import { MAX_PAGE_SIZE } from "../../contract/forge/common.ts";
import { AppError } from "../../errors.ts";
import { createLruCache } from "../../utilities/lru-cache.ts";
import { notFound } from "../refusals.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import type { OwnedRepository } from "../events.ts";
import { type Authors, findAuthors } from "./authors.ts";
import { type CodeStream, streamGit } from "./code-stream.ts";
import type { CodeAccess, CodeRequest, OpenedCode } from "./open-code.ts";
import { cleanPath } from "../repositories/paths.ts";
import { findRevision, getCommitId } from "./revisions.ts";

/** The parts of a commit that a response includes. */
export interface CommitParts {
  readonly withFiles: boolean;
  readonly withStats: boolean;
  readonly withVerification: boolean;
}

/** A commit and its changes, which are read only if a part needs them. */
export interface CommitDetails extends CommitParts {
  readonly commit: CommitObject;
  readonly changes: CommitChanges | undefined;
}

/** Commits of one repository with the accounts of their authors. */
export interface CommitList {
  readonly owned: OwnedRepository;
  readonly commits: readonly CommitDetails[];
  readonly authors: Authors;
  readonly total: number;
}

/** Filters of a list of commits; empty texts match everything. */
export interface CommitFilter {
  readonly sha: string;
  readonly path: string;
  readonly not: string;
  readonly since: string;
  readonly until: string;
}

/** Two revisions and how they are compared: `...` from their common ancestor, `..` with each other. */
interface Comparison {
  readonly base: string;
  readonly head: string;
  readonly separator: "..." | "..";
}

/** Maximum number of files that one commit lists; its statistics count all. */
const FILES_MAX = 3_000;
/** Number of cached counts, at most a few kilobytes each for the paths in their keys. */
const COUNTS_CACHED = 2_000;
/** Characters of all cached commits, each of which counts with as many as a small object takes. */
const COMMITS_CACHED = 4 * 1024 * 1024;
const COMMIT_LENGTH = 500;
/** Ids in all cached pages of histories, about 100 bytes each. */
const IDS_CACHED = 40_000;

/** Commits, their diffs, and comparisons. */
export type Commits = ReturnType<typeof createCommits>;

/**
 * Creates the service. Every function refuses as `CodeAccess` does, and throws `not_found` for a name that is not the
 * name of a commit.
 */
export function createCommits({
  db,
  access,
}: {
  readonly db: Database;
  readonly access: CodeAccess;
}) {
  const counts = createLruCache<number>({ valueLengthMax: 1, lengthMax: COUNTS_CACHED });
  const known = createLruCache<CommitObject>({
    valueLengthMax: COMMITS_CACHED / 100,
    lengthMax: COMMITS_CACHED,
  });
  const pages = createLruCache<readonly string[]>({
    valueLengthMax: MAX_PAGE_SIZE + 1,
    lengthMax: IDS_CACHED,
  });
  return {
    /** Refuses with `conflict` an empty repository, with `unprocessable` a malformed time or path. */
    async list(
      request: CodeRequest,
      filter: CommitFilter,
      window: PageWindow,
      parts: CommitParts,
    ): Promise<CommitList> {
      const since = toTime("since", filter.since);
      const until = toTime("until", filter.until);
      const path = cleanPath(filter.path) || undefined;
      return read(request, async (code, objects) => {
        if (code.owned.repository.isEmpty)
          throw new AppError("conflict", "Git Repository is empty.");
        const tip = await getCommitId(code, filter.sha, objects.find);
        const not =
          filter.not === "" ? undefined : await getCommitId(code, filter.not, objects.find);
        const query = { ...toReadOptions(code), tip, path, not, since, until };
        const [ids, total] = await allEnded([listIds(code, query, window), count(code, query)]);
        if (total === 0 && path !== undefined)
          await assertKnownPath(code, { ...query, not: undefined });
        return toList(code, objects, ids, total, parts);
      });
    },

    /** Refuses with `unprocessable` an invalid name. */
    async get(request: CodeRequest, name: string, parts: CommitParts): Promise<CommitList> {
      return read(request, async (code, objects) => {
        const { commitId } = await getCommit(code, name, objects.find);
        return toList(code, objects, [commitId], 1, parts);
      });
    },

    /** Streams a commit as a diff or as a patch for `git am`. */
    async diff(
      request: CodeRequest,
      name: string,
      format: "diff" | "patch",
      ignoredSpace?: IgnoredSpace,
    ): Promise<CodeStream> {
      return streamGit(access, request, async (code) => {
        const { commitId } = await getCommit(code, name);
        return format === "diff"
          ? [
              "diff-tree",
              "-p",
              "-M",
              "--root",
              "--diff-merges=first-parent",
              "--no-commit-id",
              ...toSpaceFlags(ignoredSpace),
              commitId,
            ]
          : ["format-patch", "--stdout", "--no-signature", "-1", commitId];
      });
    },

    /** Returns the commits of the head that the base lacks, the newest first, at most `COMPARED_COMMITS_MAX`. */
    async compare(request: CodeRequest, range: string, parts: CommitParts): Promise<CommitList> {
      return read(request, async (code, objects) => {
        const [base, head] = await getEnds(code, toComparison(range), objects.find);
        const query = { ...toReadOptions(code), tip: head, not: base };
        const [ids, total] = await allEnded([
          listHistory(code.git, query, { limit: COMPARED_COMMITS_MAX, offset: 0 }),
          count(code, query),
        ]);
        return toList(code, objects, ids, total, parts);
      });
    },

    /** Streams the diff of a comparison, or its commits as patches. */
    async compareText(
      request: CodeRequest,
      range: string,
      format: "diff" | "patch",
      ignoredSpace?: IgnoredSpace,
    ): Promise<CodeStream> {
      const comparison = toComparison(range);
      return streamGit(access, request, async (code) => {
        const [base, head] = await getEnds(code, comparison);
        return format === "diff"
          ? [
              ...["diff", "-p", "-M", ...toSpaceFlags(ignoredSpace)],
              ...[`${base}${comparison.separator}${head}`, "--"],
            ]
          : ["format-patch", "--stdout", "--no-signature", `${base}..${head}`];
      });
    },
  };

  /** Counts the commits of a query, and remembers the count: the history of a commit never changes. */
  async function count(code: OpenedCode, query: HistoryQuery): Promise<number> {
    const { tip, path, not, since, until } = query;
    const key = JSON.stringify([code.owned.repository.id, tip, path, not, since, until]);
    const known = counts.get(key);
    if (known !== undefined) return known;
    const total = await countHistory(code.git, query);
    counts.set(key, total, 1);
    return total;
  }

  /** Returns the ids of a page of history, and remembers them as `count` does. */
  async function listIds(
    code: OpenedCode,
    query: HistoryQuery,
    { page, limit }: PageWindow,
  ): Promise<readonly string[]> {
    const { tip, path, not, since, until } = query;
    const place = [code.owned.repository.id, tip, path, not, since, until];
    const key = JSON.stringify([...place, page, limit]);
    const known = pages.get(key);
    if (known !== undefined) return known;
    const ids = await listHistory(code.git, query, toRows({ page, limit }));
    pages.set(key, ids, ids.length + 1);
    return ids;
  }

  /** Runs `work` with one git for all names and commits that it reads. */
  async function read<T>(
    request: CodeRequest,
    work: (code: OpenedCode, objects: ObjectSession) => Promise<T>,
  ): Promise<T> {
    return access.read(request, async (code) =>
      withObjectSession(code.git, code, (objects) => work(code, objects)),
    );
  }

  /** Reads commits, and remembers them: what an id names never changes. */
  async function readAll(
    { owned }: OpenedCode,
    objects: ObjectSession,
    ids: readonly string[],
  ): Promise<CommitObject[]> {
    const toKey = (id: string) => `${owned.repository.id} ${id}`;
    const found = new Map(ids.map((id) => [id, known.get(toKey(id))]));
    const missing = [...found].flatMap(([id, commit]) => (commit === undefined ? [id] : []));
    for (const commit of await readCommitsIn(objects, missing)) {
      const { id, message, signature: { text, payload } = { text: "", payload: "" } } = commit;
      found.set(id, commit);
      known.set(toKey(id), commit, COMMIT_LENGTH + message.length + text.length + payload.length);
    }
    return ids.flatMap((id) => found.get(id) ?? []);
  }

  async function toList(
    code: OpenedCode,
    objects: ObjectSession,
    ids: readonly string[],
    total: number,
    parts: CommitParts,
  ): Promise<CommitList> {
    const options = toReadOptions(code);
    const [commits, changes] = await allEnded([
      readAll(code, objects, ids),
      (parts.withFiles || parts.withStats) && ids.length > 0
        ? readCommitChanges(code.git, ids, { ...options, filesMax: FILES_MAX })
        : undefined,
    ]);
    return {
      owned: code.owned,
      commits: commits.map((commit) => ({ commit, changes: changes?.get(commit.id), ...parts })),
      authors: await findAuthors(db, commits, code.caller?.user),
      total,
    };
  }
}

const toReadOptions = ({ directory, signal }: OpenedCode) => ({ directory, signal });

/**
 * A path that no commit of the history changes is not found. A path without commits in the period has an empty list.
 */
async function assertKnownPath(code: OpenedCode, query: HistoryQuery): Promise<void> {
  const { since, until } = query;
  const isKnown =
    (since !== undefined || until !== undefined) &&
    (await countHistory(code.git, { ...query, since: undefined, until: undefined })) > 0;
  if (!isKnown) throw notFound();
}

async function getCommit(code: OpenedCode, name: string, find?: ObjectSession["find"]) {
  const found = await findRevision(code, name, find);
  if (found === undefined) throw new AppError("not_found", `commit doesn't exist: ${name}`);
  return found;
}

/** Splits `base...head` or `base..head`. The names of branches have no `..`. */
function toComparison(range: string): Comparison {
  const [, base, separator, head] = /^(.*?)(\.{2,3})(.*)$/s.exec(range) ?? [];
  if (base === undefined || head === undefined) throw notFound();
  return { base, head, separator: separator === ".." ? ".." : "..." };
}

async function getEnds(
  code: OpenedCode,
  { base, head }: Comparison,
  find?: ObjectSession["find"],
): Promise<readonly [base: string, head: string]> {
  return [await getCommitId(code, base, find), await getCommitId(code, head, find)];
}

function toTime(name: string, text: string): string | undefined {
  if (text === "") return undefined;
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i.test(text))
    throw new AppError("unprocessable", `invalid '${name}' format, expected ISO 8601 (RFC3339)`);
  return text;
}
