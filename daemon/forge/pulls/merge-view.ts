import type { Queries } from "../../../storage/engine/database.ts";
import { hasOpenBlocker } from "../../../storage/tables/forge/issues/dependencies.ts";
import type { IssueId } from "../../../storage/tables/forge/ids.ts";
import { listReviewRequests, listVerdicts } from "../../../storage/tables/forge/pulls/reviews.ts";
import {
  type BranchProtection,
  listBranchProtections,
} from "../../../storage/tables/forge/repositories/branch-protections.ts";
import {
  type CommitStatus,
  listLatestStatuses,
} from "../../../storage/tables/forge/repositories/statuses.ts";
import type { ForgeCaller } from "../caller.ts";
import type { AccessLevel, OpenedRepository } from "../opened.ts";
import { findAccess } from "../repositories/access.ts";
import type { ReviewFacts } from "../repositories/protected-merges.ts";
import { hasDependencies } from "../repositories/repository-settings.view.ts";
import { type OpenedPull, openPull } from "./open-pull.ts";

/** The rows that decide about a merge. They are read before it is computed, and again in its transaction. */
export interface MergeView extends OpenedPull {
  readonly place: OpenedRepository;
  /** The permission of the merger on the code. */
  readonly codeAccess: AccessLevel;
  readonly rules: readonly BranchProtection[];
  /** The latest status of each context of the head. */
  readonly statuses: readonly CommitStatus[];
  readonly reviews: ReviewFacts;
  /** Whether the pull request depends on an open issue. */
  readonly isBlocked: boolean;
}

export async function readMergeView(
  db: Queries,
  place: OpenedRepository,
  { user }: ForgeCaller,
  number: number,
): Promise<MergeView> {
  const { issue, pull } = await openPull(db, place, number);
  const { id, settings } = place.repository;
  return {
    place,
    issue,
    pull,
    codeAccess: await findAccess(db, place, user),
    rules: await listBranchProtections(db, id),
    statuses: await listLatestStatuses(db, id, pull.headCommit),
    reviews: await readReviewFacts(db, issue.id),
    isBlocked: hasDependencies(settings) && (await hasOpenBlocker(db, issue.id)),
  };
}

/** Returns the parts of a view that its decision depends on, to compare two of them. */
export function toDecisive({ place, issue, pull, codeAccess, rules, ...rest }: MergeView): object {
  const { repository, access } = place;
  return {
    repository: {
      id: repository.id,
      settings: repository.settings,
      defaultBranch: repository.defaultBranch,
    },
    access,
    codeAccess,
    issue: { isClosed: issue.isClosed, title: issue.title },
    pull: {
      headCommit: pull.headCommit,
      headRepositoryId: pull.headRepositoryId,
      headBranch: pull.headBranch,
      baseBranch: pull.baseBranch,
      mergedAt: pull.mergedAt,
    },
    rules: rules.map(({ ruleName, priority, settings }) => ({ ruleName, priority, settings })),
    statuses: rest.statuses.map(({ context, state }) => ({ context, state })),
    reviews: rest.reviews,
    isBlocked: rest.isBlocked,
  };
}

/** Returns the reviews of a pull request that count for a rule. */
async function readReviewFacts(db: Queries, issueId: IssueId): Promise<ReviewFacts> {
  const counted = (await listVerdicts(db, issueId)).filter(
    ({ isOfficial, isDismissed }) => isOfficial && !isDismissed,
  );
  const requests = await listReviewRequests(db, issueId);
  return {
    approvals: counted.flatMap(({ state, reviewerId, isStale }) =>
      state === "approved" && reviewerId !== undefined ? [{ reviewerId, isStale }] : [],
    ),
    isRejected: counted.some(({ state }) => state === "changes_requested"),
    isRequested: requests.some(({ isOfficial }) => isOfficial),
  };
}
