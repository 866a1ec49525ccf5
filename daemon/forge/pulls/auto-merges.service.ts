import { z } from "zod";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import type { IssueId, RepositoryId } from "../../../storage/tables/forge/ids.ts";
import { findIssueById, type ForgeIssue } from "../../../storage/tables/forge/issues/issues.ts";
import { insertEvents } from "../../../storage/tables/forge/issues/timeline.ts";
import {
  type AutoMerge,
  deleteAutoMerge,
  findAutoMerge,
  insertAutoMerge,
  listAutoMergesBlockedBy,
  listAutoMergesInto,
  listAutoMergesOfHead,
} from "../../../storage/tables/forge/pulls/merges.ts";
import { findRepositoryById } from "../../../storage/tables/forge/repositories/repositories.ts";
import { repository } from "../../contract/permission.ts";
import { AppError, type ErrorCode } from "../../errors.ts";
import { type JobKind, parsePayload } from "../../jobs/job-kind.ts";
import type { Enqueue } from "../../jobs/queue.ts";
import { type ForgeCaller, isSelf } from "../caller.ts";
import { toStatusCommit } from "../actions/runs/run-contexts.ts";
import type { Subscribers } from "../events.ts";
import type { GrantedRepository } from "../opened.ts";
import { notFound } from "../refusals.ts";
import { reaches } from "../repositories/access.ts";
import { grantRepository, reopenRepository } from "../repositories/open-repository.ts";
import type { MergeRequest, Merges } from "./merges.service.ts";
import { openPull } from "./open-pull.ts";

const KIND = "forge.pulls.auto_merge";
const payloadSchema = z.object({ issueId: z.int().brand<"IssueId">() });

/** Merges that happen as soon as nothing is missing: status checks, approvals, dependencies. */
export type AutoMerges = ReturnType<typeof createAutoMerges>;

export function createAutoMerges({
  db,
  enqueue,
  merges,
}: {
  readonly db: Database;
  readonly enqueue: Enqueue;
  readonly merges: Merges;
}) {
  return {
    /**
     * Schedules a merge, and makes it at once when nothing is missing. The caller is the merger. Refuses with `conflict` a
     * pull request that has one, else as a merge does, but not for what the rule of the branch requires.
     */
    async schedule(
      opened: GrantedRepository,
      caller: ForgeCaller,
      number: number,
      request: MergeRequest,
    ): Promise<void> {
      await merges.assertMergeable(opened, caller, number, request);
      const id = await db.transaction(async (tx) => {
        const place = await reopenRepository(tx, opened);
        const { issue } = await openPull(tx, place, number);
        if (issue.isClosed) throw notFound();
        if ((await findAutoMerge(tx, issue.id)) !== undefined)
          throw new AppError(
            "conflict",
            `pull request is already scheduled to auto merge when checks succeed [pull_id: ${issue.id}]`,
          );
        const { style, title, text: message, deletesBranch } = request;
        const userId = caller.user.id;
        await insertAutoMerge(tx, {
          issueId: issue.id,
          userId,
          style,
          title,
          message,
          deletesBranch,
        });
        await insertEvents(tx, issue.id, userId, [{ kind: "pull_scheduled_merge" }]);
        return issue.id;
      });
      await attempt(id);
    },

    /** Cancels a scheduled merge, for the person who scheduled it and administrators. */
    async cancel(opened: GrantedRepository, caller: ForgeCaller, number: number): Promise<void> {
      await db.transaction(async (tx) => {
        const place = await reopenRepository(tx, opened);
        const { issue } = await openPull(tx, place, number);
        const scheduled = await findAutoMerge(tx, issue.id);
        if (scheduled === undefined) throw notFound();
        if (!isSelf(caller.user, scheduled.userId) && !reaches(place.access, "admin"))
          throw new AppError(
            "forbidden",
            "user has no permission to cancel the scheduled auto merge",
          );
        await deleteAutoMerge(tx, issue.id);
        await insertEvents(tx, issue.id, caller.user.id, [{ kind: "pull_cancel_scheduled_merge" }]);
      });
    },

    /** Tries a scheduled merge when git has computed the pull request. */
    async retryComputed(issueId: IssueId): Promise<void> {
      if ((await findAutoMerge(db, issueId)) === undefined) return;
      await db.transaction((tx) => retry(tx, issueId));
    },

    job: {
      kind: KIND,
      run: async (payload) => attempt(parsePayload(payloadSchema, payload).issueId),
    } satisfies JobKind,

    subscribers: {
      status: (tx, { owned, status }) =>
        retryHead(tx, { repositoryId: owned.repository.id, headCommit: status.commitId }),
      // The status of a job is published for hooks only.
      run_job: (tx, { run }) =>
        retryHead(tx, { repositoryId: run.repositoryId, headCommit: toStatusCommit(run) }),
      review: (tx, { issue }) => retry(tx, issue.id),
      review_change: (tx, { issue }) => retry(tx, issue.id),
      review_request: (tx, { issue }) => retry(tx, issue.id),
      "issue.unblocked": (tx, { issue }) => retry(tx, issue.id),
      "repository.protected": (tx, { repository }) => retryInto(tx, repository.id),
      // Another style of merges may be allowed.
      "repository.edited": (tx, { repository }) => retryInto(tx, repository.id),
      async issue(tx, { issue, action }) {
        if (issue.isPull) return followPull(tx, issue);
        if (action !== "closed" && action !== "deleted") return undefined;
        for (const { issueId } of await listAutoMergesBlockedBy(tx, issue.id))
          await retry(tx, issueId);
        return undefined;
      },
    } satisfies Subscribers,
  };

  async function retryHead(
    tx: Transaction,
    head: Parameters<typeof listAutoMergesOfHead>[1],
  ): Promise<void> {
    for (const { issueId } of await listAutoMergesOfHead(tx, head)) await retry(tx, issueId);
  }

  async function retryInto(tx: Transaction, id: RepositoryId): Promise<void> {
    for (const { issueId } of await listAutoMergesInto(tx, id)) await retry(tx, issueId);
  }

  /** A closed pull request is not merged when it is opened again. */
  async function followPull(tx: Transaction, { id, isClosed }: ForgeIssue): Promise<void> {
    if (isClosed) await deleteAutoMerge(tx, id);
    else await retry(tx, id);
  }

  /** Tries a scheduled merge again after the transaction: something that it may have waited for has changed. */
  async function retry(tx: Transaction, issueId: IssueId): Promise<void> {
    if ((await findAutoMerge(tx, issueId)) === undefined) return;
    const payload: z.input<typeof payloadSchema> = { issueId };
    await enqueue(tx, { kind: KIND, payload, key: String(issueId) });
  }

  /** Merges if nothing is missing. Otherwise the merge stays scheduled. */
  async function attempt(issueId: IssueId): Promise<void> {
    const scheduled = await findAutoMerge(db, issueId);
    const issue = scheduled && (await findIssueById(db, issueId));
    const user = scheduled && (await findUserById(db, scheduled.userId));
    if (issue === undefined || user === undefined || scheduled === undefined) return;
    if (!user.isActive || user.prohibitLogin) return;
    const caller: ForgeCaller = { user, actor: user, method: "token", scope: undefined };
    try {
      const opened = await openAs(issue.repositoryId, caller);
      await merges.merge(opened, caller, issue.number, toRequest(scheduled));
    } catch (error) {
      if (!(error instanceof AppError && waiting.includes(error.code))) throw error;
    }
  }

  async function openAs(id: RepositoryId, caller: ForgeCaller): Promise<GrantedRepository> {
    const found = await findRepositoryById(db, id);
    const owner: ForgeUser | undefined = found && (await findUserById(db, found.ownerId));
    if (found === undefined || owner === undefined) throw notFound();
    const permission = repository("pulls", "read");
    return grantRepository(
      db,
      { repository: found, owner },
      { caller, permission, isChange: true },
    );
  }
}

/** Refusals of a merge that a later change may lift. */
const waiting: readonly ErrorCode[] = [
  "not_mergeable",
  "conflict",
  "not_found",
  "forbidden",
  "archived",
];

function toRequest({ style, title, message, deletesBranch }: AutoMerge): MergeRequest {
  const unused = { manualCommit: "", headCommit: "", isForced: false };
  return { ...unused, style, title, text: message, deletesBranch };
}
