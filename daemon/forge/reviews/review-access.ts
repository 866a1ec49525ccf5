import type { Queries, Transaction } from "../../../storage/engine/database.ts";
import { toReviewId, type UserId } from "../../../storage/tables/forge/ids.ts";
import { type ForgeReview, findReview } from "../../../storage/tables/forge/pulls/reviews.ts";
import { listBranchProtections } from "../../../storage/tables/forge/repositories/branch-protections.ts";
import { type ActingUser, type ForgeCaller, isSelf } from "../caller.ts";
import type { Compute } from "../compute.ts";
import type { OwnedRepository } from "../events.ts";
import { isVisible } from "../issues/changeable-comment.ts";
import { notFound } from "../refusals.ts";
import { findAccess, reaches } from "../repositories/access.ts";
import { findRules, isListed } from "../repositories/protected-refs.ts";
import { type OpenedPull, openPull } from "../pulls/open-pull.ts";
import type { ForgePull } from "../../../storage/tables/forge/pulls/pulls.ts";

/** A review with its pull request. */
export interface OpenedReview extends OpenedPull {
  readonly review: ForgeReview;
}

/** The review that a path names, and its pull request. */
export interface ReviewPath {
  readonly index: number;
  readonly id: number;
}

/** Returns whose pending reviews a caller sees. */
export const toViewer = (caller: ForgeCaller | undefined): UserId | "all" | undefined =>
  caller?.user.isAdmin === true ? "all" : caller?.user.id;

/** Finds a review. Refuses with `not_found`, also a pending review of another person unless the caller is a site administrator. */
export async function openReview(
  db: Queries,
  owned: OwnedRepository,
  caller: ForgeCaller | undefined,
  { index, id }: ReviewPath,
): Promise<OpenedReview> {
  const opened = await openPull(db, owned, index);
  const review = await findReview(db, opened.issue.id, toReviewId(id));
  if (review === undefined || !isVisible(review, caller)) throw notFound();
  return { ...opened, review };
}

/**
 * Returns whether the verdict of a person counts for the rule of the base branch: those on its list for approvals if it has
 * one, else those who may write. An approval by a job never counts: a user who may push could write a workflow that approves.
 */
export type IsOfficial = (
  tx: Transaction,
  owned: OwnedRepository,
  pull: ForgePull,
  user: ActingUser,
) => Promise<boolean>;

export function createIsOfficial(compute: Compute): IsOfficial {
  return async (tx, owned, pull, user) => {
    if (!isSelf(user, user.id)) return false;
    const { repository } = owned;
    const rules = await listBranchProtections(tx, repository.id);
    const rule = (await findRules(compute, repository, rules, [pull.baseBranch]))(pull.baseBranch);
    if (rule?.settings.flags["enable_approvals_whitelist"] === true) {
      const { users, teams } = rule.settings;
      return isListed(
        tx,
        user,
        users["approvals_whitelist_username"],
        teams["approvals_whitelist_teams"],
      );
    }
    return reaches(await findAccess(tx, owned, user), "write");
  };
}

/** Returns whether a person has given an official verdict about a pull request. */
export const isOfficialReviewer = (verdicts: readonly ForgeReview[], userId: UserId): boolean =>
  verdicts.some(({ reviewerId, isOfficial }) => reviewerId === userId && isOfficial);
