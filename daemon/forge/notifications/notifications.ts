// Notification threads of repositories, pushes and issues. Start here: one factory wires up this folder. notify.ts adds
// threads, notifications.service.ts lists and marks them, subjects.ts authorizes the recipient again at every read.
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { touchMailboxesOf } from "../../../storage/tables/forge/accounts/mailboxes.ts";
import { listOrganizationOwners } from "../../../storage/tables/forge/notifications.ts";
import { listRepositoryMakers } from "../../../storage/tables/forge/repositories/transfers.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { JobQueue } from "../../jobs/queue.ts";
import type { OwnedRepository, RepositoryEvents } from "../repositories/events.ts";
import { type NotifyIssue, createIssueNotifications } from "./issue-notifications.ts";
import { createNotifications, type Notifications } from "./notifications.service.ts";
import type { ReadPush } from "../git/commit-readers.ts";
import { createPushNotifications } from "./push-notifications.ts";
import { notifyUsers } from "./notify.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";

export interface ForgeNotificationsDeps {
  readonly db: Database;
  readonly jobs: Pick<JobQueue, "enqueue" | "register">;
  /** Called by jobs only. */
  readonly readPush: ReadPush;
}

/** The forge's notifications. */
export interface ForgeNotifications {
  readonly notifications: Notifications;
  /** The subscriber to events of repositories. */
  readonly repositoryEvents: RepositoryEvents;
  /** Notifies users of changes to issues. */
  readonly notifyIssue: NotifyIssue;
}

export function createForgeNotifications({
  db,
  jobs,
  readPush,
}: ForgeNotificationsDeps): ForgeNotifications {
  const { enqueue } = jobs;
  const pushes = createPushNotifications({ db, enqueue, readPush });
  const issues = createIssueNotifications({ db, enqueue });
  jobs.register(pushes.job);
  jobs.register(issues.job);
  return {
    notifications: createNotifications({ db }),
    notifyIssue: issues.notify,
    repositoryEvents: {
      // Notifies the owner, or the owners of an organization, when another user creates, adopts or transfers it.
      created: notifyOwners,
      async transferred(tx, owned) {
        await notifyOwners(tx, owned);
        // A transfer may change who can read the repository, and threads show its owner.
        await touchMailboxesOf(tx, owned.repository.id);
      },
      // Notifies the users who may accept the offer.
      async offered(tx, { repository, owner, recipient, actor }) {
        const people =
          recipient.kind === "organization"
            ? await listRepositoryMakers(tx, recipient.id)
            : [recipient.id];
        await notifyOfRepository(tx, people, { repository, owner, actor });
      },
      transferEnded: (tx, { repository }) => touchMailboxesOf(tx, repository.id),
      // An edit may change who can read the repository, and threads show its name.
      edited: (tx, { repository }) => touchMailboxesOf(tx, repository.id),
      pushed: (tx, { repository, pusher, changes }) =>
        pushes.enqueuePush(tx, { repository, pusherId: pusher.id }, changes),
    },
  };
}

type WithActor = OwnedRepository & { readonly actor: ForgeUser };

async function notifyOwners(tx: Transaction, owned: WithActor): Promise<void> {
  const { owner } = owned;
  const isOrganization = owner.kind === "organization";
  const owners = isOrganization ? await listOrganizationOwners(tx, owner.id) : [owner.id];
  await notifyOfRepository(tx, owners, owned);
}

async function notifyOfRepository(
  tx: Transaction,
  people: readonly UserId[],
  { repository, owner, actor }: WithActor,
): Promise<void> {
  const others = people.filter((id) => id !== actor.id);
  const news = { owned: { repository, owner }, kind: "repository", notifiedAt: tx.now } as const;
  await notifyUsers(tx, others, news);
}

/** Combines several subscribers into one, which calls them in order in the same transaction. */
export function joinRepositoryEvents(...listeners: readonly RepositoryEvents[]): RepositoryEvents {
  return {
    async created(tx, owned) {
      for (const listener of listeners) await listener.created?.(tx, owned);
    },
    async edited(tx, owned) {
      for (const listener of listeners) await listener.edited?.(tx, owned);
    },
    async offered(tx, owned) {
      for (const listener of listeners) await listener.offered?.(tx, owned);
    },
    async transferEnded(tx, owned) {
      for (const listener of listeners) await listener.transferEnded?.(tx, owned);
    },
    async transferred(tx, owned) {
      for (const listener of listeners) await listener.transferred?.(tx, owned);
    },
    async deleted(tx, owned) {
      for (const listener of listeners) await listener.deleted?.(tx, owned);
    },
    async pushed(tx, owned) {
      for (const listener of listeners) await listener.pushed?.(tx, owned);
    },
  };
}
