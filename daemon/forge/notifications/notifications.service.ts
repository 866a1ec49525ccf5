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
import { type RepositoryId, toThreadId } from "../../../storage/tables/forge/ids.ts";
import { AppError } from "../../errors.ts";
import type { ForgeCaller } from "../caller.ts";
import { toRows, type PageWindow } from "../page-window.ts";
import { assertQueryTime, toQueryRange } from "./query-time.ts";
import { type ThreadDetails, loadThreadDetails } from "./subjects.ts";

/** The filters of a list of threads. */
export interface ThreadListOptions extends PageWindow {
  /** Undefined: of every repository. */
  readonly repositoryId?: RepositoryId;
  /** Includes every status and overrides `statuses`. */
  readonly all: boolean;
  /** Undefined without the parameter; empty when it has only unknown values. */
  readonly statuses: readonly ThreadStatus[] | undefined;
  readonly kinds: readonly ThreadKind[] | undefined;
  readonly since: string;
  readonly before: string;
}

/** The filters and the new status of a bulk change. */
export interface MarkAllOptions {
  /** Undefined: of every repository. */
  readonly repositoryId?: RepositoryId;
  readonly all: boolean;
  readonly statuses: readonly ThreadStatus[] | undefined;
  /** Excludes threads that changed after this time; empty excludes nothing. */
  readonly lastReadAt: string;
  readonly status: ThreadStatus;
}

/** A page of threads, and the total count. */
export interface ThreadPage {
  readonly threads: readonly ThreadDetails[];
  readonly total: number;
}

/**
 * Threads with the time of their latest change in epoch milliseconds; `found` is undefined when the client has the
 * latest.
 */
export interface ChangedThreads {
  readonly changedAt: number;
  readonly found: ThreadPage | undefined;
}

export type Notifications = ReturnType<typeof createNotifications>;

/** Maximum number of threads in the response to a bulk change: a hundred thousand would take hundreds of megabytes. */
const MARKED_SHOWN_MAX = 1_000;

/** The notification threads of a user. */
export function createNotifications({ db }: { readonly db: Database }) {
  return {
    /** Lists the caller's threads. Refuses invalid times with `unprocessable`. */
    list,

    /**
     * Like `list`, but returns an empty list when no thread has changed since `known`, which takes one row to check.
     * Threads of one repository are always listed, because the caller can lose access to it without a change of any
     * thread.
     */
    async listSince(
      caller: ForgeCaller,
      options: ThreadListOptions,
      known: Date | undefined,
    ): Promise<ChangedThreads> {
      const { changedAt } = await findMailbox(db, caller.user.id);
      const isKnown =
        known !== undefined && wholeSeconds(known.getTime()) >= wholeSeconds(changedAt);
      if (isKnown && options.repositoryId === undefined) return { changedAt, found: undefined };
      return { changedAt, found: await list(caller, options) };
    },

    /**
     * Sets the status of the caller's threads in one statement. Returns the first `MARKED_SHOWN_MAX` changed threads and
     * the count of all. Refuses an invalid time with `invalid_argument`.
     */
    async markAll(caller: ForgeCaller, options: MarkAllOptions): Promise<ThreadPage> {
      const lastRead = assertQueryTime(options.lastReadAt, "invalid_argument");
      const filter: ThreadFilter = {
        userId: caller.user.id,
        repositoryId: options.repositoryId,
        statuses: options.all ? [] : (options.statuses ?? ["unread"]),
        kinds: [],
        before: lastRead?.to,
      };
      const { status } = options;
      const { threads, total } = await db.transaction(async (tx) => {
        const found = await listThreads(tx, filter, { limit: MARKED_SHOWN_MAX, offset: 0 });
        const marked: ForgeThread[] = found.map((thread) => ({
          ...thread,
          status,
          updatedAt: tx.now,
        }));
        return { threads: marked, total: await markThreads(tx, filter, status) };
      });
      return { threads: await loadThreadDetails(db, threads, caller.user), total };
    },

    countUnread: async (caller: ForgeCaller): Promise<number> =>
      (await findMailbox(db, caller.user.id)).unread,

    /** Returns a thread of the caller, or of any user for a site administrator, as its recipient sees it. */
    async get(caller: ForgeCaller, id: number): Promise<ThreadDetails> {
      const thread = await getThread(id);
      const isOwn = thread.userId === caller.user.id;
      if (!isOwn && !caller.user.isAdmin) throw foreignThread(id);
      const recipient = isOwn ? caller.user : await findUserById(db, thread.userId);
      if (recipient === undefined) throw threadNotFound(id);
      return loadDetails(thread, recipient);
    },

    /** Sets the status of the caller's thread. Refuses a thread of another user with `forbidden`. */
    async mark(caller: ForgeCaller, id: number, status: ThreadStatus): Promise<ThreadDetails> {
      const thread = await getThread(id);
      if (thread.userId !== caller.user.id) throw foreignThread(id);
      const userId = caller.user.id;
      const marked = await db.transaction((tx) =>
        markThread(tx, { id: thread.id, userId }, status),
      );
      if (marked === undefined) throw threadNotFound(id);
      return loadDetails(marked, caller.user);
    },
  };

  async function list(caller: ForgeCaller, options: ThreadListOptions): Promise<ThreadPage> {
    const range = toQueryRange(options);
    const filter: ThreadFilter = {
      userId: caller.user.id,
      repositoryId: options.repositoryId,
      statuses: options.all ? [] : (options.statuses ?? ["unread", "pinned"]),
      kinds: options.kinds ?? [],
      ...range,
    };
    const rows = toRows(options);
    const total = await countThreads(db, filter);
    const threads = rows.offset < total ? await listThreads(db, filter, rows) : [];
    return { threads: await loadThreadDetails(db, threads, caller.user), total };
  }

  async function getThread(id: number): Promise<ForgeThread> {
    const thread = await findThread(db, toThreadId(id));
    if (thread === undefined) throw threadNotFound(id);
    return thread;
  }

  async function loadDetails(
    thread: ForgeThread,
    recipient: ForgeCaller["user"],
  ): Promise<ThreadDetails> {
    const [details] = await loadThreadDetails(db, [thread], recipient);
    if (details === undefined) throw threadNotFound(thread.id);
    return details;
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
