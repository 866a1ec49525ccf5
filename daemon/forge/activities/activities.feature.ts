// Activities of users in repositories, and the feeds that show them. Start here: one factory wires up this folder.
// recorder.ts writes activities in the transaction of the event, feeds.service.ts lists those that the caller may see.
import type { Database } from "../../../storage/engine/database.ts";
import { deleteActivitiesBefore } from "../../../storage/tables/forge/activities/activities.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { ForgeFeature } from "../feature.ts";
import { forgeTasks } from "../tasks.ts";
import type { ForgeUrls } from "../urls.ts";
import { activityRoutes } from "./feeds.routes.ts";
import { createFeeds } from "./feeds.service.ts";
import { createPushActivities } from "./push-activities.ts";
import { createActivityRecorder } from "./recorder.ts";

export interface ForgeActivitiesDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly enqueue: Enqueue;
  readonly urls: ForgeUrls;
  /** Days after which activities are deleted; 0 keeps them. */
  readonly retentionDays: number;
}

export type ForgeActivities = ReturnType<typeof createForgeActivities>;

const DAY_MS = 86_400_000;
/** Maximum number of activities deleted in one transaction, so that other writers are not blocked for long. */
const DELETED_PER_TRANSACTION = 1_000;

/** The activities of the forge. */
export function createForgeActivities({
  db,
  clock,
  enqueue,
  urls,
  retentionDays,
}: ForgeActivitiesDeps) {
  const { record, job } = createActivityRecorder({ db, enqueue });
  const pushes = createPushActivities({ db, record });
  const deleteOld = async (signal: AbortSignal) => {
    const before = clock() - retentionDays * DAY_MS;
    const limit = DELETED_PER_TRANSACTION;
    let deleted = limit;
    while (deleted === limit && !signal.aborted)
      deleted = await db.transaction((tx) => deleteActivitiesBefore(tx, before, limit));
  };
  return {
    services: { record, recordPush: pushes.push },
    routes: activityRoutes({ feeds: createFeeds({ db, clock }), urls }),
    jobs: [job],
    tasks: retentionDays === 0 ? [] : [{ ...forgeTasks.delete_old_actions, run: deleteOld }],
    pushSubscribers: [pushes.pushSubscriber],
  } satisfies ForgeFeature;
}
