import type { Database } from "../../../storage/engine/database.ts";
import {
  type CommitState,
  commitStates,
  type CommitStatus,
  findLastOutcome,
  insertCommitStatus,
  listCommitStatuses,
  listLatestStatuses,
} from "../../../storage/tables/forge/repositories/statuses.ts";
import { findEmail } from "../../../storage/tables/forge/accounts/emails.ts";
import { countWatchers } from "../../../storage/tables/forge/repositories/watches.ts";
import { findUserById, listUsersByIds } from "../../../storage/tables/forge/accounts/users.ts";
import { AppError, assertNever } from "../../errors.ts";
import type { FindCommit } from "../git/commit-readers.ts";
import type { ForgeCaller } from "../caller.ts";
import { reopenRepository } from "../repositories/open-repository.ts";
import type { GrantedRepository, OpenedRepository } from "../opened.ts";
import { notifyUsers } from "../notifications/notify.ts";
import { toRows, type PageWindow } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import { refusing } from "../repositories/git-refusals.ts";
import type { Emit, OwnedRepository, StatusDetails } from "../events.ts";
import type { RepositoryDetails } from "../repositories/repository.view.ts";
import { toUserId } from "../../../storage/tables/forge/ids.ts";

/** The combined state of the latest statuses of all contexts. */
export interface CombinedStatus {
  readonly repository: RepositoryDetails;
  readonly commitId: string;
  readonly state: "pending" | "success" | "failure";
  readonly statuses: readonly StatusDetails[];
  readonly total: number;
}

/** Maximum number of statuses of one commit. A context may report many attempts. */
const STATUSES_MAX = 1_000;
const DEFAULT_CONTEXT = "default";

/** Statuses that build servers and other clients report on commits. */
export type Statuses = ReturnType<typeof createStatuses>;

/**
 * Creates the service. The author of a commit is notified, in a thread of that commit, when a context fails, and when
 * it succeeds after a failure for a commit of the same author. Every function throws `not_found` for unknown commits.
 */
export function createStatuses({
  db,
  findCommit,
  emit,
}: {
  readonly db: Database;
  readonly findCommit: FindCommit;
  readonly emit: Emit;
}) {
  return {
    /** Throws `unprocessable` if the commit has `STATUSES_MAX` statuses. */
    async create(
      opened: GrantedRepository,
      sha: string,
      caller: ForgeCaller,
      report: Pick<CommitStatus, "state" | "targetUrl" | "description" | "context">,
    ): Promise<StatusDetails> {
      const commit = await getCommit(opened, sha);
      const context = report.context === "" ? DEFAULT_CONTEXT : report.context;
      return db.transaction(async (tx) => {
        const owned = await reopenRepository(tx, opened);
        const repositoryId = owned.repository.id;
        const address = await findEmail(tx, commit.author.email);
        const authorId = address?.isVerified === true ? address.userId : undefined;
        const author = authorId === undefined ? undefined : await findUserById(tx, authorId);
        const key = { repositoryId, commitId: commit.id };
        const { total } = await listCommitStatuses(tx, key, { ...everyState, limit: 1, offset: 0 });
        if (total >= STATUSES_MAX)
          throw new AppError(
            "unprocessable",
            `a commit has at most ${STATUSES_MAX} statuses [sha: ${commit.id}]`,
          );
        const before =
          authorId === undefined
            ? undefined
            : await findLastOutcome(tx, { repositoryId, context, authorId });
        const creatorId = caller.user.id;
        const made = await insertCommitStatus(tx, {
          ...key,
          ...report,
          context,
          creatorId,
          authorId,
        });
        if (authorId !== undefined && isNoteworthy(made, before))
          await notifyUsers(tx, [authorId], {
            owned,
            kind: "commit",
            commitId: commit.id,
            notifiedAt: tx.now,
          });
        const details = { owned, status: made, creator: caller.user };
        await emit(tx, "status", { ...details, commit, author });
        return details;
      });
    },

    async list(
      owned: GrantedRepository,
      name: string,
      options: PageWindow & { readonly state: string; readonly sort: string },
    ): Promise<{ readonly statuses: readonly StatusDetails[]; readonly total: number }> {
      const { id: commitId } = await getCommit(owned, name);
      const found = await listCommitStatuses(
        db,
        { repositoryId: owned.repository.id, commitId },
        {
          state: commitStates.find((state) => state === options.state),
          isOldestFirst: ["oldest", "leastupdate", "leastindex"].includes(options.sort),
          ...toRows(options),
        },
      );
      return { statuses: await loadDetails(owned, found.statuses), total: found.total };
    },

    async combine(
      owned: GrantedRepository,
      ref: string,
      window: PageWindow,
    ): Promise<CombinedStatus> {
      const { id } = await getCommit(owned, ref);
      const latest = await listLatestStatuses(db, owned.repository.id, id);
      const { limit, offset } = toRows(window);
      const page = latest.slice(offset, offset + limit);
      const watchers =
        (await countWatchers(db, [owned.repository.id])).get(owned.repository.id) ?? 0;
      const isSignedIn = owned.grant.caller !== undefined;
      return {
        repository: { ...owned, watchers, isSignedIn },
        commitId: id,
        state: toCombinedState(latest.map(({ state }) => state)),
        statuses: await loadDetails(owned, page),
        total: latest.length,
      };
    },
  };

  async function getCommit({ repository }: OpenedRepository, name: string) {
    const commit = await refusing(() => findCommit(repository, name));
    if (commit === undefined) throw notFound();
    return commit;
  }

  async function loadDetails(
    owned: OwnedRepository,
    statuses: readonly CommitStatus[],
  ): Promise<StatusDetails[]> {
    const ids = statuses.map(({ creatorId }) => creatorId).filter((id) => id !== undefined);
    const creators = new Map((await listUsersByIds(db, ids)).map((user) => [user.id, user]));
    return statuses.map((status) => ({
      owned,
      status,
      creator: creators.get(status.creatorId ?? toUserId(-1)),
    }));
  }
}

const everyState = { state: undefined, isOldestFirst: false } as const;

const isBad = (state: CommitState): boolean => state === "failure" || state === "error";

/** Returns whether to notify the author: a first failure of this commit, or a success after a failure. */
function isNoteworthy(status: CommitStatus, before: CommitStatus | undefined): boolean {
  const wasBad = before !== undefined && isBad(before.state);
  if (isBad(status.state)) return !wasBad || before.commitId !== status.commitId;
  return status.state === "success" && wasBad;
}

/** Returns failure if any context failed, pending if any is pending or none exists. */
function toCombinedState(states: readonly CommitState[]): CombinedStatus["state"] {
  let combined: CombinedStatus["state"] = states.length === 0 ? "pending" : "success";
  for (const state of states)
    switch (state) {
      case "error":
      case "failure":
        return "failure";
      case "pending":
        combined = "pending";
        break;
      case "success":
      case "warning":
      case "skipped":
        break;
      default:
        assertNever(state);
    }
  return combined;
}
