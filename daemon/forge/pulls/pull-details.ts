import type { Queries } from "../../../storage/engine/database.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { type ForgeTeam, listTeamsByIds } from "../../../storage/tables/forge/accounts/teams.ts";
import type { IssueId, RepositoryId } from "../../../storage/tables/forge/ids.ts";
import type { ForgePull } from "../../../storage/tables/forge/pulls/pulls.ts";
import {
  countSubmittedReviews,
  listReviewRequestsOf,
} from "../../../storage/tables/forge/pulls/reviews.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import { countWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import type { ForgeCaller } from "../caller.ts";
import type { OwnedRepository } from "../events.ts";
import { findPeople, type IssueDetails, loadAllIssueDetails } from "../issues/issue-details.ts";
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

/** Loads the records of a pull request for a viewer. */
export async function loadPullDetails(
  db: Queries,
  caller: ForgeCaller | undefined,
  owned: OwnedRepository,
  opened: OpenedPull,
): Promise<PullDetails> {
  const [details] = await loadAllPullDetails(db, caller, owned, [opened]);
  if (details === undefined) throw new Error("the details of a pull request are missing");
  return details;
}

/** Loads the records of pull requests of one repository: all of one kind at once, but each head by itself. */
export async function loadAllPullDetails(
  db: Queries,
  caller: ForgeCaller | undefined,
  owned: OwnedRepository,
  all: readonly OpenedPull[],
): Promise<PullDetails[]> {
  const issues = all.map(({ issue }) => ({ owned, issue }));
  const details = await loadAllIssueDetails(db, issues, caller?.user);
  const reviews = await loadReviewSummaries(
    db,
    all.map(({ issue }) => issue.id),
  );
  const mergers = await findPeople(
    db,
    all.map(({ pull }) => pull.mergedBy),
  );
  const places = new Map<RepositoryId, RepositoryDetails | undefined>();
  for (const id of [owned.repository.id, ...all.flatMap(({ pull }) => pull.headRepositoryId ?? [])])
    if (!places.has(id)) places.set(id, await findPlace(db, caller, id));
  const base = places.get(owned.repository.id);
  if (base === undefined) throw new Error("the base of a pull request is missing");
  return all.map(({ issue, pull }, at) => {
    const issueDetails = details[at];
    const review = reviews.get(issue.id);
    if (issueDetails === undefined || review === undefined)
      throw new Error("the details of a pull request are missing");
    const { headRepositoryId, mergedBy } = pull;
    const head = headRepositoryId === undefined ? undefined : places.get(headRepositoryId);
    return {
      ...issueDetails,
      pull,
      base,
      head: mayReadHead(head, base, caller) ? head : undefined,
      mergedBy: mergedBy === undefined ? undefined : mergers.get(mergedBy),
      reviews: review,
    };
  });
}

function mayReadHead(
  head: RepositoryDetails | undefined,
  base: RepositoryDetails,
  caller: ForgeCaller | undefined,
): boolean {
  if (head === undefined) return false;
  if (head.repository.id === base.repository.id) return true;
  return reaches(head.access, "read") && !(isPublicOnly(caller) && !isPublic(head));
}

async function loadReviewSummaries(
  db: Queries,
  ids: readonly IssueId[],
): Promise<ReadonlyMap<IssueId, ReviewSummary>> {
  const requests = await listReviewRequestsOf(db, ids);
  const asked = [...requests.values()].flat();
  const users = await findPeople(
    db,
    asked.map(({ reviewerId }) => reviewerId),
  );
  const teamIds = new Set(asked.flatMap(({ teamId }) => teamId ?? []));
  const teams = await listTeamsByIds(db, [...teamIds]);
  const counts = await countSubmittedReviews(db, ids);
  return new Map(
    ids.map((id) => {
      const own = requests.get(id) ?? [];
      const summary = {
        requestedUsers: own.flatMap(({ reviewerId }) =>
          reviewerId === undefined ? [] : (users.get(reviewerId) ?? []),
        ),
        requestedTeams: teams.filter((team) => own.some(({ teamId }) => teamId === team.id)),
        count: counts.get(id) ?? 0,
      };
      return [id, summary];
    }),
  );
}

async function findPlace(
  db: Queries,
  caller: ForgeCaller | undefined,
  id: RepositoryId,
): Promise<RepositoryDetails | undefined> {
  const repository = await findRepositoryById(db, id);
  const owner = repository && (await findUserById(db, repository.ownerId));
  if (repository === undefined || owner === undefined) return undefined;
  const owned = { repository, owner };
  const access = await findAccess(db, owned, caller?.user);
  const watchers = (await countWatchers(db, [id])).get(id) ?? 0;
  return { ...owned, watchers, access, isSignedIn: caller !== undefined };
}
