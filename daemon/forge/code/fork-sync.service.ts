import type { Database } from "../../../storage/engine/database.ts";
import { findCommitId } from "../../../storage/git/commits.ts";
import type { Git } from "../../../storage/git/git.ts";
import { isAncestor } from "../../../storage/git/history.ts";
import type { CommitPerson } from "../../../storage/git/initial-commit.ts";
import { commitTree, mergeTrees } from "../../../storage/git/merge.ts";
import { openQuarantine } from "../../../storage/git/object-quarantine.ts";
import type { ReadOptions } from "../../../storage/git/objects.ts";
import { fetchCommit } from "../../../storage/git/share-objects.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import { isRefName } from "../../contract/forge/repositories/rules.ts";
import { copyLargeFiles } from "../../../storage/tables/forge/repositories/large-files.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import type { OwnedRepository } from "../events.ts";
import type { RunInFolder } from "../git/run-in-folder.ts";
import type { WriteRefs } from "../git/write-refs.ts";
import type { GrantedRepository } from "../opened.ts";
import { notFound } from "../refusals.ts";
import { grantRepository } from "../repositories/open-repository.ts";
import { createChangeLimiter } from "../repositories/transfer-limiter.ts";

/** How a branch of a fork got the commits of its parent's. */
export type SyncOutcome = "up-to-date" | "fast-forward" | "merge";

export interface SyncOptions {
  /** Empty for the default branch of the fork. */
  readonly branch: string;
  /** Whether diverged branches are refused instead of merged. */
  readonly isFastForwardOnly: boolean;
}

/**
 * Updates a branch of a fork from the parent's branch of that name, as a push by the caller. Refuses with `unprocessable` a
 * repository that is not a fork, with `not_found` a branch that one of both lacks and a parent that the caller may not
 * read, with `invalid_argument` diverged branches under `isFastForwardOnly`, with `conflict` files that both sides changed
 * and a branch that moved meanwhile, and with `forbidden` a protected branch.
 */
export type SyncFork = (
  opened: GrantedRepository,
  options: SyncOptions,
  caller: ForgeCaller,
  signal: AbortSignal,
) => Promise<SyncOutcome>;

export interface ForkSyncDeps {
  readonly db: Database;
  readonly git: Git;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly newId: () => string;
  readonly runInFolder: RunInFolder;
  readonly writeRefs: WriteRefs;
  readonly toCommitPerson: (user: ForgeUser) => CommitPerson;
}

type WriteOptions = ReadOptions & { readonly env: Readonly<Record<string, string>> };

/** Conflicting paths that a refusal names. */
const NAMED_MAX = 20;

export function createForkSync({
  db,
  git,
  clock,
  newId,
  runInFolder,
  writeRefs,
  toCommitPerson,
}: ForkSyncDeps): SyncFork {
  const limiter = createChangeLimiter();

  return async (opened, options, caller, signal) => {
    const parent = await openParent(opened, caller);
    const branch = options.branch === "" ? opened.repository.defaultBranch : options.branch;
    if (!isRefName(branch)) throw notFound();
    const release = await limiter.acquire({ caller, address: "" }, signal);
    try {
      return await update(opened, parent, { ...options, branch }, caller, signal);
    } finally {
      release();
    }
  };

  async function update(
    fork: GrantedRepository,
    parent: OwnedRepository,
    { branch, isFastForwardOnly }: SyncOptions,
    { user }: ForgeCaller,
    signal: AbortSignal,
  ): Promise<SyncOutcome> {
    const ref = `refs/heads/${branch}`;
    const findHead = (directory: string) => findCommitId(git, directory, ref);
    const upstream = await runInFolder(parent.repository, findHead);
    return runInFolder(fork.repository, async (directory) => {
      const before = await findHead(directory);
      if (before === undefined || upstream === undefined) throw notFound();
      await using quarantine = await openQuarantine(directory, newId());
      const { env, folder } = quarantine;
      const options = { directory, signal, env };
      await runInFolder(parent.repository, (source) =>
        fetchCommit(git, { source, commit: upstream }, options),
      );
      const isWithin = (ancestor: string, descendant: string) =>
        isAncestor(git, directory, ancestor, descendant, folder);
      if (await isWithin(upstream, before)) return "up-to-date";
      const isForward = await isWithin(before, upstream);
      if (!isForward && isFastForwardOnly)
        throw new AppError(
          "invalid_argument",
          "fast forward merge not possible: branch has diverged",
        );
      const source = `${parent.owner.name}/${parent.repository.name}`;
      const message = `Merge branch '${branch}' of ${source} into ${branch}\n`;
      const after = isForward ? upstream : await merge(options, [before, upstream], message, user);
      // The commits may name large files that the parent has got since the fork.
      const ids = { from: parent.repository.id, to: fork.repository.id };
      await db.transaction((tx) => copyLargeFiles(tx, ids));
      const outcome = await writeRefs(fork, user, [{ ref, before, after }], { quarantine });
      if (outcome !== "written")
        throw new AppError("conflict", "the branch was changed in the meantime, try again");
      return isForward ? "fast-forward" : "merge";
    });
  }

  async function merge(
    options: WriteOptions,
    parents: readonly [string, string],
    message: string,
    user: ForgeUser,
  ): Promise<string> {
    const merged = await mergeTrees(git, ...parents, options);
    if (merged.kind === "conflict") {
      const paths = merged.paths.slice(0, NAMED_MAX).join(", ");
      const more = merged.paths.length > NAMED_MAX ? ", …" : "";
      throw new AppError("conflict", `merge failed because of conflict: ${paths}${more}`);
    }
    const seconds = Math.floor(clock() / 1000);
    const person = { ...toCommitPerson(user), seconds, zone: "+0000" };
    const commit = { tree: merged.tree, parents, author: person, committer: person, message };
    return commitTree(git, commit, options);
  }

  async function openParent(
    { repository }: GrantedRepository,
    caller: ForgeCaller,
  ): Promise<OwnedRepository> {
    if (repository.forkOf === undefined)
      throw new AppError("unprocessable", "the repository is not a fork");
    const parent = await findRepositoryById(db, repository.forkOf);
    const owner = parent && (await findUserById(db, parent.ownerId));
    if (parent === undefined || owner === undefined) throw notFound();
    const permission = { kind: "repository", part: "code", level: "read" } as const;
    return grantRepository(
      db,
      { repository: parent, owner },
      { caller, permission, isChange: false },
    );
  }
}
