import type { Transaction } from "../../../storage/engine/database.ts";
import type { ForgeComment } from "../../../storage/tables/forge/issues/comments.ts";
import type { ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import { countWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { HookEvent } from "../../contract/forge/hooks/fields.ts";
import { toEmbeddedUserView } from "../accounts/user.view.ts";
import type { HookPublisher } from "../hooks/publisher.ts";
import type { OwnedRepository } from "../repositories/events.ts";
import { toRepositoryView } from "../repositories/repository.view.ts";
import type { ForgeUrls } from "../urls.ts";
import { toCommentView, toIssueView } from "./issue.view.ts";
import { seeIssue } from "./seen-issue.ts";

/** What was there before, of members that were changed. */
export type Changes = Readonly<Record<string, { readonly from: string }>>;

/** Something that somebody did to an issue. */
export interface IssueDeed {
  readonly what: OwnedRepository;
  /** As it is now. */
  readonly issue: ForgeIssue;
  readonly actor: ForgeUser;
  readonly changes?: Changes;
}

/** Tells hooks of what happens to issues, in the transaction in which it does (forge behaviour, 13.5). */
export interface IssueHooks {
  issue(
    tx: Transaction,
    event: "issues" | "issue_assign",
    action: "opened" | "edited" | "closed" | "reopened" | "assigned" | "unassigned",
    deed: IssueDeed,
  ): Promise<void>;
  comment(
    tx: Transaction,
    action: "created" | "edited",
    deed: IssueDeed & { readonly comment: ForgeComment; readonly author: ForgeUser | undefined },
  ): Promise<void>;
}

export function createIssueHooks({
  publisher,
  urls,
}: {
  readonly publisher: Pick<HookPublisher, "publish" | "hasSubscribers">;
  readonly urls: ForgeUrls;
}): IssueHooks {
  return {
    issue: (tx, event, action, deed) =>
      tell(tx, event, deed, ({ issue, ...ends }) => ({
        action,
        number: deed.issue.number,
        ...(deed.changes === undefined ? {} : { changes: deed.changes }),
        issue,
        ...ends,
        commit_id: "",
      })),
    comment: (tx, action, deed) =>
      tell(tx, "issue_comment", deed, ({ issue, ...ends }) => ({
        action,
        issue,
        comment: toCommentView(deed, urls),
        ...(deed.changes === undefined ? {} : { changes: deed.changes }),
        ...ends,
        is_pull: false,
      })),
  };

  /** People are shown as strangers see them: nobody knows who reads a hook. */
  async function tell(
    tx: Transaction,
    event: HookEvent,
    { what, issue, actor }: IssueDeed,
    toPayload: (parts: {
      readonly issue: object;
      readonly repository: object;
      readonly sender: object;
    }) => object,
  ): Promise<void> {
    const { id: repositoryId } = what.repository;
    if (!(await publisher.hasSubscribers(tx, repositoryId, [event]))) return;
    const watchers = (await countWatchers(tx, [repositoryId])).get(repositoryId) ?? 0;
    const seen = { ...what, watchers, access: "owner", isSignedIn: false } as const;
    const payload = toPayload({
      issue: toIssueView(await seeIssue(tx, what, issue, undefined), urls),
      repository: toRepositoryView(seen, urls),
      sender: toEmbeddedUserView(actor, false, urls),
    });
    await publisher.publish(tx, { event, repositoryId, payload });
  }
}
