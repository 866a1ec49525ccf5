import type { Database } from "../../../storage/engine/database.ts";
import { findCommitId } from "../../../storage/git/commits.ts";
import type { Git } from "../../../storage/git/git.ts";
import { isAncestor } from "../../../storage/git/history.ts";
import type { CommitPerson } from "../../../storage/git/initial-commit.ts";
import { commitTree, mergeTrees } from "../../../storage/git/merge.ts";
import { openQuarantine } from "../../../storage/git/object-quarantine.ts";
import type { ReadOptions } from "../../../storage/git/objects.ts";
import { fetchCommit } from "../../../storage/git/share-objects.ts";
import type { DatedPerson } from "../../../storage/git/write-commit.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { copyLargeFiles } from "../../../storage/tables/forge/repositories/large-files.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import type { OwnedRepository } from "../events.ts";
import { notFound } from "../refusals.ts";
import { createChangeLimiter } from "../repositories/transfer-limiter.ts";
import type { RunInFolder } from "./run-in-folder.ts";
import type { WriteRefs } from "./write-refs.ts";

/** A branch, by its short name. */
export interface BranchOf {
  readonly owned: OwnedRepository;
  readonly branch: string;
}

/** A branch that gets the commits of another one, maybe of another repository. */
export interface Upstreams {
  readonly target: BranchOf;
  readonly source: BranchOf;
  readonly caller: ForgeCaller;
  readonly signal: AbortSignal;
}

/** What writes the commits that bring both sides together. */
export interface Combination {
  /** The commits of the target and of the source, of which neither has the other one, unless `isForward`. */
  readonly before: string;
  readonly upstream: string;
  /** Whether the target has no commit of its own. */
  readonly isForward: boolean;
  readonly committer: DatedPerson;
  /** Where git reads and writes objects. */
  readonly options: ReadOptions & { readonly env: Readonly<Record<string, string>> };
}

export interface TakeUpstreamDeps {
  readonly db: Database;
  readonly git: Git;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** A name that no other running call uses. */
  readonly newUuid: () => string;
  readonly runInFolder: RunInFolder;
  readonly writeRefs: WriteRefs;
  readonly toCommitPerson: (user: ForgeUser) => CommitPerson;
}

/**
 * Brings the commits of one branch into another one, as a push by the caller. Returns whether the branch moved: `combine`
 * returns its new commit, and is not called where it has the commits already. Refuses with `not_found` a missing branch, and
 * with `conflict` a branch that moves meanwhile.
 */
export type TakeUpstream = (
  upstreams: Upstreams,
  combine: (combination: Combination) => Promise<string>,
) => Promise<boolean>;

export function createTakeUpstream(deps: TakeUpstreamDeps): TakeUpstream {
  const { db, git, clock, newUuid, runInFolder, writeRefs, toCommitPerson } = deps;
  const limiter = createChangeLimiter();

  return async (upstreams, combine) => {
    const { caller, signal } = upstreams;
    const release = await limiter.acquire({ caller, address: "" }, signal);
    try {
      return await take(upstreams, combine);
    } finally {
      release();
    }
  };

  async function take(
    { target: { owned: target, branch }, source, caller: { user }, signal }: Upstreams,
    combine: (combination: Combination) => Promise<string>,
  ): Promise<boolean> {
    const ref = `refs/heads/${branch}`;
    const { repository: from } = source.owned;
    const upstream = await runInFolder(from, (directory) =>
      findCommitId(git, directory, `refs/heads/${source.branch}`),
    );
    return runInFolder(target.repository, async (directory) => {
      const before = await findCommitId(git, directory, ref);
      if (before === undefined || upstream === undefined) throw notFound();
      await using quarantine = await openQuarantine(directory, newUuid());
      const { env, folder } = quarantine;
      const options = { directory, signal, env };
      if (from.id !== target.repository.id)
        await runInFolder(from, (origin) =>
          fetchCommit(git, { source: origin, commit: upstream }, options),
        );
      if (await isAncestor(git, directory, upstream, before, folder)) return false;
      const isForward = await isAncestor(git, directory, before, upstream, folder);
      const seconds = Math.floor(clock() / 1000);
      const committer = { ...toCommitPerson(user), seconds, zone: "+0000" };
      const after = await combine({ before, upstream, isForward, committer, options });
      // The commits may name large files that the source has got since the fork.
      if (from.id !== target.repository.id)
        await db.transaction((tx) =>
          copyLargeFiles(tx, { from: from.id, to: target.repository.id }),
        );
      const outcome = await writeRefs(target, user, [{ ref, before, after }], { quarantine });
      if (outcome !== "written")
        throw new AppError("conflict", "the branch was changed in the meantime, try again");
      return true;
    });
  }
}

/** Writes the commit that merges both sides, or returns the paths on which they disagree. */
export async function mergeUpstream(
  git: Git,
  { before, upstream, committer, options }: Combination,
  message: string,
): Promise<
  | { readonly kind: "merged"; readonly commit: string }
  | { readonly kind: "conflict"; readonly paths: readonly string[] }
> {
  const merged = await mergeTrees(git, before, upstream, options);
  if (merged.kind === "conflict") return merged;
  const { tree } = merged;
  const parents = [before, upstream];
  const commit = { tree, parents, author: committer, committer, message };
  return { kind: "merged", commit: await commitTree(git, commit, options) };
}
