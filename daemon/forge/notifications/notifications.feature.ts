// Notification threads of repositories, pushes and issues. Start here: one factory wires up this folder. notify.ts adds
// threads, notifications.service.ts lists and marks them, subjects.ts authorizes the recipient again at every read.
import type { Database } from "../../../storage/engine/database.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { Log } from "../../utilities/logging.ts";
import type { ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import type { QueueMail } from "../accounts/welcome-mail.ts";
import type { OwnedRepository } from "../events.ts";
import type { ForgeFeature } from "../feature.ts";
import { createAccessMails } from "./access-mails.ts";
import { createIssueMails } from "./issue-mails.ts";
import type { ForgeUrls } from "../urls.ts";
import { createIssueNotifications } from "./issue-notifications.ts";
import { notificationRoutes } from "./notifications.routes.ts";
import { createNotifications } from "./notifications.service.ts";
import { createPushNotifications } from "./push-notifications.ts";
import { createThreadStreams } from "./thread-streams.ts";

export interface ForgeNotificationsDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly enqueue: Enqueue;
  readonly urls: ForgeUrls;
  readonly log: Pick<Log, "warn">;
  /** The daemon closes connections that are silent for this long. */
  readonly idleTimeoutSeconds: number;
  /** Undefined without a mail server. */
  readonly queueMail: QueueMail | undefined;
  readonly instanceName: string;
  /** Returns the address of the page of an issue or a pull request. */
  readonly toAddress: (owned: OwnedRepository, issue: ForgeIssue) => string;
}

/** Latency of notification streams: subscribers receive an event within half a second. */
const STREAM_POLL_MS = 500;
/** Proxies close connections that are silent for half a minute. */
const STREAM_HEARTBEAT_MS = 15_000;

/** The forge's notifications. */
export function createForgeNotifications(deps: ForgeNotificationsDeps) {
  const { db, clock, enqueue, urls, log } = deps;
  const { queueMail, instanceName, toAddress } = deps;
  const mailIssue = queueMail && createIssueMails({ queueMail, instanceName, toAddress });
  const issues = createIssueNotifications({ db, enqueue, mailIssue });
  const streams = createThreadStreams({
    db,
    warn: (message, cause) => log.warn({ err: cause }, message),
    pollMs: STREAM_POLL_MS,
    keepAliveMs: Math.min(STREAM_HEARTBEAT_MS, (deps.idleTimeoutSeconds * 1000) / 2),
  });
  const notifications = createNotifications({ db });
  return {
    services: {
      /** Notifies users of changes to issues. */
      notifyIssue: issues.notify,
    },
    routes: notificationRoutes({ notifications, streams, urls, clock }),
    subscribers:
      queueMail === undefined ? [] : [createAccessMails({ queueMail, instanceName, urls })],
    jobs: [issues.job],
    pushSubscribers: [createPushNotifications(db)],
    beginStop: () => streams.close(),
  } satisfies ForgeFeature;
}
