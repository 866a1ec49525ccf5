import type { Database, Transaction } from "../../../storage/engine/database.ts";
import {
  deleteIssue,
  findIssueById,
  updateIssue,
} from "../../../storage/tables/forge/issues/issues.ts";
import { listPinnedIssues, writePins } from "../../../storage/tables/forge/issues/pins.ts";
import { insertEvents } from "../../../storage/tables/forge/issues/timeline.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import type { RepositoryPath } from "../repositories/repositories.service.ts";
import { assertAdministers, openIssue, openIssues, type OpenedRepository } from "./issue-access.ts";
import { type IssueDetails, loadIssueDetails } from "./issue-details.ts";
import type { IssueEvents } from "./issue-events.ts";
import type { IssuePath } from "./issue-requests.ts";
import type { IssueId } from "../../../storage/tables/forge/ids.ts";

/** Maximum number of pinned issues of a repository, as in the reference. */
const PINS_MAX = 3;

/** Locks, pins and deletion of issues. */
export type IssueStates = ReturnType<typeof createIssueStates>;

/** Creates the service. Every function throws `not_found` when the caller may not read the issue. */
export function createIssueStates({
  db,
  events,
}: {
  readonly db: Database;
  readonly events: IssueEvents;
}) {
  return {
    /** Locks an issue; idempotent. Refuses with `forbidden` a caller who does not administer the repository. */
    async lock(path: IssuePath, caller: ForgeCaller, reason: string): Promise<void> {
      const { id } = await openToAdminister(path, caller, "lock");
      await db.transaction(async (tx) => {
        if ((await findIssueById(tx, id))?.lockedAt !== undefined) return;
        await updateIssue(tx, id, { lockedAt: tx.now });
        const details = reason === "" ? {} : { reason };
        await insertEvents(tx, id, caller.user.id, [{ kind: "lock", details }]);
      });
    },

    /** Unlocks an issue; idempotent. Refuses as `lock` does. */
    async unlock(path: IssuePath, caller: ForgeCaller): Promise<void> {
      const { id } = await openToAdminister(path, caller, "lock");
      await db.transaction(async (tx) => {
        if ((await findIssueById(tx, id))?.lockedAt === undefined) return;
        await updateIssue(tx, id, { lockedAt: undefined });
        await insertEvents(tx, id, caller.user.id, [{ kind: "unlock" }]);
      });
    },

    async listPinned(
      path: RepositoryPath,
      caller: ForgeCaller | undefined,
    ): Promise<readonly IssueDetails[]> {
      const opened = await openIssues(db, path, caller, "/issues/pinned");
      const pinned: IssueDetails[] = [];
      for (const issue of await listPinnedIssues(db, opened.repository.id))
        pinned.push(await loadIssueDetails(db, opened, issue, caller?.user));
      return pinned;
    },

    /** Returns whether another issue may be pinned. */
    async hasRoomForPin(path: RepositoryPath, caller: ForgeCaller | undefined): Promise<boolean> {
      const { repository } = await openIssues(db, path, caller, "/new_pin_allowed");
      return (await listPinnedIssues(db, repository.id)).length < PINS_MAX;
    },

    /**
     * Pins an issue after the others; idempotent. Refuses with `forbidden` a caller who does not administer the
     * repository, and with `invalid_argument` when the maximum number of issues is pinned.
     */
    pin: (path: IssuePath, caller: ForgeCaller): Promise<void> =>
      changePins(path, caller, async (tx, id, pinned) => {
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
    unpin: (path: IssuePath, caller: ForgeCaller): Promise<void> =>
      changePins(path, caller, async (tx, id, pinned) => {
        if (!pinned.includes(id)) return pinned;
        await insertEvents(tx, id, caller.user.id, [{ kind: "unpin" }]);
        return pinned.filter((each) => each !== id);
      }),

    /** Moves a pinned issue to a position, which counts from 1. Has no effect on an issue that is not pinned. */
    movePin: (path: IssuePath, caller: ForgeCaller, position: number): Promise<void> =>
      changePins(path, caller, async (_tx, id, pinned) => {
        if (!pinned.includes(id) || position < 1) return pinned;
        return pinned.filter((each) => each !== id).toSpliced(position - 1, 0, id);
      }),

    /** Deletes an issue with its comments. Refuses with `forbidden` a caller who does not administer the repository. */
    async remove(path: IssuePath, caller: ForgeCaller): Promise<void> {
      const opened = await openIssues(db, path, caller, `/issues/${path.index}`);
      const { id } = await openIssue(db, opened, path.index);
      assertAdministers(opened);
      await db.transaction(async (tx) => {
        const issue = await findIssueById(tx, id);
        if (issue === undefined) return;
        await events.issue(tx, "issues", "deleted", { owned: opened, issue, actor: caller.user });
        await deleteIssue(tx, issue);
        const pinned = await listPinnedIssues(tx, opened.repository.id);
        if (issue.pinOrder > 0) await writePins(tx, opened.repository.id, idsOf(pinned));
      });
    },
  };

  async function openToAdminister(path: IssuePath, caller: ForgeCaller, rest: string) {
    const opened: OpenedRepository = await openIssues(
      db,
      path,
      caller,
      `/issues/${path.index}/${rest}`,
    );
    const issue = await openIssue(db, opened, path.index);
    assertAdministers(opened);
    return issue;
  }

  async function changePins(
    path: IssuePath,
    caller: ForgeCaller,
    change: (
      tx: Transaction,
      id: IssueId,
      pinned: readonly IssueId[],
    ) => Promise<readonly IssueId[]>,
  ): Promise<void> {
    const { id, repositoryId } = await openToAdminister(path, caller, "pin");
    await db.transaction(async (tx) => {
      const before = idsOf(await listPinnedIssues(tx, repositoryId));
      const after = await change(tx, id, before);
      if (after !== before) await writePins(tx, repositoryId, after);
    });
  }
}

const idsOf = (issues: readonly { readonly id: IssueId }[]): readonly IssueId[] =>
  issues.map(({ id }) => id);
