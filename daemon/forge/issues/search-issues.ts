import type { Database } from "../../../storage/engine/database.ts";
import { type IssueFilter, listIssues } from "../../../storage/tables/forge/issues/lists.ts";
import { findUserByName, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import { isKnownTo } from "../accounts/users.service.ts";
import type { ForgeCaller } from "../caller.ts";
import { findVisibleTeamId } from "../organizations/organization-access.ts";
import { toQueryRange } from "../notifications/query-time.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { type IssueDetails, loadAllIssueDetails } from "./issue-details.ts";
import { toNames, toOrder } from "./list-issues.ts";
import { listOwnedRepositories } from "./readable-issues.ts";
import { type TeamId, toRepositoryId } from "../../../storage/tables/forge/ids.ts";

/** The filters of a search, as in the query; an empty text does not filter. */
export interface IssueSearchOptions extends PageWindow {
  readonly state: string;
  /** Names, separated by commas: an issue must have one of them. */
  readonly labels: string;
  readonly milestones: string;
  readonly q: string;
  readonly type: string;
  readonly priority_repo_id: number;
  readonly since: string;
  readonly before: string;
  /** Whether to select only issues that the caller is assigned to, opened, is mentioned in, is to review or reviewed. */
  readonly assigned: boolean;
  readonly created: boolean;
  readonly mentioned: boolean;
  readonly review_requested: boolean;
  readonly reviewed: boolean;
  readonly owner: string;
  readonly team: string;
  readonly sort: string;
}

/**
 * Lists issues of all repositories that the caller may read, newest first; those of `priority_repo_id` come first.
 * Refuses an unknown owner or team with `invalid_argument`, an invalid time with `unprocessable`. An anonymous caller
 * is assigned to no issue.
 */
export async function searchIssues(
  db: Database,
  caller: ForgeCaller | undefined,
  query: IssueSearchOptions,
): Promise<{ readonly issues: readonly IssueDetails[]; readonly total: number }> {
  const viewer = caller?.user;
  const range = toQueryRange(query);
  if (query.team !== "" && query.owner === "")
    throw new AppError("invalid_argument", "Owner organisation is required for filtering on team");
  const owner = query.owner === "" ? undefined : await findOwner(query.owner);
  const teamId =
    owner === undefined || query.team === "" ? undefined : await findTeamId(owner, query.team);
  const isAboutReviews = query.review_requested || query.reviewed;
  const isAboutCaller = query.assigned || query.created || query.mentioned || isAboutReviews;
  if (isAboutCaller && viewer === undefined) return { issues: [], total: 0 };
  const state = query.state.toLowerCase();
  const filter: IssueFilter = {
    within: {
      reader: viewer,
      isPublicOnly: isPublicOnly(caller),
      ownerId: owner?.id,
      teamId,
    },
    isPull: query.type === "pulls" ? true : query.type === "issues" ? false : undefined,
    state: state === "closed" || state === "all" ? state : "open",
    term: query.q,
    labelIds: [],
    labelNames: toNames(query.labels),
    milestoneTitles: toNames(query.milestones),
    ...(query.assigned ? { assigneeId: viewer?.id } : {}),
    ...(query.created ? { authorId: viewer?.id } : {}),
    ...(query.mentioned ? { mentionedId: viewer?.id } : {}),
    ...(query.review_requested ? { requestedReviewerId: viewer?.id } : {}),
    ...(query.reviewed ? { reviewerId: viewer?.id } : {}),
    ...range,
  };
  const first = toRepositoryId(query.priority_repo_id);
  const order = toOrder(query.sort);
  const window = { ...toRows(query), order, ...(first > 0 ? { firstRepositoryId: first } : {}) };
  const found = await listIssues(db, filter, window);
  const places = await listOwnedRepositories(
    db,
    found.issues.map((issue) => issue.repositoryId),
  );
  const all = found.issues.flatMap((issue) => {
    const owned = places.get(issue.repositoryId);
    return owned === undefined ? [] : [{ owned, issue }];
  });
  return { issues: await loadAllIssueDetails(db, all, viewer), total: found.total };

  async function findOwner(name: string): Promise<ForgeUser> {
    const owner = await findUserByName(db, name);
    if (owner === undefined || !(await isKnownTo(db, owner, viewer)))
      throw new AppError("invalid_argument", `user does not exist [name: ${name}]`);
    return owner;
  }

  async function findTeamId(organization: ForgeUser, name: string): Promise<TeamId> {
    const id = await findVisibleTeamId(db, organization, name, caller);
    if (id === undefined)
      throw new AppError(
        "invalid_argument",
        `team does not exist [org_id ${organization.id}, team_id 0, name: ${name}]`,
      );
    return id;
  }
}
