import type { Transaction } from "../../../storage/engine/database.ts";
import type { ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import { findPull } from "../../../storage/tables/forge/pulls/pulls.ts";
import type { ForgeActivities } from "../activities/activities.feature.ts";
import type { IssueAction, Subscribers } from "../events.ts";

/** Records what users do as activities. */
export function createActivitySubscribers({
  record,
  recordPush,
}: ForgeActivities["services"]): Subscribers {
  return {
    "repository.created": (tx, change) => record(tx, change, [{ kind: "create_repo" }]),
    async "repository.edited"(tx, { former, ...change }) {
      if (change.repository.name === former.name) return;
      await record(tx, change, [{ kind: "rename_repo", content: former.name }]);
    },
    async "repository.transferred"(tx, { former, ...change }) {
      const content = `${former.name}/${change.repository.name}`;
      await record(tx, change, [{ kind: "transfer_repo", content }]);
    },
    push: recordPush,
    async issue(tx, { owned, issue, actor, action }) {
      const kind = issue.isPull ? await toPullKind(tx, issue, action) : kindsOfActions.get(action);
      if (kind === undefined) return;
      await record(tx, { ...owned, actor }, [{ kind, issueId: issue.id }]);
    },
    async comment(tx, { owned, issue, actor, comment, action }) {
      if (action !== "created") return;
      const activity = {
        kind: issue.isPull ? "comment_pull" : "comment_issue",
        issueId: issue.id,
        commentId: comment.id,
      } as const;
      await record(tx, { ...owned, actor }, [activity]);
    },
    async release(tx, { owned, release, actor, action }) {
      if (action !== "published") return;
      const { title: content, tagName: ref } = release;
      await record(tx, { ...owned, actor }, [{ kind: "publish_release", content, ref }]);
    },
  };
}

const kindsOfActions = new Map<IssueAction, "create_issue" | "close_issue" | "reopen_issue">([
  ["opened", "create_issue"],
  ["closed", "close_issue"],
  ["reopened", "reopen_issue"],
]);

const pullKindsOfActions = new Map<
  IssueAction,
  "create_pull_request" | "close_pull_request" | "reopen_pull_request"
>([
  ["opened", "create_pull_request"],
  ["closed", "close_pull_request"],
  ["reopened", "reopen_pull_request"],
]);

/** A merged pull request is closed by its merge. */
async function toPullKind(tx: Transaction, { id }: ForgeIssue, action: IssueAction) {
  if (action === "closed" && (await findPull(tx, id))?.mergedAt !== undefined)
    return "merge_pull_request" as const;
  return pullKindsOfActions.get(action);
}
