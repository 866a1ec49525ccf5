import type { Database } from "../../../storage/engine/database.ts";
import {
  type IssueFilter,
  isIssueOrder,
  type IssueOrder,
  listIssues,
  listLabelIds,
} from "../../../storage/tables/forge/issues/lists.ts";
import { findMilestone } from "../../../storage/tables/forge/issues/milestones.ts";
import { findUserByName } from "../../../storage/tables/forge/accounts/users.ts";
import {
  type UserId,
  type RepositoryId,
  type MilestoneId,
  toMilestoneId,
} from "../../../storage/tables/forge/ids.ts";
import { isKnownTo } from "../accounts/users.service.ts";
import type { ForgeCaller } from "../caller.ts";
import { toQueryRange } from "../notifications/query-time.ts";
import { toRows, type PageWindow } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import type { GrantedRepository } from "../opened.ts";
import { readsKind } from "./issue-access.ts";
import { loadAllIssueDetails, type IssueDetails } from "./issue-details.ts";

/** The filters of a list of issues, as in the query; an empty text does not filter. */
export interface IssueListOptions extends PageWindow {
  readonly state: string;
  /** Names, separated by commas. */
  readonly labels: string;
  /** Titles or ids, separated by commas. */
  readonly milestones: string;
  readonly q: string;
  readonly type: string;
  /** Range of the last change in RFC 3339, both ends included. */
  readonly since: string;
  readonly before: string;
  readonly created_by: string;
  readonly assigned_by: string;
  readonly mentioned_by: string;
  readonly sort: string;
}

/** Maximum number of labels in a filter: each costs a query. */
const LABELS_MAX = 50;

/**
 * Lists issues of a repository with the filters of the reference. An issue must have all of the labels; unknown labels
 * are ignored. Refuses an unknown user with `not_found` and an invalid time with `unprocessable`. Without a type it lists
 * issues and pull requests, if the caller may read them.
 */
export async function listRepositoryIssues(
  db: Database,
  opened: GrantedRepository,
  caller: ForgeCaller | undefined,
  query: IssueListOptions,
): Promise<{ readonly issues: readonly IssueDetails[]; readonly total: number }> {
  const readsIssues = await readsKind(db, opened, caller, { isPull: false });
  const readsPulls = await readsKind(db, opened, caller, { isPull: true });
  const wantsIssues = readsIssues && query.type !== "pulls";
  const wantsPulls = readsPulls && query.type !== "issues";
  if (!wantsIssues && !wantsPulls) return { issues: [], total: 0 };
  const state = query.state.toLowerCase();
  const filter: IssueFilter = {
    within: { repositoryId: opened.repository.id },
    isPull: wantsIssues && wantsPulls ? undefined : wantsPulls,
    state: state === "closed" || state === "all" ? state : "open",
    term: query.q,
    labelIds: await listLabelIds(db, opened.repository.id, toNames(query.labels)),
    milestoneIds: await findMilestones(opened.repository.id),
    authorId: await findNamed(query.created_by),
    assigneeId: await findNamed(query.assigned_by),
    mentionedId: await findNamed(query.mentioned_by),
    ...toQueryRange(query),
  };
  const order = toOrder(query.sort);
  const found = await listIssues(db, filter, { ...toRows(query), order });
  const all = found.issues.map((issue) => ({ owned: opened, issue }));
  return { issues: await loadAllIssueDetails(db, all, caller?.user), total: found.total };

  /** Unknown milestones are ignored, as in the reference. */
  async function findMilestones(repositoryId: RepositoryId): Promise<MilestoneId[]> {
    const ids: MilestoneId[] = [];
    for (const name of toNames(query.milestones)) {
      const found =
        (await findMilestone(db, repositoryId, { title: name })) ??
        (/^\d{1,15}$/.test(name)
          ? await findMilestone(db, repositoryId, { id: toMilestoneId(name) })
          : undefined);
      if (found !== undefined) ids.push(found.id);
    }
    return ids;
  }

  async function findNamed(name: string): Promise<UserId | undefined> {
    if (name === "") return undefined;
    const user = await findUserByName(db, name);
    if (user === undefined || !(await isKnownTo(db, user, caller?.user))) throw notFound();
    return user.id;
  }
}

/** Returns the order that a word names, as in the reference: newest first for an unknown word. */
export const toOrder = (word: string): IssueOrder => (isIssueOrder(word) ? word : "newest");

/** Splits names that are separated by commas. */
export function toNames(text: string): string[] {
  const names = text.split(",", LABELS_MAX).map((name) => name.trim());
  return [...new Set(names)].filter((name) => name !== "");
}
