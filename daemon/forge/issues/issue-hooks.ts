import type { Transaction } from "../../../storage/engine/database.ts";
import { countWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import type { HookEvent } from "../../contract/forge/hooks/fields.ts";
import { toEmbeddedUserView } from "../accounts/user.view.ts";
import type { HookPublisher } from "../hooks/publisher.ts";
import { toRepositoryView } from "../repositories/repository.view.ts";
import type { ForgeUrls } from "../urls.ts";
import { toCommentView, toIssueView } from "./issue.view.ts";
import { loadIssueDetails } from "./issue-details.ts";
import type { IssueChange, IssueEvents } from "./issue-events.ts";

/** Publishes events of issues to hooks. */
export function createIssueHooks({
  publisher,
  urls,
}: {
  readonly publisher: Pick<HookPublisher, "publish" | "hasSubscribers">;
  readonly urls: ForgeUrls;
}): IssueEvents {
  return {
    issue: (tx, event, action, change) =>
      publish(tx, event, change, ({ issue, ...ends }) => ({
        action,
        number: change.issue.number,
        ...(change.changes === undefined ? {} : { changes: change.changes }),
        issue,
        ...ends,
        commit_id: "",
      })),
    comment: (tx, action, change) =>
      publish(tx, "issue_comment", change, ({ issue, ...ends }) => ({
        action,
        issue,
        comment: toCommentView(change, urls),
        ...(change.changes === undefined ? {} : { changes: change.changes }),
        ...ends,
        is_pull: false,
      })),
  };

  /** Users have only the members that anonymous callers see, because the reader of a hook is unknown. */
  async function publish(
    tx: Transaction,
    event: HookEvent,
    { owned, issue, actor }: IssueChange,
    toPayload: (parts: {
      readonly issue: object;
      readonly repository: object;
      readonly sender: object;
    }) => object,
  ): Promise<void> {
    const { id: repositoryId } = owned.repository;
    if (!(await publisher.hasSubscribers(tx, repositoryId, [event]))) return;
    const watchers = (await countWatchers(tx, [repositoryId])).get(repositoryId) ?? 0;
    const details = { ...owned, watchers, access: "owner", isSignedIn: false } as const;
    const payload = toPayload({
      issue: toIssueView(await loadIssueDetails(tx, owned, issue, undefined), urls),
      repository: toRepositoryView(details, urls),
      sender: toEmbeddedUserView(actor, false, urls),
    });
    await publisher.publish(tx, { event, repositoryId, payload, actor });
  }
}
