import type { Database, Queries, Transaction } from "../../../storage/engine/database.ts";
import { type ForgeIssue, listAssignees } from "../../../storage/tables/forge/issues/issues.ts";
import { insertEvents } from "../../../storage/tables/forge/issues/timeline.ts";
import {
  deleteStopwatch,
  deleteTrackedTime,
  deleteTrackedTimesOf,
  findStopwatch,
  findTrackedTime,
  insertStopwatch,
  insertTrackedTime,
  listTrackedTimes,
  type TimeFilter,
  type TrackedTime,
} from "../../../storage/tables/forge/issues/tracked-times.ts";
import { type ForgeUser, findUserByName } from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import { isPublicOnly } from "../accounts/scopes.ts";
import { type ForgeCaller, isSelf } from "../caller.ts";
import { toQueryRange } from "../notifications/query-time.ts";
import { type PageWindow, toRows } from "../page-window.ts";
import { reaches } from "../repositories/access.ts";
import { findTimeTracking } from "../repositories/repository-settings.view.ts";
import { canWrite, openIssue } from "./issue-access.ts";
import { noWriter } from "../repositories/access.ts";
import { reopenRepository } from "../repositories/open-repository.ts";
import type { GrantedRepository, OpenedRepository } from "../opened.ts";
import { findPeople, loadIssueDetails, type IssueDetails } from "./issue-details.ts";
import { readIssues } from "./readable-issues.ts";
import {
  type UserId,
  type IssueId,
  toUserId,
  toTrackedTimeId,
} from "../../../storage/tables/forge/ids.ts";

/** A tracked time with the records that its view shows. */
export interface TimeDetails {
  readonly time: TrackedTime;
  readonly user: ForgeUser | undefined;
  readonly issue: IssueDetails;
}

/** A page of times: of a range of days, and of one user unless `user` is empty. */
export interface TimeListOptions extends PageWindow {
  readonly user: string;
  readonly since: string;
  readonly before: string;
}

export interface TimePage {
  readonly times: readonly TimeDetails[];
  readonly total: number;
}

/** A running stopwatch with its issue and the seconds since its start. */
export interface StopwatchDetails {
  readonly issue: IssueDetails;
  readonly startedAt: number;
  readonly seconds: number;
}

/** Time that users worked on issues, added by hand or by a stopwatch. */
export type TrackedTimes = ReturnType<typeof createTrackedTimes>;

/**
 * Creates the service. Every function with a repository throws `invalid_argument` when it does not track time, and with
 * the number of an issue `not_found`.
 */
export function createTrackedTimes({
  db,
  clock,
}: {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}) {
  return {
    /** Lists the times of an issue. A caller without write access sees only their own. */
    async listOfIssue(
      opened: GrantedRepository,
      number: number,
      caller: ForgeCaller,
      query: TimeListOptions,
    ): Promise<TimePage> {
      assertTracksTime(opened);
      const issue = await openIssue(db, opened, number);
      const userId = await findUserFilter(opened, caller, query.user);
      return list({ issueId: issue.id, userId, ...toQueryRange(query) }, caller, query);
    },

    /** Lists the times of a repository. A caller without write access sees only their own. */
    async listOfRepository(
      opened: GrantedRepository,
      caller: ForgeCaller,
      query: TimeListOptions,
    ): Promise<TimePage> {
      assertTracksTime(opened);
      const userId = await findUserFilter(opened, caller, query.user);
      const range = toQueryRange(query);
      return list({ repositoryId: opened.repository.id, userId, ...range }, caller, query);
    },

    /** Lists the times of a user in a repository; for that user and for administrators. */
    async listOfUser(
      opened: GrantedRepository,
      name: string,
      caller: ForgeCaller,
      window: PageWindow,
    ): Promise<TimePage> {
      assertTracksTime(opened);
      const user = await getUser(db, name);
      if (!isSelf(caller.user, user.id) && !reaches(opened.access, "admin")) throw notAllowed();
      const filter = { repositoryId: opened.repository.id, userId: user.id };
      return list(filter, caller, window);
    },

    /** Lists the caller's own times in all repositories that the caller may read. */
    listOwn: (caller: ForgeCaller, query: Omit<TimeListOptions, "user">): Promise<TimePage> =>
      list(
        {
          userId: caller.user.id,
          readableTo: { reader: caller.user, isPublicOnly: isPublicOnly(caller) },
          ...toQueryRange(query),
        },
        caller,
        query,
      ),

    /**
     * Adds time to an issue. Administrators may add the time of another user as `userName`, which is ignored for other
     * callers, as in the reference.
     */
    async add(
      place: GrantedRepository,
      number: number,
      caller: ForgeCaller,
      input: {
        readonly seconds: number;
        readonly createdAt: number | undefined;
        readonly userName: string;
      },
    ): Promise<TimeDetails> {
      return db.transaction(async (tx) => {
        const { opened, issue } = await openToTrack(tx, place, number, caller);
        const mayName = input.userName !== "" && reaches(opened.access, "admin");
        const user = mayName ? await getUser(tx, input.userName) : caller.user;
        const { seconds, createdAt = tx.now } = input;
        const row = { issueId: issue.id, userId: user.id, seconds, createdAt };
        const time = await insertTrackedTime(tx, row);
        const details = { seconds, trackedTimeId: time.id };
        await insertEvents(tx, issue.id, user.id, [{ kind: "add_time_manual", details }]);
        return { time, user, issue: await loadIssueDetails(tx, opened, issue, caller.user) };
      });
    },

    /** Deletes a time. Refuses with `forbidden` the time of another user, unless the caller is a site administrator. */
    async remove(
      opened: GrantedRepository,
      at: { readonly index: number; readonly id: number },
      caller: ForgeCaller,
    ): Promise<void> {
      const { user } = caller;
      await db.transaction(async (tx) => {
        const { issue } = await openToTrack(tx, opened, at.index, caller);
        const time = await findTrackedTime(tx, issue.id, toTrackedTimeId(at.id));
        if (time === undefined) throw new AppError("not_found", "tracked_time does not exist");
        if (time.userId !== user.id && !user.isAdmin)
          throw new AppError("forbidden", "only the user of a tracked time may delete it");
        await deleteTrackedTime(tx, time.id);
        await recordDeletion(tx, issue, time.userId ?? user.id, time.seconds);
      });
    },

    /** Deletes the caller's times of an issue. Throws `not_found` when the caller has tracked no time on it. */
    async reset(opened: GrantedRepository, number: number, caller: ForgeCaller): Promise<void> {
      await db.transaction(async (tx) => {
        const { issue } = await openToTrack(tx, opened, number, caller);
        const seconds = await deleteTrackedTimesOf(tx, issue.id, caller.user.id);
        if (seconds === undefined) throw new AppError("not_found", "tracked_time does not exist");
        await recordDeletion(tx, issue, caller.user.id, seconds);
      });
    },

    /** Starts the caller's stopwatch. Stops a stopwatch that runs on another issue first. */
    async start(opened: GrantedRepository, number: number, caller: ForgeCaller): Promise<void> {
      const userId = caller.user.id;
      await db.transaction(async (tx) => {
        const { issue } = await openForStopwatch(tx, opened, number, caller);
        const running = await findStopwatch(tx, userId);
        if (running?.issueId === issue.id)
          throw new AppError("conflict", "cannot start a stopwatch again if it already exists");
        if (running !== undefined) await finishStopwatch(tx, userId, running.issueId);
        await insertStopwatch(tx, { userId, issueId: issue.id });
        await insertEvents(tx, issue.id, userId, [{ kind: "start_tracking" }]);
      });
    },

    /** Stops the caller's stopwatch and records its time. */
    async stop(opened: GrantedRepository, number: number, caller: ForgeCaller): Promise<void> {
      await db.transaction(async (tx) => {
        const { issue } = await openForStopwatch(tx, opened, number, caller);
        if (!(await finishStopwatch(tx, caller.user.id, issue.id)))
          throw new AppError("conflict", "cannot stop a non-existent stopwatch");
      });
    },

    /** Stops the caller's stopwatch and discards its time. */
    async cancel(opened: GrantedRepository, number: number, caller: ForgeCaller): Promise<void> {
      const userId = caller.user.id;
      await db.transaction(async (tx) => {
        const { issue } = await openForStopwatch(tx, opened, number, caller);
        if ((await findStopwatch(tx, userId))?.issueId !== issue.id)
          throw new AppError("conflict", "cannot cancel a non-existent stopwatch");
        await deleteStopwatch(tx, userId);
        await insertEvents(tx, issue.id, userId, [{ kind: "cancel_tracking" }]);
      });
    },

    /**
     * Returns the caller's running stopwatch; undefined without one, and when the caller may no longer read its issue.
     */
    async findRunning(caller: ForgeCaller): Promise<StopwatchDetails | undefined> {
      const running = await findStopwatch(db, caller.user.id);
      if (running === undefined) return undefined;
      const issue = (await readIssues(db, caller, [running.issueId])).get(running.issueId);
      if (issue === undefined) return undefined;
      const { startedAt } = running;
      return { issue, startedAt, seconds: toSeconds(clock() - startedAt) };
    },
  };

  async function list(
    filter: TimeFilter,
    caller: ForgeCaller,
    window: PageWindow,
  ): Promise<TimePage> {
    const { times, total } = await listTrackedTimes(db, filter, toRows(window));
    const people = await findPeople(
      db,
      times.map(({ userId }) => userId),
    );
    const issues = await readIssues(
      db,
      caller,
      times.map(({ issueId }) => issueId),
    );
    const shown = times.flatMap((time): TimeDetails[] => {
      const issue = issues.get(time.issueId);
      return issue === undefined
        ? []
        : [{ time, user: people.get(time.userId ?? toUserId(-1)), issue }];
    });
    return { times: shown, total };
  }

  /** Returns the user whose times are listed; undefined for all users. */
  async function findUserFilter(
    opened: OpenedRepository,
    caller: ForgeCaller,
    name: string,
  ): Promise<UserId | undefined> {
    const userId = name.trim() === "" ? undefined : (await getUser(db, name.trim())).id;
    if (canWrite(opened) || isSelf(caller.user, userId)) return userId;
    if (userId !== undefined) throw notAllowed();
    return caller.user.id;
  }

  async function getUser(queries: Queries, name: string): Promise<ForgeUser> {
    const user = await findUserByName(queries, name);
    if (user?.kind !== "individual")
      throw new AppError("not_found", `user does not exist [uid: 0, name: ${name}]`);
    return user;
  }

  function assertTracksTime({ repository }: OpenedRepository): void {
    if (findTimeTracking(repository.settings) === "off")
      throw new AppError("invalid_argument", "time tracking disabled");
  }

  /** Refuses with `forbidden` a caller who may not track time on the issue. */
  async function openToTrack(
    tx: Transaction,
    place: GrantedRepository,
    number: number,
    caller: ForgeCaller,
  ) {
    const opened = await reopenRepository(tx, place);
    assertTracksTime(opened);
    const issue = await openIssue(tx, opened, number);
    const mayTrack =
      findTimeTracking(opened.repository.settings) === "readers" ||
      canWrite(opened) ||
      isSelf(caller.user, issue.authorId) ||
      (await listAssignees(tx, issue.id)).some((id) => isSelf(caller.user, id));
    if (!mayTrack) throw new AppError("forbidden", "user may not track time on this issue");
    return { opened, issue };
  }

  /** Refuses with `forbidden` a caller without write access, as the reference does for stopwatches. */
  async function openForStopwatch(
    tx: Transaction,
    place: GrantedRepository,
    number: number,
    caller: ForgeCaller,
  ) {
    const found = await openToTrack(tx, place, number, caller);
    if (!canWrite(found.opened)) throw noWriter();
    return found;
  }

  function recordDeletion(tx: Transaction, issue: ForgeIssue, userId: UserId, seconds: number) {
    return insertEvents(tx, issue.id, userId, [
      { kind: "delete_time_manual", details: { seconds } },
    ]);
  }
}

/** Stops the stopwatch of a user on an issue and records its time. Returns whether it was running. */
export async function finishStopwatch(
  tx: Transaction,
  userId: UserId,
  issueId: IssueId,
): Promise<boolean> {
  const running = await findStopwatch(tx, userId);
  if (running?.issueId !== issueId) return false;
  await deleteStopwatch(tx, userId);
  const seconds = toSeconds(tx.now - running.startedAt);
  const row = { issueId, userId, seconds, createdAt: tx.now };
  const time = await insertTrackedTime(tx, row);
  await insertEvents(tx, issueId, userId, [
    { kind: "stop_tracking", details: { seconds, trackedTimeId: time.id } },
  ]);
  return true;
}

const toSeconds = (milliseconds: number) => Math.max(0, Math.floor(milliseconds / 1000));

const notAllowed = () => new AppError("forbidden", "query by user not allowed; not enough rights");
