import { z } from "zod";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { listCommenters } from "../../../storage/tables/forge/issues/comments.ts";
import {
  findIssueById,
  type ForgeIssue,
  listAssignees,
  listSubscriptions,
} from "../../../storage/tables/forge/issues/issues.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { listWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import { type JobKind, parsePayload } from "../../jobs/job-kind.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { OwnedRepository } from "../events.ts";
import {
  type IssueNews,
  issueNewsWords,
  type MailIssue,
  MAILED_CHARACTERS_MAX,
} from "./issue-mails.ts";
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
  /** What is mailed; undefined for a change without a mail. */
  readonly mail?: {
    readonly news: IssueNews;
    /** What the actor wrote. */
    readonly text?: string;
    /** The part of the address behind `#`. */
    readonly anchor?: string;
  };
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
  mail: z.object({ news: z.enum(issueNewsWords), text: z.string(), anchor: z.string() }).optional(),
});

const KIND = "forge.notifications.issue";

/**
 * Recipients: subscribers, watchers of the repository and participants, except users who
 * unsubscribed; and every mentioned user. Never the actor.
 */
export function createIssueNotifications({
  db,
  enqueue,
  mailIssue,
}: {
  readonly db: Database;
  readonly enqueue: Enqueue;
  /** Undefined without a mail server. */
  readonly mailIssue: MailIssue | undefined;
}): { readonly notify: NotifyIssue; readonly job: JobKind } {
  return {
    async notify(tx, { issue, actorId, text = "", onlyTo, mail }) {
      const payload: z.input<typeof payloadSchema> = {
        issueId: issue.id,
        actorId,
        at: tx.now,
        names: findMentionedNames(text),
        ...(onlyTo === undefined ? {} : { onlyTo: [...onlyTo] }),
        ...(mail === undefined || mailIssue === undefined ? {} : { mail: toStoredMail(mail) }),
      };
      await enqueue(tx, { kind: KIND, payload });
    },

    job: {
      kind: KIND,
      async run(payload) {
        const job = parsePayload(payloadSchema, payload);
        const issue = await findIssueById(db, job.issueId);
        if (issue === undefined) return;
        const named = job.onlyTo === undefined ? await findNamed(job.names) : new Set<UserId>();
        const recipients = job.onlyTo ?? (await findRecipients(issue, named));
        await notifyInBatches(
          db,
          issue.repositoryId,
          recipients.filter((id) => id !== job.actorId),
          { kind: issue.isPull ? "pull" : "issue", issueId: issue.id, notifiedAt: job.at },
          {
            isObsolete: async (tx) => (await findIssueById(tx, issue.id)) === undefined,
            onNotified: (tx, owned, readers) => mailAll(tx, owned, readers, { job, issue, named }),
          },
        );
      },
    },
  };

  /** Queues the mails to users who were notified. A crash may send those of one batch twice. */
  async function mailAll(
    tx: Transaction,
    owned: OwnedRepository,
    readers: readonly ForgeUser[],
    { job, issue, named }: IssueJob,
  ): Promise<void> {
    const { mail, actorId } = job;
    if (mail === undefined || mailIssue === undefined) return;
    const actor = await findUserById(tx, actorId);
    for (const reader of readers)
      await mailIssue(tx, reader, {
        ...mail,
        owned,
        issue,
        actor,
        isMentioned: named.has(reader.id),
      });
  }

  async function findNamed(names: readonly string[]): Promise<ReadonlySet<UserId>> {
    const mentioned = await findMentioned(db, names.map((name) => `@${name}`).join(" "));
    return new Set(mentioned.map(({ id }) => id));
  }

  async function findRecipients(
    issue: ForgeIssue,
    named: ReadonlySet<UserId>,
  ): Promise<readonly UserId[]> {
    const subscriptions = await listSubscriptions(db, issue.id);
    const participants = [
      ...[...subscriptions].filter(([, isSubscribed]) => isSubscribed).map(([id]) => id),
      ...(await listWatchers(db, issue.repositoryId)),
      ...(issue.authorId === undefined ? [] : [issue.authorId]),
      ...(await listAssignees(db, issue.id)),
      ...(await listCommenters(db, issue.id)),
    ];
    return [
      ...new Set([...participants.filter((id) => subscriptions.get(id) !== false), ...named]),
    ];
  }
}

interface IssueJob {
  readonly job: z.output<typeof payloadSchema>;
  readonly issue: ForgeIssue;
  /** Users whom the text mentions. */
  readonly named: ReadonlySet<UserId>;
}

/** The text is cut, because the payload of a job is bounded. */
const toStoredMail = ({
  news,
  text = "",
  anchor = "",
}: NonNullable<IssueNotification["mail"]>) => ({
  news,
  text: text.slice(0, MAILED_CHARACTERS_MAX + 1),
  anchor,
});
