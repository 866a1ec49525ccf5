import type { Database } from "../../storage/engine/database.ts";
import { findCommitId, readCommits } from "../../storage/git/commits.ts";
import { type Git, GitError } from "../../storage/git/git.ts";
import type { ForgeRepository } from "../../storage/tables/forge/repositories/repositories.ts";
import { isRefName } from "../contract/forge/repositories/rules.ts";
import {
  createForgeNotifications,
  joinRepositoryEvents,
} from "../forge/notifications/notifications.ts";
import { notificationRoutes } from "../forge/notifications/notifications.routes.ts";
import type { Announcements } from "../forge/hooks/announcements.ts";
import { createIssueHooks } from "../forge/issues/issue-hooks.ts";
import { issueRoutes } from "../forge/issues/issues.routes.ts";
import { createIssues } from "../forge/issues/issues.service.ts";
import { createThreadStreams } from "../forge/notifications/thread-streams.ts";
import { createWatching } from "../forge/issues/watching.service.ts";
import type { RepositoryEvents } from "../forge/repositories/events.ts";
import { createStatusTelling } from "../forge/statuses/status-hooks.ts";
import { statusRoutes } from "../forge/statuses/statuses.routes.ts";
import { createStatuses, type FindCommit } from "../forge/statuses/statuses.service.ts";
import type { ForgeUrls } from "../forge/urls.ts";
import type { Route } from "../http/handle.ts";
import type { JobQueue } from "../jobs/queue.ts";
import { createPushReader } from "./hooks.ts";

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
  /** Tells hooks. */
  readonly announce: Announcements;
  /** Told why somebody's stream of news had to end. */
  readonly warn: (message: string, cause: unknown) => void;
  /** A connection on which nothing is sent for so long is closed, in milliseconds. */
  readonly idleMs: number;
  /** Others who are told what happens to repositories, before notifications are. */
  readonly otherEvents: RepositoryEvents;
}

/** Notifications, and the issues that they tell of. */
export interface OpenNotifications {
  readonly routes: readonly Route[];
  readonly repositoryEvents: RepositoryEvents;
  /** Ends the streams of news: the daemon stops. */
  closeStreams(): void;
}

/** Somebody who waits for news is told within half a second. */
const LOOK_EVERY_MS = 500;
/** Proxies close connections that are silent for half a minute. */
const BEAT_EVERY_MS = 15_000;

/** Builds notifications and what makes them on jobs and git. */
export function openNotifications(around: NotificationSurroundings): OpenNotifications {
  const { db, urls, clock } = around;
  const { notifications, repositoryEvents, announceIssue } = createForgeNotifications({
    db,
    jobs: around.jobs,
    readPush: createPushReader(around),
  });
  const streams = createThreadStreams({
    db,
    warn: around.warn,
    lookEveryMs: LOOK_EVERY_MS,
    beatEveryMs: Math.min(BEAT_EVERY_MS, around.idleMs / 2),
  });
  return {
    routes: [
      ...notificationRoutes({ notifications, streams, urls, clock }),
      ...issueRoutes({
        issues: createIssues({
          db,
          announce: announceIssue,
          hooks: createIssueHooks({ announce: around.announce, urls }),
        }),
        watching: createWatching({ db, clock }),
        urls,
      }),
      ...statusRoutes({
        statuses: createStatuses({
          db,
          findCommit: createCommitFinder(around),
          tellHooks: createStatusTelling({ announce: around.announce, urls }),
        }),
        urls,
      }),
    ],
    repositoryEvents: joinRepositoryEvents(around.otherEvents, repositoryEvents),
    closeStreams: () => streams.close(),
  };
}

/** Finds commits with git: names that git would take for something else name none. */
function createCommitFinder({
  git,
  locate,
}: Pick<NotificationSurroundings, "git" | "locate">): FindCommit {
  return async (repository, name) => {
    const isId = /^[0-9a-f]{4,64}$/i.test(name);
    if (!isId && !isRefName(name)) return undefined;
    const directory = await locate(repository);
    if (directory === undefined) return undefined;
    try {
      for (const full of [`refs/heads/${name}`, `refs/tags/${name}`, ...(isId ? [name] : [])]) {
        const id = await findCommitId(git, directory, full);
        if (id !== undefined) return (await readCommits(git, directory, [id], 1))[0];
      }
      return undefined;
    } catch (error) {
      if (error instanceof GitError && error.code !== "missing") return undefined;
      throw error;
    }
  };
}
