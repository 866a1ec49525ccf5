import type { Database, Transaction } from "../../../storage/engine/database.ts";
import {
  deleteIssue,
  type ForgeIssue,
  updateIssue,
} from "../../../storage/tables/forge/issues/issues.ts";
import { listPinnedIssues, writePins } from "../../../storage/tables/forge/issues/pins.ts";
import { insertEvents } from "../../../storage/tables/forge/issues/timeline.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import { reopenRepository } from "../repositories/open-repository.ts";
import { openIssue } from "./issue-access.ts";
import type { GrantedRepository, OpenedRepository } from "../opened.ts";
import { type IssueDetails, loadAllIssueDetails } from "./issue-details.ts";
import type { Emit } from "../events.ts";
import type { IssueId } from "../../../storage/tables/forge/ids.ts";

/** Maximum number of pinned issues of a repository, as in the reference. */
const PINS_MAX = 3;

/** Locks, pins and deletion of issues. */
export type IssueStates = ReturnType<typeof createIssueStates>;

/** Creates the service. Every function with the number of an issue throws `not_found`. */
export function createIssueStates({ db, emit }: { readonly db: Database; readonly emit: Emit }) {
  return {
    /** Locks an issue; idempotent. */
    async lock(
      opened: GrantedRepository,
      number: number,
      caller: ForgeCaller,
      reason: string,
    ): Promise<void> {
      await db.transaction(async (tx) => {
        const { id, lockedAt } = await reopen(tx, opened, number);
        if (lockedAt !== undefined) return;
        await updateIssue(tx, id, { lockedAt: tx.now });
        const details = reason === "" ? {} : { reason };
        await insertEvents(tx, id, caller.user.id, [{ kind: "lock", details }]);
      });
    },

    /** Unlocks an issue; idempotent. */
    async unlock(opened: GrantedRepository, number: number, caller: ForgeCaller): Promise<void> {
      await db.transaction(async (tx) => {
        const { id, lockedAt } = await reopen(tx, opened, number);
        if (lockedAt === undefined) return;
        await updateIssue(tx, id, { lockedAt: undefined });
        await insertEvents(tx, id, caller.user.id, [{ kind: "unlock" }]);
      });
    },

    async listPinned(
      opened: GrantedRepository,
      caller: ForgeCaller | undefined,
    ): Promise<readonly IssueDetails[]> {
      const pinned = await listPinnedIssues(db, opened.repository.id, false);
      const all = pinned.map((issue) => ({ owned: opened, issue }));
      return loadAllIssueDetails(db, all, caller?.user);
    },

    /** Returns whether another issue and another pull request may be pinned. */
    async hasRoomForPin({
      repository,
    }: GrantedRepository): Promise<{ readonly issues: boolean; readonly pull_requests: boolean }> {
      const hasRoom = async (isPull: boolean) =>
        (await listPinnedIssues(db, repository.id, isPull)).length < PINS_MAX;
      return { issues: await hasRoom(false), pull_requests: await hasRoom(true) };
    },

    /**
     * Pins an issue after the others; idempotent. Refuses with `invalid_argument` when the maximum number of issues is
     * pinned.
     */
    pin: (opened: GrantedRepository, number: number, caller: ForgeCaller): Promise<void> =>
      changePins(opened, number, async (tx, id, pinned) => {
        if (pinned.includes(id)) return pinned;
        if (pinned.length >= PINS_MAX)
          throw new AppError(
            "invalid_argument",
            "You have reached the max number of pinned issues",
          );
        await insertEvents(tx, id, caller.user.id, [{ kind: "pin" }]);
        return [...pinned, id];
      }),

    /** Unpins an issue; idempotent. */
    unpin: (opened: GrantedRepository, number: number, caller: ForgeCaller): Promise<void> =>
      changePins(opened, number, async (tx, id, pinned) => {
        if (!pinned.includes(id)) return pinned;
        await insertEvents(tx, id, caller.user.id, [{ kind: "unpin" }]);
        return pinned.filter((each) => each !== id);
      }),

    /** Moves a pinned issue to a position, which counts from 1. Has no effect on an issue that is not pinned. */
    movePin: (opened: GrantedRepository, number: number, position: number): Promise<void> =>
      changePins(opened, number, async (_tx, id, pinned) => {
        if (!pinned.includes(id) || position < 1) return pinned;
        return pinned.filter((each) => each !== id).toSpliced(position - 1, 0, id);
      }),

    /** Deletes an issue with its comments. */
    async remove(opened: GrantedRepository, number: number, caller: ForgeCaller): Promise<void> {
      await db.transaction(async (tx) => {
        const { owned, ...issue } = await reopen(tx, opened, number);
        await emit(tx, "issue", { action: "deleted", owned, issue, actor: caller.user });
        await deleteIssue(tx, issue);
        const pinned = await listPinnedIssues(tx, issue.repositoryId, issue.isPull);
        if (issue.pinOrder > 0) await writePins(tx, issue, idsOf(pinned));
      });
    },
  };

  async function reopen(
    tx: Transaction,
    opened: GrantedRepository,
    number: number,
  ): Promise<ForgeIssue & { readonly owned: OpenedRepository }> {
    const owned = await reopenRepository(tx, opened);
    return { ...(await openIssue(tx, owned, number)), owned };
  }

  async function changePins(
    opened: GrantedRepository,
    number: number,
    change: (
      tx: Transaction,
      id: IssueId,
      pinned: readonly IssueId[],
    ) => Promise<readonly IssueId[]>,
  ): Promise<void> {
    await db.transaction(async (tx) => {
      const issue = await reopen(tx, opened, number);
      const before = idsOf(await listPinnedIssues(tx, issue.repositoryId, issue.isPull));
      const after = await change(tx, issue.id, before);
      if (after !== before) await writePins(tx, issue, after);
    });
  }
}

const idsOf = (issues: readonly { readonly id: IssueId }[]): readonly IssueId[] =>
  issues.map(({ id }) => id);
