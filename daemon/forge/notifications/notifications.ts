// daemon/forge/notifications: threads that tell people of what happens: in repositories, in pushes, in issues.
// May import: daemon/contract, daemon/errors.ts, daemon/http/handle.ts (types), daemon/jobs (types), other rooms of the forge, storage.
// Start here: one factory that joins this folder. notifications.service.ts is the mailbox; telling.ts fills it, for
// pushed.ts and issue-news.ts; subjects.ts authorizes again what is read.
import type { Database } from "../../../storage/engine/database.ts";
import { touchMailboxesOf } from "../../../storage/tables/forge/mailboxes.ts";
import { listOrganizationOwners } from "../../../storage/tables/forge/notifications.ts";
import type { JobQueue } from "../../jobs/queue.ts";
import type { RepositoryEvents } from "../repositories/events.ts";
import { type AnnounceIssue, createIssueNews } from "./issue-news.ts";
import { createNotifications, type Notifications } from "./notifications.service.ts";
import { createPushNews, type ReadPush } from "./pushed.ts";
import { tellPeople } from "./telling.ts";

export interface ForgeNotificationsDeps {
  readonly db: Database;
  readonly jobs: Pick<JobQueue, "enqueue" | "register">;
  /** Called by jobs only. */
  readonly readPush: ReadPush;
}

/** The forge's notifications. */
export interface ForgeNotifications {
  readonly notifications: Notifications;
  /** What repositories call when something happens to them. */
  readonly repositoryEvents: RepositoryEvents;
  /** What issues call. */
  readonly announceIssue: AnnounceIssue;
}

export function createForgeNotifications({
  db,
  jobs,
  readPush,
}: ForgeNotificationsDeps): ForgeNotifications {
  const { enqueue } = jobs;
  const pushes = createPushNews({ db, enqueue, readPush });
  const issues = createIssueNews({ db, enqueue });
  jobs.register(pushes.job);
  jobs.register(issues.job);
  return {
    notifications: createNotifications({ db }),
    announceIssue: issues.announce,
    repositoryEvents: {
      // Made or adopted by somebody else: the owner learns of it, of an organization those who own it.
      async created(tx, { repository, owner, actor }) {
        const owners =
          owner.kind === "organization" ? await listOrganizationOwners(tx, owner.id) : [owner.id];
        await tellPeople(
          tx,
          owners.filter((id) => id !== actor.id),
          { what: { repository, owner }, kind: "repository", toldAt: tx.now },
        );
      },
      // Who may read it may be others from now on, and threads show its name.
      edited: (tx, { repository }) => touchMailboxesOf(tx, repository.id),
      pushed: (tx, { repository, pusher, changes }) =>
        pushes.enqueuePush(tx, { repository, pusherId: pusher.id }, changes),
    },
  };
}

/** Several listeners as one; each is told in turn, in the same transaction. */
export function joinRepositoryEvents(...listeners: readonly RepositoryEvents[]): RepositoryEvents {
  return {
    async created(tx, what) {
      for (const listener of listeners) await listener.created?.(tx, what);
    },
    async edited(tx, what) {
      for (const listener of listeners) await listener.edited?.(tx, what);
    },
    async deleted(tx, what) {
      for (const listener of listeners) await listener.deleted?.(tx, what);
    },
    async pushed(tx, what) {
      for (const listener of listeners) await listener.pushed?.(tx, what);
    },
  };
}
