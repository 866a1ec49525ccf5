import type { Database } from "../../../storage/engine/database.ts";
import type { Git } from "../../../storage/git/git.ts";
import { rebase } from "../../../storage/git/merge.ts";
import type { ForgePull } from "../../../storage/tables/forge/pulls/pulls.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import type { OwnedRepository } from "../events.ts";
import { type Combination, mergeUpstream, type TakeUpstream } from "../git/take-upstream.ts";
import type { GrantedRepository } from "../opened.ts";
import { toSettings } from "../repositories/repository-settings.view.ts";
import { assertOpen, openHead, openPull } from "./open-pull.ts";

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

export function createPullUpdate({
  db,
  git,
  takeUpstream,
}: {
  readonly db: Database;
  readonly git: Git;
  readonly takeUpstream: TakeUpstream;
}): UpdatePull {
  return async (opened, caller, { number, style: requested, signal }) => {
    const found = await openPull(db, opened, number);
    assertOpen(found);
    const { pull } = found;
    const style = toAllowedStyle(opened, requested);
    const head = await openHead(db, pull, caller.user);
    const target = { owned: head, branch: pull.headBranch };
    const source = { owned: opened, branch: pull.baseBranch };
    await takeUpstream({ target, source, caller, signal }, (combination) =>
      combine(pull, style, combination),
    );
  };

  /** Writes the commits of the update and returns the last one. */
  async function combine(
    { headBranch, baseBranch }: ForgePull,
    style: UpdateStyle,
    combination: Combination,
  ): Promise<string> {
    const { before, upstream, committer, options } = combination;
    if (style === "rebase") {
      const rebased = await rebase(git, { onto: upstream, head: before, committer }, options);
      if (rebased.kind === "conflict") throw conflict(style);
      return rebased.tip;
    }
    const message = `Merge branch '${baseBranch}' into ${headBranch}\n`;
    const merged = await mergeUpstream(git, combination, message);
    if (merged.kind === "conflict") throw conflict(style);
    return merged.commit;
  }
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
