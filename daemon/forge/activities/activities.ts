// Activities of users in repositories, and the feeds that show them. Start here: one factory wires up this folder.
// recorder.ts writes activities in the transaction of the event, feeds.service.ts lists those that the caller may see.
import type { Database } from "../../../storage/engine/database.ts";
import { deleteActivitiesBefore } from "../../../storage/tables/forge/activities/activities.ts";
import type { CronTask } from "../../jobs/cron-task.ts";
import type { JobQueue } from "../../jobs/queue.ts";
import type { Route } from "../../http/handle.ts";
import type { PushSubscriber } from "../git/pushes.ts";
import type { Subscribers } from "../events.ts";
import { forgeTasks } from "../tasks.ts";
import type { ForgeUrls } from "../urls.ts";
import { activityRoutes } from "./feeds.routes.ts";
import { createFeeds } from "./feeds.service.ts";
import { createPushActivities } from "./push-activities.ts";
import { createActivityRecorder, type RecordActivities } from "./recorder.ts";

export interface ForgeActivitiesDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly jobs: Pick<JobQueue, "enqueue" | "register">;
  readonly urls: ForgeUrls;
  /** Days after which activities are deleted; 0 keeps them. */
  readonly retentionDays: number;
}

/** The activities of the forge. */
export interface ForgeActivities {
  readonly record: RecordActivities;
  readonly recordPush: NonNullable<Subscribers["push"]>;
  readonly pushSubscriber: PushSubscriber;
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
  urls,
  retentionDays,
}: ForgeActivitiesDeps): ForgeActivities {
  const { enqueue } = jobs;
  const { record, job } = createActivityRecorder({ db, enqueue });
  const pushes = createPushActivities({ db, record });
  jobs.register(job);
  const deleteOld = async (signal: AbortSignal) => {
    const before = clock() - retentionDays * DAY_MS;
    const limit = DELETED_PER_TRANSACTION;
    let deleted = limit;
    while (deleted === limit && !signal.aborted)
      deleted = await db.transaction((tx) => deleteActivitiesBefore(tx, before, limit));
  };
  return {
    tasks: retentionDays === 0 ? [] : [{ ...forgeTasks.delete_old_actions, run: deleteOld }],
    routes: activityRoutes({ feeds: createFeeds({ db, clock }), urls }),
    record,
    recordPush: pushes.push,
    pushSubscriber: pushes.pushSubscriber,
  };
}
