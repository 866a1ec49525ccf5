import type { Transaction } from "../../../storage/engine/database.ts";
import { countWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import { toEmbeddedUserView } from "../accounts/user.view.ts";
import type { ForgeEvents, IssueChange } from "../events.ts";
import { toCommentView, toIssueView } from "../issues/issue.view.ts";
import { loadIssueDetails } from "../issues/issue-details.ts";
import { loadPullOfPayload } from "./pull-payloads.ts";
import { toRepositoryView } from "../repositories/repository.view.ts";
import type { ForgeUrls } from "../urls.ts";

/** Returns the payload of a change of an issue. */
export async function toIssuePayload(
  tx: Transaction,
  change: ForgeEvents["issue"],
  urls: ForgeUrls,
): Promise<object> {
  const { issue, ...ends } = await loadViews(tx, change, urls);
  return {
    action: change.action,
    number: change.issue.number,
    ...(change.changes === undefined ? {} : { changes: change.changes }),
    issue,
    ...ends,
    commit_id: "",
  };
}

/** Returns the payload of a change of a comment. */
export async function toCommentPayload(
  tx: Transaction,
  change: ForgeEvents["comment"],
  urls: ForgeUrls,
): Promise<object> {
  const { issue, ...ends } = await loadViews(tx, change, urls);
  const pull = await loadPullOfPayload(tx, change, urls);
  return {
    action: change.action,
    issue,
    ...(pull === undefined ? {} : { pull_request: pull }),
    comment: toCommentView(change, urls),
    ...(change.changes === undefined ? {} : { changes: change.changes }),
    ...ends,
    is_pull: change.issue.isPull,
  };
}

/** Users have only the members that anonymous callers see, because the reader of a hook is unknown. */
async function loadViews(
  tx: Transaction,
  { owned: { repository, owner }, issue, actor }: IssueChange,
  urls: ForgeUrls,
) {
  const { id } = repository;
  const watchers = (await countWatchers(tx, [id])).get(id) ?? 0;
  const owned = { repository, owner };
  const details = { ...owned, watchers, access: "owner", isSignedIn: false } as const;
  return {
    issue: toIssueView(await loadIssueDetails(tx, owned, issue, undefined), urls),
    repository: toRepositoryView(details, urls),
    sender: toEmbeddedUserView(actor, false, urls),
  };
}
