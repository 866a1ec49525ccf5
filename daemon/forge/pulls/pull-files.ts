import type { CommitPair } from "../../../storage/git/changed-paths.ts";
import { type DiffSummary, type IgnoredSpace, readDiff } from "../../../storage/git/diff-files.ts";
import type { Git } from "../../../storage/git/git.ts";
import type { ReadOptions } from "../../../storage/git/objects.ts";
import type { RepositoryId } from "../../../storage/tables/forge/ids.ts";
import { createLruCache } from "../../utilities/lru-cache.ts";

/** Files of one pull request that are listed; the counts are over all. */
const FILES_MAX = 20_000;
/** Characters of the paths of one list, and of all lists that are kept. */
const LIST_CHARACTERS_MAX = 4 * 1024 * 1024;
const CHARACTERS_MAX = 24 * 1024 * 1024;
/** Characters that a file costs beside its path. */
const FILE_COST = 100;

/** The files between two commits. They never change, so the lists of the last pull requests are kept. */
export type PullFiles = ReturnType<typeof createPullFiles>;

export function createPullFiles({ git }: { readonly git: Git }) {
  const lists = createLruCache<DiffSummary>({
    valueLengthMax: LIST_CHARACTERS_MAX,
    lengthMax: CHARACTERS_MAX,
  });
  return {
    async list(
      repositoryId: RepositoryId,
      pair: CommitPair,
      { ignoredSpace, ...options }: ReadOptions & { readonly ignoredSpace?: IgnoredSpace },
    ): Promise<DiffSummary> {
      const key = `${repositoryId} ${pair.before} ${pair.after} ${ignoredSpace ?? ""}`;
      const known = lists.get(key);
      if (known !== undefined) return known;
      const found = await readDiff(git, pair, {
        ...options,
        filesMax: FILES_MAX,
        ...(ignoredSpace === undefined ? {} : { ignoredSpace }),
      });
      const length = found.files.reduce((sum, { path }) => sum + path.length + FILE_COST, 1);
      lists.set(key, found, length);
      return found;
    },
  };
}
