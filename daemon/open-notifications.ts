import type { Database } from "../storage/engine/database.ts";
import type { Git } from "../storage/git/git.ts";
import type { ForgeRepository } from "../storage/tables/forge/repositories.ts";
import {
  createForgeNotifications,
  joinRepositoryEvents,
} from "./forge/notifications/notifications.ts";
import { notificationRoutes } from "./forge/notifications/notifications.routes.ts";
import { issueRoutes } from "./forge/issues/issues.routes.ts";
import { createIssues } from "./forge/issues/issues.service.ts";
import { createWatching } from "./forge/issues/watching.service.ts";
import type { RepositoryEvents } from "./forge/repositories/events.ts";
import type { ForgeUrls } from "./forge/urls.ts";
import type { Route } from "./http/handle.ts";
import type { JobQueue } from "./jobs/queue.ts";
import { createPushReader } from "./open-hooks.ts";

/** What notifications need of the daemon. */
export interface NotificationSurroundings {
  readonly db: Database;
  readonly jobs: Pick<JobQueue, "enqueue" | "register">;
  readonly git: Git;
  /** The folder of a repository's files; undefined when they are gone. */
  readonly locate: (repository: ForgeRepository) => Promise<string | undefined>;
  readonly urls: ForgeUrls;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Others who are told what happens to repositories, before notifications are. */
  readonly otherEvents: RepositoryEvents;
}

/** Notifications, and the issues that they tell of. */
export interface OpenNotifications {
  readonly routes: readonly Route[];
  readonly repositoryEvents: RepositoryEvents;
}

/** Builds notifications and what makes them on jobs and git. */
export function openNotifications(around: NotificationSurroundings): OpenNotifications {
  const { db, urls, clock } = around;
  const { notifications, repositoryEvents, announceIssue } = createForgeNotifications({
    db,
    jobs: around.jobs,
    readPush: createPushReader(around),
  });
  return {
    routes: [
      ...notificationRoutes({ notifications, urls, clock }),
      ...issueRoutes({
        issues: createIssues({ db, announce: announceIssue }),
        watching: createWatching({ db, clock }),
        urls,
      }),
    ],
    repositoryEvents: joinRepositoryEvents(around.otherEvents, repositoryEvents),
  };
}
