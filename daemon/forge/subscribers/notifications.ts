import type { Transaction } from "../../../storage/engine/database.ts";
import { touchMailboxesOf } from "../../../storage/tables/forge/accounts/mailboxes.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";
import { listOrganizationOwners } from "../../../storage/tables/forge/notifications.ts";
import { listRepositoryMakers } from "../../../storage/tables/forge/repositories/transfers.ts";
import type { RunNotifications } from "../actions/runs/run-notifications.ts";
import type { IssueAction, OwnedRepository, Subscribers } from "../events.ts";
import { isDraft } from "../issues/issue.view.ts";
import type { NotifyIssue } from "../notifications/issue-notifications.ts";
import { notifyUsers } from "../notifications/notify.ts";

/** Notifies users of what others do. */
export function createNotificationSubscribers({
  notifyIssue,
  notifyOfRun,
}: {
  readonly notifyIssue: NotifyIssue;
  readonly notifyOfRun: RunNotifications;
}): Subscribers {
  return {
    // Notifies the owner, or the owners of an organization, when another user creates, adopts or transfers it.
    "repository.created": notifyOwners,
    async "repository.transferred"(tx, change) {
      await notifyOwners(tx, change);
      // A transfer may change who can read the repository, and threads show its owner.
      await touchMailboxesOf(tx, change.repository.id);
    },
    // Notifies the users who may accept the offer.
    async "repository.offered"(tx, { repository, owner, recipient, actor }) {
      const people =
        recipient.kind === "organization"
          ? await listRepositoryMakers(tx, recipient.id)
          : [recipient.id];
      await notifyOfRepository(tx, people, { repository, owner, actor });
    },
    "repository.transfer_ended": (tx, { repository }) => touchMailboxesOf(tx, repository.id),
    // An edit may change who can read the repository, and threads show its name.
    "repository.edited": (tx, { repository }) => touchMailboxesOf(tx, repository.id),
    async issue(tx, { issue, actor, action, text, assigned, changes }) {
      // The end of a draft.
      const isReady =
        issue.isPull && isDraft(changes?.["title"]?.from ?? "") && !isDraft(issue.title);
      if (!notifiedActions.has(action) && !isReady) return;
      await notifyIssue(tx, {
        issue,
        actorId: actor.id,
        ...(text === undefined ? {} : { text }),
        ...(assigned === undefined ? {} : { onlyTo: assigned }),
      });
    },
    async pull(tx, { issue, actor, action }) {
      if (action === "synchronized") await notifyIssue(tx, { issue, actorId: actor.id });
    },
    async comment(tx, { issue, actor, action, comment }) {
      if (action === "created")
        await notifyIssue(tx, { issue, actorId: actor.id, text: comment.body });
    },
    review: (tx, { issue, actor, review, reply }) =>
      notifyIssue(tx, { issue, actorId: actor.id, text: reply?.body ?? review.body }),
    async review_request(tx, { issue, actor, asked, isRemoved }) {
      if (!isRemoved) await notifyIssue(tx, { issue, actorId: actor.id, onlyTo: asked });
    },
    run: (tx, { run }) => notifyOfRun(tx, run),
  };
}

const notifiedActions = new Set<IssueAction>(["opened", "closed", "reopened", "assigned"]);

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
