import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { listCommenters } from "../../../storage/tables/forge/issues/comments.ts";
import {
  findIssueById,
  type ForgeIssue,
  listAssignees,
  listSubscriptions,
} from "../../../storage/tables/forge/issues/issues.ts";
import { listWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import type { JobKind } from "../../jobs/job-kind.ts";
import { findOwned } from "./pushed.ts";
import { findMentioned, findMentionedNames, tellPeople, TOLD_AT_ONCE } from "./telling.ts";

/** Something that happened to an issue. */
export interface IssueNews {
  readonly issue: ForgeIssue;
  /** Who did it, and is not told. */
  readonly actorId: number;
  /** Whom this text mentions is told, too. */
  readonly text?: string;
  /** Only these people are told, such as new assignees. */
  readonly onlyTo?: readonly number[];
}

/** Has people told of what happens to issues, in the transaction in which it does. */
export type AnnounceIssue = (tx: Transaction, news: IssueNews) => Promise<void>;

interface IssueJob {
  readonly issueId: number;
  readonly actorId: number;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly names: readonly string[];
  readonly onlyTo?: readonly number[];
}

const KIND = "forge.notifications.issue";

/**
 * Recipients (forge behaviour, 19.8): who asked for it, who watches the repository, who takes part, without
 * those who asked not to be told; and who is mentioned by name, whatever they asked. Never the actor.
 */
export function createIssueNews({
  db,
  enqueue,
}: {
  readonly db: Database;
  readonly enqueue: Enqueue;
}): { readonly announce: AnnounceIssue; readonly job: JobKind } {
  return {
    async announce(tx, { issue, actorId, text = "", onlyTo }) {
      const names = findMentionedNames(text);
      const payload: IssueJob = {
        issueId: issue.id,
        actorId,
        at: tx.now,
        names,
        ...(onlyTo === undefined ? {} : { onlyTo }),
      };
      await enqueue(tx, { kind: KIND, payload });
    },

    job: {
      kind: KIND,
      async run(payload) {
        const job = payload as IssueJob;
        const issue = await findIssueById(db, job.issueId);
        if (issue === undefined) return;
        const recipients = job.onlyTo ?? (await findRecipients(issue, job.names));
        const userIds = recipients.filter((id) => id !== job.actorId);
        for (let at = 0; at < userIds.length; at += TOLD_AT_ONCE)
          await db.transaction(async (tx) => {
            const what = await findOwned(tx, issue.repositoryId);
            if (what === undefined || (await findIssueById(tx, issue.id)) === undefined) return;
            const news = { what, kind: "issue", issueId: issue.id, toldAt: job.at } as const;
            await tellPeople(tx, userIds.slice(at, at + TOLD_AT_ONCE), news);
          });
      },
    },
  };

  async function findRecipients(
    issue: ForgeIssue,
    names: readonly string[],
  ): Promise<readonly number[]> {
    const wishes = await listSubscriptions(db, issue.id);
    const concerned = [
      ...[...wishes].filter(([, wants]) => wants).map(([id]) => id),
      ...(await listWatchers(db, issue.repositoryId)),
      ...(issue.authorId === undefined ? [] : [issue.authorId]),
      ...(await listAssignees(db, issue.id)),
      ...(await listCommenters(db, issue.id)),
    ];
    const mentioned = await findMentioned(db, names.map((name) => `@${name}`).join(" "));
    return [
      ...new Set([
        ...concerned.filter((id) => wishes.get(id) !== false),
        ...mentioned.map(({ id }) => id),
      ]),
    ];
  }
}
