import type { Transaction } from "../../../storage/engine/database.ts";
import type { RepositoryId } from "../../../storage/tables/forge/ids.ts";
import type { HookEvent } from "../../contract/forge/hooks/fields.ts";
import type { ForgeEvents, IssueAction, IssueChange, Subscribers } from "../events.ts";
import type { Hooks } from "../hooks/hooks.service.ts";
import {
  toForkPayload,
  toOrganizationPayload,
  toRepositoryPayload,
  toWikiPayload,
} from "../hooks/payloads.view.ts";
import type { HookPublisher } from "../hooks/publisher.ts";
import type { ForgeUrls } from "../urls.ts";
import { toCommentPayload, toIssuePayload } from "./issue-payloads.ts";
import { loadPackagePayload } from "./package-payload.ts";
import { toReleasePayload } from "./release-payload.ts";
import { loadPullPayload, pullEventsOfActions, toReviewEvent } from "./pull-payloads.ts";
import { loadRunPayload, loadRunJobPayload } from "./run-payloads.ts";
import { loadStatusPayload } from "./status-payload.ts";
import { isVisibleFork } from "./visible-fork.ts";

export interface HookSubscribersDeps {
  readonly hooks: Pick<Hooks, "copyDefaults">;
  readonly publisher: HookPublisher;
  readonly urls: ForgeUrls;
}

/** Publishes events to the hooks that subscribe to them. */
export function createHookSubscribers({
  hooks,
  publisher,
  urls,
}: HookSubscribersDeps): Subscribers {
  return {
    async "repository.created"(tx, { actor, isAdopted, ...owned }) {
      const { id: repositoryId } = owned.repository;
      await hooks.copyDefaults(tx, repositoryId);
      // Adoption publishes no event, but the repository gets its hooks.
      if (isAdopted) return;
      const payload = await toRepositoryPayload(tx, "created", owned, actor, urls);
      await publisher.publish(tx, { event: "repository", repositoryId, payload });
    },
    async "repository.edited"(tx, { actor, former, ...owned }) {
      const { id: repositoryId, name } = owned.repository;
      if (name === former.name) return;
      const renamed = await toRepositoryPayload(tx, "renamed", owned, actor, urls);
      // The reference has no `changes`; the form is that of other forges.
      const payload = { ...renamed, changes: { repository: { name: { from: former.name } } } };
      await publisher.publish(tx, { event: "repository", repositoryId, payload });
    },
    async "repository.deleted"(tx, { actor, ...owned }) {
      const payload = await toRepositoryPayload(tx, "deleted", owned, actor, urls);
      const { id: repositoryId } = owned.repository;
      await publisher.publish(tx, { event: "repository", repositoryId, payload });
    },
    async fork(tx, change) {
      if (!isVisibleFork(change)) return;
      const { id: repositoryId } = change.parent.repository;
      await publish(tx, "fork", repositoryId, () => toForkPayload(tx, change, urls));
    },
    organization: (tx, { organization, actor }) =>
      publisher.publish(tx, {
        event: "organization",
        repositoryId: undefined,
        payload: toOrganizationPayload("created", organization, actor, urls),
      }),
    issue: (tx, change) => {
      const { action, issue, owned } = change;
      return issue.isPull
        ? publishPull(tx, pullEventsOfActions[action], change, { action })
        : publish(tx, eventsOfActions[action], owned.repository.id, () =>
            toIssuePayload(tx, change, urls),
          );
    },
    pull: (tx, change) =>
      change.action === "synchronized"
        ? publishPull(tx, "pull_request_sync", change, change)
        : publishPull(tx, "pull_request", change, { action: "edited" }),
    review_request: (tx, change) =>
      publishPull(tx, "pull_request_review_request", change, {
        action: change.isRemoved ? "review_request_removed" : "review_requested",
        requestedReviewer: change.reviewer,
      }),
    async review(tx, change) {
      const { review, reply } = change;
      const type = toReviewEvent(review.state);
      if (type === undefined || reply !== undefined) return;
      await publishPull(
        tx,
        "pull_request_review",
        change,
        { action: "reviewed", review: { type, content: review.body }, commitId: review.commitId },
        type,
      );
    },
    comment: (tx, change) =>
      publish(
        tx,
        change.issue.isPull ? "pull_request_comment" : "issue_comment",
        change.owned.repository.id,
        () => toCommentPayload(tx, change, urls),
      ),
    async package(tx, change) {
      const loaded = await loadPackagePayload(tx, change, urls);
      await publisher.publish(tx, { event: "package", ownerId: change.owner.id, ...loaded });
    },
    async release(tx, change) {
      const action = releaseActions[change.action];
      if (action === undefined) return;
      await publish(tx, "release", change.owned.repository.id, () =>
        toReleasePayload(tx, change, action, urls),
      );
    },
    wiki: (tx, change) =>
      publish(tx, "wiki", change.repository.id, () => toWikiPayload(tx, change, urls)),
    status: (tx, status) =>
      publish(tx, "status", status.owned.repository.id, () => loadStatusPayload(tx, status, urls)),
    run: (tx, { run }) =>
      publish(
        tx,
        "workflow_run",
        run.repositoryId,
        async () => (await loadRunPayload(tx, run, urls))?.payload,
      ),
    async run_job(tx, { run, job }) {
      // The job is still shown as in progress.
      if (job.status === "cancelling") return;
      await publish(tx, "workflow_job", run.repositoryId, () =>
        loadRunJobPayload(tx, run, job, urls),
      );
    },
  };

  function publishPull(
    tx: Transaction,
    event: HookEvent,
    change: IssueChange,
    details: Parameters<typeof loadPullPayload>[2],
    type?: string,
  ): Promise<void> {
    const { id } = change.owned.repository;
    return publish(tx, event, id, () => loadPullPayload(tx, change, details, urls), type);
  }

  /** Creates the payload only if a hook subscribes to the event. */
  async function publish(
    tx: Transaction,
    event: HookEvent,
    repositoryId: RepositoryId,
    load: () => Promise<object | undefined>,
    type: string = event,
  ): Promise<void> {
    if (!(await publisher.hasSubscribers(tx, repositoryId, [event]))) return;
    const payload = await load();
    if (payload !== undefined) await publisher.publish(tx, { event, type, repositoryId, payload });
  }
}

/** The actions of Gitea, which has none for a release that becomes a draft again. */
const releaseActions: Partial<Record<ForgeEvents["release"]["action"], string>> = {
  published: "published",
  edited: "updated",
  deleted: "deleted",
};

const eventsOfActions: Readonly<Record<IssueAction, HookEvent>> = {
  opened: "issues",
  edited: "issues",
  closed: "issues",
  reopened: "issues",
  deleted: "issues",
  assigned: "issue_assign",
  unassigned: "issue_assign",
  label_updated: "issue_label",
  label_cleared: "issue_label",
  milestoned: "issue_milestone",
  demilestoned: "issue_milestone",
};
