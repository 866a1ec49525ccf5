import type { ForgeActions } from "../actions/actions.feature.ts";
import type { ActingUser } from "../caller.ts";
import type { Subscribers } from "../events.ts";
import { toForkPayload, toWikiPayload } from "../hooks/payloads.view.ts";
import type { ForgeUrls } from "../urls.ts";
import { toCommentPayload, toIssuePayload } from "./issue-payloads.ts";
import { createPullWorkflowSubscribers } from "./pull-workflows.ts";
import { loadPackagePayload } from "./package-payload.ts";
import { toReleasePayload } from "./release-payload.ts";
import { loadRunPayload } from "./run-payloads.ts";
import { isVisibleFork } from "./visible-fork.ts";

/** Starts the workflows that an event triggers, and reads changed triggers again. */
export function createWorkflowSubscribers(
  {
    startWorkflows,
    triggers,
    pullWorkflows,
  }: Pick<ForgeActions["services"], "startWorkflows" | "triggers" | "pullWorkflows">,
  urls: ForgeUrls,
): Subscribers {
  const pulls = createPullWorkflowSubscribers(pullWorkflows, urls);
  return {
    ...triggers.subscribers,
    ...pulls,
    async push(tx, { repository, pusher, changes }) {
      // The push of a job starts no workflow, but may change them.
      const user: ActingUser = pusher;
      if (user.task === undefined) return;
      if (changes.some(({ ref }) => ref === `refs/heads/${repository.defaultBranch}`))
        await triggers.enqueueRefresh(tx, repository);
    },
    async fork(tx, change) {
      if (!isVisibleFork(change)) return;
      await startWorkflows(tx, change.parent.repository.id, "fork", async () => ({
        payload: await toForkPayload(tx, change, urls),
        actor: change.actor,
      }));
    },
    issue: (tx, change) =>
      change.issue.isPull
        ? pulls.issue(tx, change)
        : startWorkflows(tx, change.owned.repository.id, "issues", async () => ({
            payload: await toIssuePayload(tx, change, urls),
            actor: change.actor,
          })),
    async comment(tx, change) {
      const load = async () => ({
        payload: await toCommentPayload(tx, change, urls),
        actor: change.actor,
      });
      const { id } = change.owned.repository;
      await startWorkflows(tx, id, "issue_comment", load);
      if (change.issue.isPull) await startWorkflows(tx, id, "pull_request_comment", load);
    },
    release: (tx, change) =>
      startWorkflows(tx, change.owned.repository.id, "release", async () => ({
        payload: await toReleasePayload(tx, change, change.action, urls),
        actor: change.actor,
        ref: `refs/tags/${change.release.tagName}`,
      })),
    wiki: (tx, change) =>
      startWorkflows(tx, change.repository.id, "gollum", async () => ({
        payload: await toWikiPayload(tx, change, urls),
        actor: change.actor,
      })),
    async package(tx, change) {
      const { repositoryId } = change.package;
      if (change.action !== "created" || repositoryId === undefined) return;
      await startWorkflows(tx, repositoryId, "registry_package", async () => {
        const { payload, repositoryId: linkedTo } = await loadPackagePayload(tx, change, urls);
        return linkedTo === undefined ? undefined : { payload, actor: change.actor };
      });
    },
    run: (tx, { run }) =>
      startWorkflows(tx, run.repositoryId, "workflow_run", () => loadRunPayload(tx, run, urls)),
  };
}
