import type { Transaction } from "../../../storage/engine/database.ts";
import { touchMailboxesOf } from "../../../storage/tables/forge/accounts/mailboxes.ts";
import type { ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";
import type { ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import { findPull } from "../../../storage/tables/forge/pulls/pulls.ts";
import { listReviewLines } from "../../../storage/tables/forge/pulls/review-lines.ts";
import type { ForgeReview } from "../../../storage/tables/forge/pulls/reviews.ts";
import { listOrganizationOwners } from "../../../storage/tables/forge/notifications.ts";
import { listRepositoryMakers } from "../../../storage/tables/forge/repositories/transfers.ts";
import type { RunNotifications } from "../actions/runs/run-notifications.ts";
import type { IssueAction, OwnedRepository, Subscribers } from "../events.ts";
import { isDraft } from "../issues/issue.view.ts";
import type { IssueNews } from "../notifications/issue-mails.ts";
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
        mail: {
          news: isReady ? "ready" : await toNews(tx, issue, action),
          text: action === "opened" ? issue.body : "",
        },
      });
    },
    async pull(tx, { issue, actor, action }) {
      if (action === "synchronized") await notifyIssue(tx, { issue, actorId: actor.id });
    },
    async comment(tx, { issue, actor, action, comment }) {
      if (action !== "created") return;
      const { body: text, id } = comment;
      const mail = { news: "commented", text, anchor: `issuecomment-${id}` } as const;
      await notifyIssue(tx, { issue, actorId: actor.id, text, mail });
    },
    async review(tx, { issue, actor, review, reply }) {
      const lines = reply === undefined ? await listReviewLines(tx, review.id) : [reply];
      const text = [reply === undefined ? review.body : "", ...lines.map(({ body }) => body)]
        .filter((part) => part !== "")
        .join("\n\n");
      const news = reply === undefined ? newsOfReviews[review.state] : "commented";
      const id = reply?.commentId ?? review.commentId;
      const anchor = id === undefined ? "" : `issuecomment-${id}`;
      await notifyIssue(tx, {
        issue,
        actorId: actor.id,
        text,
        ...(news === undefined ? {} : { mail: { news, text, anchor } }),
      });
    },
    async review_request(tx, { issue, actor, asked, isRemoved }) {
      if (isRemoved) return;
      const mail = { news: "review_requested" } as const;
      await notifyIssue(tx, { issue, actorId: actor.id, onlyTo: asked, mail });
    },
    run: (tx, { run }) => notifyOfRun(tx, run),
  };
}

const notifiedActions = new Set<IssueAction>(["opened", "closed", "reopened", "assigned"]);

/** What a mail says of a notified action. */
async function toNews(
  tx: Transaction,
  { id, isPull }: ForgeIssue,
  action: IssueAction,
): Promise<IssueNews> {
  if (action === "opened" || action === "reopened" || action === "assigned") return action;
  const isMerged = isPull && (await findPull(tx, id))?.mergedAt !== undefined;
  return isMerged ? "merged" : "closed";
}

const newsOfReviews: Partial<Record<ForgeReview["state"], IssueNews>> = {
  approved: "approved",
  changes_requested: "changes_requested",
  comment: "reviewed",
};

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
