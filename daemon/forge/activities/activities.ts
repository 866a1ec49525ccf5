// Activities of users in repositories, and the feeds that show them. Start here: one factory wires up this folder.
// recorder.ts writes activities in the transaction of the event, feeds.service.ts lists those that the caller may see.
import type { Database } from "../../../storage/engine/database.ts";
import { deleteActivitiesBefore } from "../../../storage/tables/forge/activities/activities.ts";
import type { CronTask } from "../../jobs/cron-task.ts";
import type { JobQueue } from "../../jobs/queue.ts";
import type { Route } from "../../http/handle.ts";
import type { ReadPush } from "../git/commit-readers.ts";
import type { IssueAction, IssueEvents } from "../issues/issue-events.ts";
import type { RepositoryEvents } from "../repositories/events.ts";
import type { ForgeUrls } from "../urls.ts";
import { activityRoutes } from "./feeds.routes.ts";
import { createFeeds } from "./feeds.service.ts";
import { createPushActivities } from "./push-activities.ts";
import { createActivityRecorder } from "./recorder.ts";

export interface ForgeActivitiesDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly jobs: Pick<JobQueue, "enqueue" | "register">;
  /** Called by jobs only. */
  readonly readPush: ReadPush;
  readonly urls: ForgeUrls;
  /** Days after which activities are deleted; 0 keeps them. */
  readonly retentionDays: number;
}

/** The activities of the forge. */
export interface ForgeActivities {
  /** The subscriber to events of repositories. */
  readonly repositoryEvents: RepositoryEvents;
  /** The subscriber to events of issues. */
  readonly issueEvents: IssueEvents;
  /** Below `/api/v1`. */
  readonly routes: readonly Route[];
  /** The task that deletes old activities; empty when they are kept. */
  readonly tasks: readonly CronTask[];
}

const DAY_MS = 86_400_000;
/** Maximum number of activities deleted in one transaction, so that other writers are not blocked for long. */
const DELETED_PER_TRANSACTION = 1_000;

export function createForgeActivities({
  db,
  clock,
  jobs,
  readPush,
  urls,
  retentionDays,
}: ForgeActivitiesDeps): ForgeActivities {
  const { enqueue } = jobs;
  const { record, job } = createActivityRecorder({ db, enqueue });
  const pushes = createPushActivities({ db, enqueue, record, readPush });
  jobs.register(job);
  jobs.register(pushes.job);
  const deleteOld = async (signal: AbortSignal) => {
    const before = clock() - retentionDays * DAY_MS;
    const limit = DELETED_PER_TRANSACTION;
    let deleted = limit;
    while (deleted === limit && !signal.aborted)
      deleted = await db.transaction((tx) => deleteActivitiesBefore(tx, before, limit));
  };
  return {
    // Disabled in Gitea by default.
    tasks:
      retentionDays === 0
        ? []
        : [{ name: "delete_old_actions", schedule: "@every 168h", run: deleteOld }],
    routes: activityRoutes({ feeds: createFeeds({ db, clock }), urls }),
    repositoryEvents: {
      created: (tx, owned) => record(tx, owned, [{ kind: "create_repo" }]),
      async edited(tx, { former, ...owned }) {
        if (owned.repository.name === former.name) return;
        await record(tx, owned, [{ kind: "rename_repo", content: former.name }]);
      },
      async transferred(tx, { former, ...owned }) {
        const content = `${former.name}/${owned.repository.name}`;
        await record(tx, owned, [{ kind: "transfer_repo", content }]);
      },
      pushed: pushes.pushed,
    },
    issueEvents: {
      async issue(tx, event, action, { owned, issue, actor }) {
        const kind = event === "issues" ? kindsOfActions.get(action) : undefined;
        if (kind === undefined) return;
        await record(tx, { ...owned, actor }, [{ kind, issueId: issue.id }]);
      },
      async comment(tx, action, { owned, issue, actor, comment }) {
        if (action !== "created") return;
        const activity = {
          kind: "comment_issue",
          issueId: issue.id,
          commentId: comment.id,
        } as const;
        await record(tx, { ...owned, actor }, [activity]);
      },
    },
  };
}

const kindsOfActions = new Map<IssueAction, "create_issue" | "close_issue" | "reopen_issue">([
  ["opened", "create_issue"],
  ["closed", "close_issue"],
  ["reopened", "reopen_issue"],
]);
