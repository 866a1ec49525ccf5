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
      const kind = kindsOfActions.get(action);
      if (kind === undefined) return;
      await record(tx, { ...owned, actor }, [{ kind, issueId: issue.id }]);
    },
    async comment(tx, { owned, issue, actor, comment, action }) {
      if (action !== "created") return;
      const activity = { kind: "comment_issue", issueId: issue.id, commentId: comment.id } as const;
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
