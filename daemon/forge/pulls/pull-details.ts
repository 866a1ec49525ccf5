import type { Queries } from "../../../storage/engine/database.ts";
import {
  findUserById,
  type ForgeUser,
  listUsersByIds,
} from "../../../storage/tables/forge/accounts/users.ts";
import { type ForgeTeam, listTeamsByIds } from "../../../storage/tables/forge/accounts/teams.ts";
import type { IssueId, RepositoryId } from "../../../storage/tables/forge/ids.ts";
import type { ForgePull } from "../../../storage/tables/forge/pulls/pulls.ts";
import {
  countSubmittedReviews,
  listReviewRequests,
} from "../../../storage/tables/forge/pulls/reviews.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import { countWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import type { OwnedRepository } from "../events.ts";
import { type IssueDetails, loadIssueDetails } from "../issues/issue-details.ts";
import { findAccess, isPublic, reaches } from "../repositories/access.ts";
import type { RepositoryDetails } from "../repositories/repository.view.ts";
import type { OpenedPull } from "./open-pull.ts";

/** A pull request with the records that its view shows. */
export interface PullDetails extends IssueDetails {
  readonly pull: ForgePull;
  readonly base: RepositoryDetails;
  /** Undefined when it is deleted, and when the viewer may not read it. */
  readonly head: RepositoryDetails | undefined;
  /** Undefined for one that is not merged, and once the account is deleted. */
  readonly mergedBy: ForgeUser | undefined;
  readonly reviews: ReviewSummary;
}

/** What a pull request shows of its reviews. */
export interface ReviewSummary {
  /** People and teams who were asked and have not answered. */
  readonly requestedUsers: readonly ForgeUser[];
  readonly requestedTeams: readonly ForgeTeam[];
  /** Submitted reviews. */
  readonly count: number;
}

async function loadReviewSummary(db: Queries, issueId: IssueId): Promise<ReviewSummary> {
  const requests = await listReviewRequests(db, issueId);
  const userIds = requests.flatMap(({ reviewerId }) => reviewerId ?? []);
  const teamIds = requests.flatMap(({ teamId }) => teamId ?? []);
  return {
    requestedUsers: await listUsersByIds(db, userIds),
    requestedTeams: await listTeamsByIds(db, teamIds),
    count: await countSubmittedReviews(db, issueId),
  };
}

/** Loads the records of pull requests for one viewer; repositories once for all of them. */
export type LoadPull = (owned: OwnedRepository, opened: OpenedPull) => Promise<PullDetails>;

export function createPullLoader(db: Queries, caller: ForgeCaller | undefined): LoadPull {
  const repositories = new Map<RepositoryId, Promise<RepositoryDetails | undefined>>();
  return async (owned, { issue, pull }) => {
    const base = await findOnce(owned.repository.id);
    if (base === undefined) throw new Error("the base of a pull request is missing");
    const { headRepositoryId, mergedBy } = pull;
    const head = headRepositoryId === undefined ? undefined : await findOnce(headRepositoryId);
    const mayReadHead =
      head !== undefined &&
      (head.repository.id === base.repository.id ||
        (reaches(head.access, "read") && !(isPublicOnly(caller) && !isPublic(head))));
    return {
      ...(await loadIssueDetails(db, owned, issue, caller?.user)),
      pull,
      base,
      head: mayReadHead ? head : undefined,
      mergedBy: mergedBy === undefined ? undefined : await findUserById(db, mergedBy),
      reviews: await loadReviewSummary(db, issue.id),
    };
  };

  function findOnce(id: RepositoryId): Promise<RepositoryDetails | undefined> {
    const known = repositories.get(id);
    if (known !== undefined) return known;
    const finding = find(id);
    repositories.set(id, finding);
    return finding;
  }

  async function find(id: RepositoryId): Promise<RepositoryDetails | undefined> {
    const repository = await findRepositoryById(db, id);
    const owner = repository && (await findUserById(db, repository.ownerId));
    if (repository === undefined || owner === undefined) return undefined;
    const owned = { repository, owner };
    const access = await findAccess(db, owned, caller?.user);
    const watchers = (await countWatchers(db, [id])).get(id) ?? 0;
    return { ...owned, watchers, access, isSignedIn: caller !== undefined };
  }
}
