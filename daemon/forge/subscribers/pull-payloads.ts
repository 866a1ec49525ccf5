import type { Transaction } from "../../../storage/engine/database.ts";
import { findPull, type ForgePull } from "../../../storage/tables/forge/pulls/pulls.ts";
import { countWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import type { HookEvent } from "../../contract/forge/hooks/fields.ts";
import { toEmbeddedUserView } from "../accounts/user.view.ts";
import type { ForgeEvents, IssueAction, IssueChange } from "../events.ts";
import { loadPullDetails } from "../pulls/pull-details.ts";
import { toPullView } from "../pulls/pull.view.ts";
import { toRepositoryView } from "../repositories/repository.view.ts";
import type { ForgeUrls } from "../urls.ts";

/** The event that hooks select for a change of a pull request. */
export const pullEventsOfActions: Readonly<Record<IssueAction, HookEvent>> = {
  opened: "pull_request",
  edited: "pull_request",
  closed: "pull_request",
  reopened: "pull_request",
  deleted: "pull_request",
  assigned: "pull_request_assign",
  unassigned: "pull_request_assign",
  label_updated: "pull_request_label",
  label_cleared: "pull_request_label",
  milestoned: "pull_request_milestone",
  demilestoned: "pull_request_milestone",
};

/** What a change of a pull request adds to its payload. */
interface PullPayload {
  readonly action: string;
  readonly before?: string;
  readonly after?: string;
  readonly requestedReviewer?: ForgeEvents["review_request"]["reviewer"];
  readonly review?: { readonly type: string; readonly content: string };
  readonly commitId?: string;
}

/** Returns the payload of a change of a pull request; undefined once it is deleted. */
export async function loadPullPayload(
  tx: Transaction,
  change: IssueChange,
  { action, before, after, requestedReviewer, review, commitId = "" }: PullPayload,
  urls: ForgeUrls,
): Promise<object | undefined> {
  const { owned, issue, actor } = change;
  const pull = await findPull(tx, issue.id);
  if (pull === undefined) return undefined;
  return {
    action,
    number: issue.number,
    ...(change.changes === undefined
      ? {}
      : { changes: { ...change.changes, added_labels: null, removed_labels: null } }),
    ...(before === undefined ? {} : { before, after }),
    pull_request: await loadView(tx, change, pull, urls),
    requested_reviewer:
      requestedReviewer === undefined ? null : toEmbeddedUserView(requestedReviewer, false, urls),
    repository: await loadRepository(tx, owned, urls),
    sender: toEmbeddedUserView(actor, false, urls),
    commit_id: commitId,
    review: review ?? null,
  };
}

/** Returns the pull request of a payload; undefined for an issue. */
export async function loadPullOfPayload(tx: Transaction, change: IssueChange, urls: ForgeUrls) {
  const pull = change.issue.isPull ? await findPull(tx, change.issue.id) : undefined;
  return pull && loadView(tx, change, pull, urls);
}

/** Users and forks have only the members that anonymous callers see, because the reader of a hook is unknown. */
async function loadView(
  tx: Transaction,
  { owned, issue }: IssueChange,
  pull: ForgePull,
  urls: ForgeUrls,
) {
  return toPullView(await loadPullDetails(tx, undefined, owned, { issue, pull }), urls);
}

async function loadRepository(
  tx: Transaction,
  { repository, owner }: IssueChange["owned"],
  urls: ForgeUrls,
) {
  const watchers = (await countWatchers(tx, [repository.id])).get(repository.id) ?? 0;
  const details = { repository, owner, watchers, access: "owner", isSignedIn: false } as const;
  return toRepositoryView(details, urls);
}

/** Returns how hooks name a submitted review; undefined for one that is not submitted. */
export function toReviewEvent(state: ForgeEvents["review"]["review"]["state"]): string | undefined {
  return reviewEvents[state];
}

const reviewEvents: Partial<Record<ForgeEvents["review"]["review"]["state"], string>> = {
  approved: "pull_request_review_approved",
  changes_requested: "pull_request_review_rejected",
  comment: "pull_request_review_comment",
};
