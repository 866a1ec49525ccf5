import type { Database } from "../../../storage/engine/database.ts";
import { type Blame, readBlame } from "../../../storage/git/blame.ts";
import { searchCode } from "../../../storage/git/code-search.ts";
import { type Git, GitError } from "../../../storage/git/git.ts";
import { countDivergence, listContributors } from "../../../storage/git/history.ts";
import type { ReadOptions } from "../../../storage/git/objects.ts";
import { readRecords } from "../../../storage/git/records.ts";
import { hashRefs } from "../../../storage/git/ref-files.ts";
import { listNewestNames, listRefs } from "../../../storage/git/ref-lists.ts";
import { findEntries } from "../../../storage/git/trees.ts";
import { CODE_MATCHES_MAX, REF_NAMES_MAX } from "../../contract/forge/code/browsing.ts";
import { AppError } from "../../errors.ts";
import { createLruCache } from "../../utilities/lru-cache.ts";
import type { Compute } from "../compute.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { cleanFilePath } from "../repositories/paths.ts";
import { findAuthors } from "./authors.ts";
import type { CodeAccess, CodeRequest, OpenedCode } from "./open-code.ts";
import { searchPaths } from "./path-search.ts";
import { findRevision, getRevision } from "./revisions.ts";

/** Time for one blame, one search, one list of contributors, and the branches of one page. */
const BLAME_MS = 15_000;
const SEARCH_MS = 5_000;
const CONTRIBUTORS_MS = 30_000;
const DIVERGENCE_MS = 5_000;
/** The largest blamed file, in bytes. */
const BLAMED_BYTES_MAX = 2 * 1024 * 1024;
/** Bytes of git's output for all cached blames: the texts in it are as long as their authors like. */
const BLAMES_CACHED = 48 * 1024 * 1024;
/** Files of one revision that are searched, and the characters of their paths in all cached lists. */
const FILES_MAX = 200_000;
const PATHS_CACHED = 48 * 1024 * 1024;
/** Characters of all cached contributors, each of whom counts with as many as a small object takes. */
const CONTRIBUTORS_CACHED = 8 * 1024 * 1024;
const CONTRIBUTOR_LENGTH = 100;
const DIVERGENCES_CACHED = 10_000;
/** Characters of the names in all cached lists of the newest branches and tags. */
const NAMES_CACHED = 1024 * 1024;
const HEADS = "refs/heads/";

/** The client of a request to an opened repository. */
/** Lines of code by author, text and file name; contributors; diverged branches. */
export type Browsing = ReturnType<typeof createBrowsing>;

/**
 * Creates the service. Results are cached by commit, whose history never changes. Every function refuses with
 * `not_found` a missing revision or file, with `unavailable` what takes too long.
 */
export function createBrowsing({
  db,
  access,
  compute,
}: {
  readonly db: Database;
  readonly access: CodeAccess;
  readonly compute: Compute;
}) {
  const blames = cacheOf<Blame>(BLAMES_CACHED);
  const fileLists = cacheOf<FileNames>(PATHS_CACHED);
  const contributors = cacheOf<Awaited<ReturnType<typeof listContributors>>>(CONTRIBUTORS_CACHED);
  const divergences = cacheOf<Divergence>(DIVERGENCES_CACHED);
  const newestNames = cacheOf<Awaited<ReturnType<typeof listNewestNames>>>(NAMES_CACHED);
  return {
    /** Refuses with `too_large` a file above `BLAMED_BYTES_MAX`, with `unprocessable` a malformed path. */
    async blame(
      request: CodeRequest,
      { path: requestedPath, ref }: { readonly path: string; readonly ref: string },
    ): Promise<Blame> {
      const path = cleanFilePath(requestedPath);
      return access.read(request, async (code) => {
        const { commitId } = await getRevision(code, ref);
        return remember(blames, toKey(code, commitId, path), async () => {
          await assertBlamed(code, commitId, path);
          const { blame, length } = await readBlame(code.git, {
            ...toOptions(code),
            ...{ commitId, path, timeoutMs: BLAME_MS },
          });
          return { value: blame, length };
        });
      });
    },

    async search(
      request: CodeRequest,
      { text, ref }: { readonly text: string; readonly ref: string },
    ) {
      return access.read(request, async (code) => {
        const { commitId } = await getRevision(code, ref);
        return searchCode(code.git, {
          ...toOptions(code),
          ...{ commitId, text, filesMax: CODE_MATCHES_MAX, timeoutMs: SEARCH_MS },
        });
      });
    },

    /** Returns the paths with every word of `text`: those with a matching name first, then the shorter ones. */
    async findFiles(
      request: CodeRequest,
      { text, ref }: { readonly text: string; readonly ref: string },
    ) {
      const { paths, isWhole } = await access.read(request, async (code) => {
        const { commitId } = await getRevision(code, ref);
        return remember(fileLists, toKey(code, commitId), () => listFileNames(code, commitId));
      });
      const account = String(request.opened.repository.ownerId);
      const computed = await compute.run(searchPaths, { paths, text }, account);
      if (computed.kind === "exceeded")
        throw new AppError("unavailable", `The search takes ${computed.reason}.`);
      return { ...computed.value, isWhole };
    },

    async contributors(request: CodeRequest, ref: string, window: PageWindow) {
      const all = await access.read(request, async (code) => {
        const { commitId: tip } = await getRevision(code, ref);
        return remember(contributors, toKey(code, tip), async () => {
          const value = await listContributors(code.git, {
            ...toOptions(code),
            ...{ tip, timeoutMs: CONTRIBUTORS_MS },
          });
          const lengths = value.map(({ name, email }) => name.length + email.length);
          const length = lengths.reduce((sum, each) => sum + each + CONTRIBUTOR_LENGTH, 1);
          return { value, length };
        });
      });
      const { offset, limit } = toRows(window);
      const page = all.slice(offset, offset + limit);
      const people = page.map((person) => ({ ...person, at: "" }));
      const authors = await findAuthors(
        db,
        people.map((person) => ({ author: person, committer: person })),
        request.caller?.user,
      );
      return { contributors: page, authors, total: all.length };
    },

    async refNames(request: CodeRequest) {
      return access.read(request, async (code) => {
        const state = hashRefs(code.directory);
        const key = toKey(code, state ?? "");
        const known = state === undefined ? undefined : newestNames.get(key);
        if (known !== undefined) return known;
        const names = await listNewestNames(code.git, REF_NAMES_MAX, toOptions(code));
        const length = [...names.branches, ...names.tags].join(" ").length + 1;
        // A push may have moved a ref before git read it.
        if (state !== undefined && hashRefs(code.directory) === state)
          newestNames.set(key, names, length);
        return names;
      });
    },

    /** Compares the branches of a page of the list of branches with the default branch. */
    async divergence(request: CodeRequest, text: string, window: PageWindow) {
      return access.read(request, async (code) => {
        const query = { ...toOptions(code), under: HEADS, order: "newest", text } as const;
        const { refs, total } = await listRefs(code.git, query, toRows(window));
        const base = await findRevision(code, "");
        // One budget for all: a branch is left out when the ones before it were slow.
        const budget = AbortSignal.any([code.signal, AbortSignal.timeout(DIVERGENCE_MS)]);
        const branches: ({ readonly name: string } & Divergence)[] = [];
        for (const { name, id } of refs)
          branches.push({
            name: name.slice(HEADS.length),
            ...(base === undefined ? UNKNOWN : await diverge(code, budget, base.commitId, id)),
          });
        return { branches, total };
      });
    },
  };

  async function diverge(
    code: OpenedCode,
    budget: AbortSignal,
    base: string,
    head: string,
  ): Promise<Divergence> {
    try {
      return await remember(divergences, toKey(code, base, head), async () => {
        const options = { directory: code.directory, signal: budget, base, head };
        return { value: await countDivergence(code.git, options), length: 1 };
      });
    } catch (error) {
      code.signal.throwIfAborted();
      const isLate = budget.aborted || (error instanceof GitError && error.code === "too_long");
      if (!isLate) throw error;
      return UNKNOWN;
    }
  }
}

/** Commits that only the branch has, and that only the default branch has; null where counting took too long. */
interface Divergence {
  readonly ahead: number | null;
  readonly behind: number | null;
}
const UNKNOWN: Divergence = { ahead: null, behind: null };

interface FileNames {
  /** Each ends with a zero byte. */
  readonly paths: string;
  readonly isWhole: boolean;
}

/** A cache whose values may take all of it, because a repository may be as large. */
const cacheOf = <T>(lengthMax: number) =>
  createLruCache<T>({ valueLengthMax: lengthMax, lengthMax });

async function remember<T>(
  cache: ReturnType<typeof createLruCache<T>>,
  key: string,
  make: () => Promise<{ readonly value: T; readonly length: number }>,
): Promise<T> {
  const known = cache.get(key);
  if (known !== undefined) return known;
  const { value, length } = await make();
  cache.set(key, value, length);
  return value;
}

const toKey = ({ owned }: OpenedCode, ...parts: readonly string[]) =>
  [owned.repository.id, ...parts].join(" ");

const toOptions = ({ directory, signal }: OpenedCode): ReadOptions => ({ directory, signal });

async function assertBlamed(code: OpenedCode, commitId: string, path: string): Promise<void> {
  const [entry] = await findBlob(code.git, commitId, path, toOptions(code));
  if (entry === undefined)
    throw new AppError("not_found", `object does not exist [id: , rel_path: ${path}]`);
  if (entry.size > BLAMED_BYTES_MAX)
    throw new AppError("unprocessable", `files above ${BLAMED_BYTES_MAX} bytes have no blame`);
}

async function findBlob(git: Git, commitId: string, path: string, options: ReadOptions) {
  const entries = await findEntries(git, commitId, [path], options);
  return [...entries.values()].filter(({ type }) => type === "blob");
}

/** Lists the files of a commit, at most `FILES_MAX`, and as many as the cache can keep: paths may be very long. */
async function listFileNames(
  code: OpenedCode,
  commitId: string,
): Promise<{ readonly value: FileNames; readonly length: number }> {
  const paths: string[] = [];
  let length = 0;
  const args = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", commitId];
  for await (const path of readRecords(code.git, args, toOptions(code))) {
    if (paths.length === FILES_MAX || length + path.length > PATHS_CACHED)
      return { value: { paths: toText(paths), isWhole: false }, length };
    paths.push(path);
    length += path.length;
  }
  return { value: { paths: toText(paths), isWhole: true }, length };
}

const toText = (paths: readonly string[]) => paths.map((path) => `${path}\0`).join("");
