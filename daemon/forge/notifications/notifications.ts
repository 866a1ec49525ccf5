// Notification threads of repositories, pushes and issues. Start here: one factory wires up this folder. notify.ts adds
// threads, notifications.service.ts lists and marks them, subjects.ts authorizes the recipient again at every read.
import type { Database } from "../../../storage/engine/database.ts";
import type { JobQueue } from "../../jobs/queue.ts";
import { type NotifyIssue, createIssueNotifications } from "./issue-notifications.ts";
import { createNotifications, type Notifications } from "./notifications.service.ts";
import type { PushSubscriber } from "../git/pushes.ts";
import { createPushNotifications } from "./push-notifications.ts";

export interface ForgeNotificationsDeps {
  readonly db: Database;
  readonly jobs: Pick<JobQueue, "enqueue" | "register">;
}

/** The forge's notifications. */
export interface ForgeNotifications {
  readonly notifications: Notifications;
  readonly pushSubscriber: PushSubscriber;
  /** Notifies users of changes to issues. */
  readonly notifyIssue: NotifyIssue;
}

export function createForgeNotifications({ db, jobs }: ForgeNotificationsDeps): ForgeNotifications {
  const { enqueue } = jobs;
  const issues = createIssueNotifications({ db, enqueue });
  jobs.register(issues.job);
  return {
    notifications: createNotifications({ db }),
    notifyIssue: issues.notify,
    pushSubscriber: createPushNotifications(db),
  };
}
