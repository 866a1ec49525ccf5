import { createCommitGraphReader } from "../../../storage/git/commit-graph.ts";
import { findCommits } from "../../../storage/git/ref-files.ts";
import type { Git } from "../../../storage/git/git.ts";
import type { FoundCommits } from "../../../storage/git/last-commit-search.ts";
import {
  type KnownLastCommits,
  type LastCommit,
  readLastCommits,
} from "../../../storage/git/last-commits.ts";
import { type ObjectSession, withObjectSession } from "../../../storage/git/object-session.ts";
import { readBeginnings, type ReadOptions } from "../../../storage/git/objects.ts";
import { readSubmodules } from "../../../storage/git/submodules.ts";
import { listTree, type TreeEntry } from "../../../storage/git/trees.ts";
import type { RepositoryId } from "../../../storage/tables/forge/ids.ts";
import type { ForgeRepository } from "../../../storage/tables/forge/repositories/repositories.ts";
import { FOLDER_ENTRIES_MAX } from "../../contract/forge/code/contents.ts";
import { createLruCache } from "../../utilities/lru-cache.ts";

/** An entry of a folder with the details that a response shows. */
export interface ContentsEntry {
  readonly entry: TreeEntry;
  /** Undefined when searching the history would take too long. */
  readonly last: LastCommit | undefined;
  /** The bytes of a single file that is not too large. */
  readonly content?: Buffer | undefined;
  /** The target of a symbolic link. */
  readonly target?: string | undefined;
  /** The address of a submodule. */
  readonly submoduleUrl?: string | undefined;
}

/** The entries of a folder, at most `FOLDER_ENTRIES_MAX`, and how many it has. */
export interface FolderListing {
  readonly entries: readonly ContentsEntry[];
  readonly total: number;
}

/** A folder of a commit. */
interface FolderQuery extends ReadOptions {
  readonly repositoryId: RepositoryId;
  readonly commitId: string;
  /** Empty for the top folder. */
  readonly path: string;
  /** The id of the folder's tree, or of the commit for the top folder. */
  readonly tree: string;
  /** Whether the search of last commits ends early, so that some are missing until a later request. */
  readonly isQuick?: boolean;
}

/** Entries of all cached listings, about 500 bytes each. */
const ENTRIES_MAX = 40_000;
/** Names in all cached results of searches, about 150 bytes each. A folder of more is searched each time. */
const NAMES_MAX = 100_000;
/** Searches of one history until it has no rest: each reads 50,000 objects at most. */
const SEARCHES_MAX = 40;
/** Maximum bytes of a link: that of a path. */
const LINK_BYTES_MAX = 4_096;
export const SYMLINK = "120000";

/** Lists folders of commits with the last commits of their entries, and caches the listings, which never change. */
export type FolderListings = ReturnType<typeof createFolderListings>;

export function createFolderListings(git: Git) {
  const graphs = createCommitGraphReader();
  const listings = createLruCache<FolderListing>({
    valueLengthMax: ENTRIES_MAX / 4,
    lengthMax: ENTRIES_MAX,
  });
  /** The searches behind the listings: one of a newer commit, or after one that met its limit, continues from them. */
  const searches = createLruCache<FoundCommits>({
    valueLengthMax: NAMES_MAX / 4,
    lengthMax: NAMES_MAX,
  });
  return {
    list,

    /** Returns the last commit of one entry of a folder. @throws GitError */
    async findLast(
      objects: ObjectSession,
      { name, ...query }: Omit<FolderQuery, "tree"> & { readonly name: string },
    ): Promise<LastCommit | undefined> {
      const { directory, signal, commitId, path } = query;
      const { commits } = await readLastCommits(
        { git, objects, graphs },
        {
          ...{ directory, signal, tip: commitId, folder: path, names: [name] },
          known: { find: toKnown(query).find, keep: () => undefined },
        },
      );
      return commits.get(name);
    },

    /**
     * Searches the last commits of the top folder of the default branch until all are found, so that the first request
     * need not wait. @throws GitError
     */
    async prepare(
      { id, defaultBranch }: Pick<ForgeRepository, "id" | "defaultBranch">,
      { directory, signal }: ReadOptions,
    ): Promise<void> {
      const name = `refs/heads/${defaultBranch}`;
      const [commitId] = await findCommits(git, [name], { directory, signal });
      if (commitId === undefined) return;
      const query = { repositoryId: id, commitId, path: "", tree: commitId };
      for (let left = SEARCHES_MAX; left > 0; left -= 1) {
        signal?.throwIfAborted();
        const { isComplete } = await withObjectSession(git, { directory, signal }, (objects) =>
          list(objects, { ...query, directory, signal }, true),
        );
        if (isComplete) return;
      }
    },
  };

  /** Lists a folder. @throws GitError */
  async function list(
    objects: ObjectSession,
    query: FolderQuery,
    withLast: boolean,
  ): Promise<FolderListing & { readonly isComplete: boolean }> {
    const { directory, signal, commitId, path: folder, tree, isQuick } = query;
    const key = toKey(query, commitId);
    const cached = listings.get(key);
    if (cached !== undefined && withLast) return { ...cached, isComplete: true };
    const options = { directory, signal };
    const listed: TreeEntry[] = [];
    let total = 0;
    for await (const entry of listTree(git, tree, options)) {
      if (listed.length < FOLDER_ENTRIES_MAX) listed.push(entry);
      total += 1;
    }
    const names = listed.map(({ path }) => path);
    const { commits, isComplete } = withLast
      ? await readLastCommits(
          { git, objects, graphs },
          { ...options, tip: commitId, folder, names, known: toKnown(query), isQuick },
        )
      : { commits: new Map<string, LastCommit>(), isComplete: false };
    const found = listed.map((entry) => ({
      entry: { ...entry, path: folder === "" ? entry.path : `${folder}/${entry.path}` },
      last: commits.get(entry.path),
    }));
    const listing = { entries: await addDetails(git, commitId, found, options), total };
    if (isComplete) listings.set(key, listing, listing.entries.length + 1);
    return { ...listing, isComplete };
  }

  function toKnown(query: Omit<FolderQuery, "tree">): KnownLastCommits {
    return {
      find: (commitId) => searches.get(toKey(query, commitId)),
      keep: (result) =>
        searches.set(
          toKey(query, query.commitId),
          result,
          result.found.size + result.rest.size + 1,
        ),
    };
  }
}

const toKey = ({ repositoryId, path }: Omit<FolderQuery, "tree">, commitId: string) =>
  `${repositoryId} ${commitId} ${path}`;

/** Reads the targets of links and the addresses of submodules. */
export async function addDetails(
  git: Git,
  commitId: string,
  entries: readonly Pick<ContentsEntry, "entry" | "last">[],
  options: ReadOptions,
): Promise<ContentsEntry[]> {
  const links = entries
    .map(({ entry }) => entry)
    .filter(({ mode, size }) => mode === SYMLINK && size <= LINK_BYTES_MAX);
  const targets = await readBeginnings(
    git,
    links.map(({ id }) => id),
    options,
  );
  const targetOf = new Map(
    links.map(({ id }, index) => [id, targets[index]?.bytes.toString("utf8")]),
  );
  const hasSubmodules = entries.some(({ entry }) => entry.type === "commit");
  const submodules = hasSubmodules ? await readSubmodules(git, commitId, options) : undefined;
  return entries.map((each) => ({
    ...each,
    target: each.entry.mode === SYMLINK ? targetOf.get(each.entry.id) : undefined,
    submoduleUrl: each.entry.type === "commit" ? submodules?.get(each.entry.path) : undefined,
  }));
}
