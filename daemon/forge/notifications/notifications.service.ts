import type { Database } from "../../../storage/engine/database.ts";
import { findMailbox } from "../../../storage/tables/forge/accounts/mailboxes.ts";
import {
  countThreads,
  findThread,
  type ForgeThread,
  listThreads,
  markThread,
  markThreads,
  type ThreadFilter,
  type ThreadKind,
  type ThreadStatus,
} from "../../../storage/tables/forge/notifications.ts";
import { findUserById } from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import { toRows, type PageWindow } from "../page-window.ts";
import { notFound } from "../refusals.ts";
import { findAccess, reaches } from "../repositories/access.ts";
import { getOwned, type RepositoryPath } from "../repositories/repositories.service.ts";
import { assertQueryTime, toQueryRange } from "./query-time.ts";
import { type SeenThread, seeThreads } from "./subjects.ts";

/** Which threads a caller asks for (forge behaviour, 19.1). */
export interface WantedThreads extends PageWindow {
  readonly repository?: RepositoryPath;
  /** Every status, whatever `statuses` says. */
  readonly all: boolean;
  /** Undefined when nothing was asked for; empty when only unknown words were. */
  readonly statuses: readonly ThreadStatus[] | undefined;
  readonly kinds: readonly ThreadKind[] | undefined;
  readonly since: string;
  readonly before: string;
}

/** Which threads get which status (forge behaviour, 19.2). */
export interface WantedMarks {
  readonly repository?: RepositoryPath;
  readonly all: boolean;
  readonly statuses: readonly ThreadStatus[] | undefined;
  /** Only threads that did not change after this; empty: all. */
  readonly lastReadAt: string;
  readonly status: ThreadStatus;
}

/** A page of threads, and the count of all. */
export interface SeenThreads {
  readonly threads: readonly SeenThread[];
  readonly total: number;
}

/** Threads with the time of the caller's latest change, in epoch milliseconds; `found` is undefined when it is known. */
export interface ChangedThreads {
  readonly changedAt: number;
  readonly found: SeenThreads | undefined;
}

/** A person's threads: the mailbox of what happened. */
export interface Notifications {
  /** A page of the caller's threads. Refuses with `unprocessable` times that are none, `not_found` a hidden repository. */
  list(caller: ForgeCaller, wanted: WantedThreads): Promise<SeenThreads>;
  /**
   * Marks the caller's threads in one statement, and returns the first `MARKED_SHOWN_MAX` of them as they are now, in the
   * order in which they were found, and the count of all. Refuses with `invalid_argument` a time that is none.
   */
  markAll(caller: ForgeCaller, wanted: WantedMarks): Promise<SeenThreads>;
  countUnread(caller: ForgeCaller): Promise<number>;
  /** A thread of the caller's, or anybody's for a site administrator: as its recipient sees it. */
  get(caller: ForgeCaller, id: number): Promise<SeenThread>;
  /** Marks a thread of the caller's own. Refuses with `forbidden` for anybody else's. */
  mark(caller: ForgeCaller, id: number, status: ThreadStatus): Promise<SeenThread>;
  /**
   * As `list`, unless no thread of the caller changed since `known`, which costs one row to find out. The threads of one
   * repository are always listed: the right to read it can be lost without a change of any thread.
   */
  listSince(
    caller: ForgeCaller,
    wanted: WantedThreads,
    known: Date | undefined,
  ): Promise<ChangedThreads>;
}

/** Threads that the answer to a bulk change shows: a hundred thousand of them would be hundreds of megabytes. */
const MARKED_SHOWN_MAX = 1_000;

export function createNotifications({ db }: { readonly db: Database }): Notifications {
  return {
    list,

    async listSince(caller, wanted, known) {
      const { changedAt } = await findMailbox(db, caller.user.id);
      const isKnown =
        known !== undefined && wholeSeconds(known.getTime()) >= wholeSeconds(changedAt);
      if (isKnown && wanted.repository === undefined) return { changedAt, found: undefined };
      return { changedAt, found: await list(caller, wanted) };
    },

    async markAll(caller, wanted) {
      const lastRead = assertQueryTime(wanted.lastReadAt, "invalid_argument");
      const filter: ThreadFilter = {
        userId: caller.user.id,
        repositoryId: await findRepositoryId(caller, wanted.repository),
        statuses: wanted.all ? [] : (wanted.statuses ?? ["unread"]),
        kinds: [],
        before: lastRead?.to,
      };
      const { status } = wanted;
      const { threads, total } = await db.transaction(async (tx) => {
        const found = await listThreads(tx, filter, { limit: MARKED_SHOWN_MAX, offset: 0 });
        const marked: ForgeThread[] = found.map((thread) => ({
          ...thread,
          status,
          updatedAt: tx.now,
        }));
        return { threads: marked, total: await markThreads(tx, filter, status) };
      });
      return { threads: await seeThreads(db, threads, caller.user), total };
    },

    countUnread: async (caller) => (await findMailbox(db, caller.user.id)).unread,

    async get(caller, id) {
      const thread = await getThread(id);
      const isOwn = thread.userId === caller.user.id;
      if (!isOwn && !caller.user.isAdmin) throw foreignThread(id);
      const recipient = isOwn ? caller.user : await findUserById(db, thread.userId);
      if (recipient === undefined) throw threadNotFound(id);
      return seeOne(thread, recipient);
    },

    async mark(caller, id, status) {
      const thread = await getThread(id);
      if (thread.userId !== caller.user.id) throw foreignThread(id);
      const userId = caller.user.id;
      const marked = await db.transaction((tx) => markThread(tx, { id, userId }, status));
      if (marked === undefined) throw threadNotFound(id);
      return seeOne(marked, caller.user);
    },
  };

  async function list(caller: ForgeCaller, wanted: WantedThreads): Promise<SeenThreads> {
    const range = toQueryRange(wanted);
    const filter: ThreadFilter = {
      userId: caller.user.id,
      repositoryId: await findRepositoryId(caller, wanted.repository),
      statuses: wanted.all ? [] : (wanted.statuses ?? ["unread", "pinned"]),
      kinds: wanted.kinds ?? [],
      ...range,
    };
    const rows = toRows(wanted);
    const total = await countThreads(db, filter);
    const threads = rows.offset < total ? await listThreads(db, filter, rows) : [];
    return { threads: await seeThreads(db, threads, caller.user), total };
  }

  async function getThread(id: number): Promise<ForgeThread> {
    const thread = await findThread(db, id);
    if (thread === undefined) throw threadNotFound(id);
    return thread;
  }

  async function seeOne(thread: ForgeThread, recipient: ForgeCaller["user"]): Promise<SeenThread> {
    const [seen] = await seeThreads(db, [thread], recipient);
    if (seen === undefined) throw threadNotFound(thread.id);
    return seen;
  }

  async function findRepositoryId(
    caller: ForgeCaller,
    path: RepositoryPath | undefined,
  ): Promise<number | undefined> {
    if (path === undefined) return undefined;
    const found = await getOwned(
      db,
      path,
      caller.user,
      (today) => `/api/v1/repos/${today.owner}/${today.repo}/notifications`,
    );
    if (!reaches(await findAccess(db, found, caller.user), "read")) throw notFound();
    return found.repository.id;
  }
}

const threadNotFound = (id: number): AppError =>
  new AppError(
    "not_found",
    id === 0 ? "notification does not exist" : `notification does not exist [id: ${id}]`,
  );

const foreignThread = (id: number): AppError =>
  new AppError(
    "forbidden",
    `only user itself and admin are allowed to read/change this thread ${id}`,
  );

/** Dates in headers have no fractions of a second. */
const wholeSeconds = (milliseconds: number): number => Math.floor(milliseconds / 1000);
