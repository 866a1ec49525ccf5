import { z } from "zod";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { listCommenters } from "../../../storage/tables/forge/issues/comments.ts";
import {
  findIssueById,
  type ForgeIssue,
  listAssignees,
  listSubscriptions,
} from "../../../storage/tables/forge/issues/issues.ts";
import { listWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import { type JobKind, parsePayload } from "../../jobs/job-kind.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import { findMentioned, findMentionedNames, notifyInBatches } from "./notify.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";

/** A change of an issue. */
export interface IssueNotification {
  readonly issue: ForgeIssue;
  /** The user who made the change and is not notified. */
  readonly actorId: UserId;
  /** A text whose mentioned users are notified as well. */
  readonly text?: string;
  /** The only users to notify, such as new assignees. */
  readonly onlyTo?: readonly UserId[];
}

/** Enqueues the notifications of a change in the transaction of the change. */
export type NotifyIssue = (tx: Transaction, change: IssueNotification) => Promise<void>;

const payloadSchema = z.object({
  issueId: z.int().brand<"IssueId">(),
  actorId: z.int().brand<"UserId">(),
  /** Epoch milliseconds. */
  at: z.int(),
  names: z.array(z.string()),
  onlyTo: z.array(z.int().brand<"UserId">()).optional(),
});

const KIND = "forge.notifications.issue";

/**
 * Recipients: subscribers, watchers of the repository and participants, except users who
 * unsubscribed; and every mentioned user. Never the actor.
 */
export function createIssueNotifications({
  db,
  enqueue,
}: {
  readonly db: Database;
  readonly enqueue: Enqueue;
}): { readonly notify: NotifyIssue; readonly job: JobKind } {
  return {
    async notify(tx, { issue, actorId, text = "", onlyTo }) {
      const payload: z.input<typeof payloadSchema> = {
        issueId: issue.id,
        actorId,
        at: tx.now,
        names: findMentionedNames(text),
        ...(onlyTo === undefined ? {} : { onlyTo: [...onlyTo] }),
      };
      await enqueue(tx, { kind: KIND, payload });
    },

    job: {
      kind: KIND,
      async run(payload) {
        const job = parsePayload(payloadSchema, payload);
        const issue = await findIssueById(db, job.issueId);
        if (issue === undefined) return;
        const recipients = job.onlyTo ?? (await findRecipients(issue, job.names));
        await notifyInBatches(
          db,
          issue.repositoryId,
          recipients.filter((id) => id !== job.actorId),
          { kind: issue.isPull ? "pull" : "issue", issueId: issue.id, notifiedAt: job.at },
          async (tx) => (await findIssueById(tx, issue.id)) === undefined,
        );
      },
    },
  };

  async function findRecipients(
    issue: ForgeIssue,
    names: readonly string[],
  ): Promise<readonly UserId[]> {
    const subscriptions = await listSubscriptions(db, issue.id);
    const participants = [
      ...[...subscriptions].filter(([, isSubscribed]) => isSubscribed).map(([id]) => id),
      ...(await listWatchers(db, issue.repositoryId)),
      ...(issue.authorId === undefined ? [] : [issue.authorId]),
      ...(await listAssignees(db, issue.id)),
      ...(await listCommenters(db, issue.id)),
    ];
    const mentioned = await findMentioned(db, names.map((name) => `@${name}`).join(" "));
    return [
      ...new Set([
        ...participants.filter((id) => subscriptions.get(id) !== false),
        ...mentioned.map(({ id }) => id),
      ]),
    ];
  }
}
