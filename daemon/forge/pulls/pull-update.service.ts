import type { Database } from "../../../storage/engine/database.ts";
import { findCommitId } from "../../../storage/git/commits.ts";
import type { Git } from "../../../storage/git/git.ts";
import { isAncestor } from "../../../storage/git/history.ts";
import type { CommitPerson } from "../../../storage/git/initial-commit.ts";
import { commitTree, mergeTrees, rebase } from "../../../storage/git/merge.ts";
import { openQuarantine } from "../../../storage/git/object-quarantine.ts";
import type { ReadOptions } from "../../../storage/git/objects.ts";
import { fetchCommit } from "../../../storage/git/share-objects.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { ForgePull } from "../../../storage/tables/forge/pulls/pulls.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import type { OwnedRepository } from "../events.ts";
import type { RunInFolder } from "../git/run-in-folder.ts";
import type { WriteRefs } from "../git/write-refs.ts";
import type { GrantedRepository } from "../opened.ts";
import { notFound } from "../refusals.ts";
import { toSettings } from "../repositories/repository-settings.view.ts";
import { createChangeLimiter } from "../repositories/transfer-limiter.ts";
import { openHead, openPull } from "./open-pull.ts";

export type UpdateStyle = "merge" | "rebase";

/**
 * Brings the commits of the base into the head of a pull request, as a push by the caller; has no effect on one that has
 * them. Refuses with `unprocessable` a closed or merged pull request, with `forbidden` a caller who may not push to the
 * head and a style that the repository does not allow, with `conflict` files that both sides changed and a head that moved
 * meanwhile.
 */
export type UpdatePull = (
  opened: GrantedRepository,
  caller: ForgeCaller,
  options: {
    readonly number: number;
    /** Undefined for the default of the repository. */
    readonly style: UpdateStyle | undefined;
    readonly signal: AbortSignal;
  },
) => Promise<void>;

export interface PullUpdateDeps {
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

export function createPullUpdate(deps: PullUpdateDeps): UpdatePull {
  const { db, git, clock, newUuid, runInFolder, writeRefs, toCommitPerson } = deps;
  const limiter = createChangeLimiter();

  return async (opened, caller, { number, style: requested, signal }) => {
    const { issue, pull } = await openPull(db, opened, number);
    if (pull.mergedAt !== undefined)
      throw new AppError("unprocessable", "pull request is already merged");
    if (issue.isClosed) throw new AppError("unprocessable", "pull request is closed");
    const style = toAllowedStyle(opened, requested);
    const head = await openHead(db, pull, caller.user);
    const release = await limiter.acquire({ caller, address: "" }, signal);
    try {
      await update(opened, head, pull, { style, user: caller.user, signal });
    } finally {
      release();
    }
  };

  async function update(
    base: OwnedRepository,
    head: OwnedRepository,
    pull: ForgePull,
    change: Change,
  ): Promise<void> {
    const { user, signal } = change;
    const ref = `refs/heads/${pull.headBranch}`;
    const upstream = await runInFolder(base.repository, (directory) =>
      findCommitId(git, directory, `refs/heads/${pull.baseBranch}`),
    );
    await runInFolder(head.repository, async (directory) => {
      const before = await findCommitId(git, directory, ref);
      if (before === undefined || upstream === undefined) throw notFound();
      if (head.repository.id !== base.repository.id)
        await runInFolder(base.repository, (source) =>
          fetchCommit(git, { source, commit: upstream }, { directory, signal }),
        );
      if (await isAncestor(git, directory, upstream, before)) return;
      await using quarantine = await openQuarantine(directory, newUuid());
      const options = { directory, signal, env: quarantine.env };
      const after = await combine(pull, { before, upstream }, change, options);
      const outcome = await writeRefs(head, user, [{ ref, before, after }], { quarantine });
      if (outcome !== "written")
        throw new AppError("conflict", "the branch was changed in the meantime, try again");
    });
  }

  /** Writes the commits of the update and returns the last one. */
  async function combine(
    { headBranch, baseBranch }: ForgePull,
    { before, upstream }: { readonly before: string; readonly upstream: string },
    { style, user }: Change,
    options: ReadOptions & { readonly env: Readonly<Record<string, string>> },
  ): Promise<string> {
    const seconds = Math.floor(clock() / 1000);
    const person = { ...toCommitPerson(user), seconds, zone: "+0000" };
    if (style === "rebase") {
      const ends = { onto: upstream, head: before, committer: person };
      const rebased = await rebase(git, ends, options);
      if (rebased.kind === "conflict") throw conflict(style);
      return rebased.tip;
    }
    const merged = await mergeTrees(git, before, upstream, options);
    if (merged.kind === "conflict") throw conflict(style);
    const commit = {
      tree: merged.tree,
      parents: [before, upstream],
      author: person,
      committer: person,
      message: `Merge branch '${baseBranch}' into ${headBranch}\n`,
    };
    return commitTree(git, commit, options);
  }
}

interface Change {
  readonly style: UpdateStyle;
  readonly user: ForgeUser;
  readonly signal: AbortSignal;
}

/** Refuses with `forbidden` a style that the repository does not allow. */
function toAllowedStyle(
  { repository }: OwnedRepository,
  requested: UpdateStyle | undefined,
): UpdateStyle {
  const settings = toSettings(repository.settings);
  const style = requested ?? (settings.default_update_style === "rebase" ? "rebase" : "merge");
  const isAllowed = style === "rebase" ? settings.allow_rebase_update : settings.allow_merge_update;
  if (isAllowed === true) return style;
  throw new AppError("forbidden", `the repository does not allow updates by ${style}`);
}

const conflict = (style: UpdateStyle) =>
  new AppError("conflict", `${style} failed because of conflict`);
