import type { WireThread } from "../../../daemon/contract/forge/notifications.ts";
import type { ThreadStatusName } from "../../support/thread-columns.ts";
import { createLoad, type LoadState } from "../load.ts";
import { createChangeListeners } from "../task-queue.ts";

/** Which threads are listed. */
export type InboxView = "open" | "all" | "pinned";

/** The content of a notification's subject. */
export interface ThreadText {
  /** Rendered by the daemon; undefined when the subject has no text of its own. */
  readonly html: string | undefined;
}

/** One page of threads, the last changed first. */
export interface ThreadPage {
  readonly threads: readonly WireThread[];
  readonly hasMore: boolean;
}

/** The store's access to the daemon. */
export interface ThreadSource {
  /** `before` is a time of a thread; pages count from 1. */
  list(view: InboxView, before: string | undefined, page: number): Promise<ThreadPage>;
  count(): Promise<number>;
  mark(id: number, status: ThreadStatusName): Promise<void>;
  /**
   * Marks all unread threads that did not change after `upTo` as read; returns those that it marked, if the server
   * reports them.
   */
  markAllRead(upTo: string): Promise<{ readonly total: number; readonly ids: readonly number[] }>;
}

/** The threads of the inbox. */
export interface ThreadStore extends LoadState {
  /** Threads of the view, and those that an action of the user removed from it, until the list is reloaded. */
  readonly threads: readonly WireThread[];
  readonly unread: number | undefined;
  readonly hasMore: boolean;
  readonly isLoading: boolean;
  /** Reloads the view. */
  load(view: InboxView): Promise<void>;
  /** Loads the next page, unless it is being loaded. */
  loadMore(): Promise<void>;
  /** Marks threads; the list shows it at once and reverts failures. Resolves with the number of marked threads. */
  mark(ids: readonly number[], status: ThreadStatusName): Promise<number>;
  /** Marks all unread threads as read, except those newer than the shown ones. */
  markAllRead(): Promise<number>;
  /** Undoes the last mark. Undefined without one. */
  undo(): Promise<number | undefined>;
  /** Adds or updates a thread. */
  receive(thread: WireThread): void;
  /** The number of unread threads, as the daemon counts. */
  receiveCount(unread: number): void;
  subscribe(listener: () => void): () => void;
}

/** Marks that can be undone, oldest first. */
const undoMax = 20;

type Before = ReadonlyMap<number, ThreadStatusName>;

export function createThreadStore(source: ThreadSource): ThreadStore {
  const changes = createChangeListeners();
  let view: InboxView = "open";
  let threads: readonly WireThread[] = [];
  let unread: number | undefined;
  let hasMore = false;
  let page = 1;
  const loading = createLoad(changes.notify);
  let done: readonly Before[] = [];

  const store: ThreadStore = {
    get threads() {
      return threads;
    },
    get unread() {
      return unread;
    },
    get hasMore() {
      return hasMore;
    },
    get isLoading() {
      return loading.isLoading;
    },
    get failure() {
      return loading.failure;
    },
    get wasLoaded() {
      return loading.wasLoaded;
    },
    subscribe: changes.subscribe,

    load: (next) => {
      view = next;
      return loading.run(async (isCurrent) => {
        const [first, count] = await Promise.all([source.list(view, undefined, 1), source.count()]);
        if (!isCurrent()) return;
        threads = first.threads;
        hasMore = first.hasMore;
        unread = count;
        page = 1;
      });
    },

    async loadMore() {
      if (loading.isLoading || !hasMore) return;
      await loading.run(async (isCurrent) => {
        // Pages by number would leave threads out: each one that is marked as read leaves the list.
        const last = threads.at(-1)?.updated_at;
        const next = await source.list(view, last, page);
        if (!isCurrent()) return;
        const known = new Set(threads.map(({ id }) => id));
        const fresh = next.threads.filter(({ id }) => !known.has(id));
        threads = [...threads, ...fresh];
        hasMore = next.hasMore;
        // More threads of one and the same second than a page holds.
        page = fresh.length === 0 ? page + 1 : 1;
      });
    },

    async mark(ids, status) {
      const before = statusesOf(ids, status);
      return remember(before, await apply(new Map([...before.keys()].map((id) => [id, status]))));
    },

    async markAllRead() {
      const newest = threads.reduce(
        (latest, { updated_at: at }) => (Date.parse(at) > Date.parse(latest) ? at : latest),
        threads[0]?.updated_at ?? "",
      );
      if (newest === "") return 0;
      const { total, ids } = await source.markAllRead(newest);
      done = [...done, new Map(ids.map((id) => [id, "unread" as const]))].slice(-undoMax);
      const marked = new Set(ids);
      show((thread) => (marked.has(thread.id) ? withStatus(thread, "read") : thread));
      unread = await source.count();
      changes.notify();
      return total;
    },

    async undo() {
      const last = done.at(-1);
      if (last === undefined) return undefined;
      done = done.slice(0, -1);
      return apply(last);
    },

    receive(thread) {
      if (view === "pinned" && !thread.pinned) return;
      threads = [thread, ...threads.filter(({ id }) => id !== thread.id)];
      changes.notify();
    },

    receiveCount(count) {
      if (unread === count) return;
      unread = count;
      changes.notify();
    },
  };
  return store;

  /** Returns the present status of threads whose status is not `target`. */
  function statusesOf(ids: readonly number[], target: ThreadStatusName): Before {
    const chosen = new Set(ids);
    return new Map(
      threads
        .filter((thread) => chosen.has(thread.id) && statusOf(thread) !== target)
        .map((thread) => [thread.id, statusOf(thread)]),
    );
  }

  function remember(before: Before, count: number): number {
    if (count > 0) done = [...done, before].slice(-undoMax);
    return count;
  }

  /** Shows the statuses at once, sends them one by one, and shows the old ones again where that fails. */
  async function apply(statuses: Before): Promise<number> {
    const old = new Map(
      threads.filter(({ id }) => statuses.has(id)).map((thread) => [thread.id, statusOf(thread)]),
    );
    show((thread) => withStatus(thread, statuses.get(thread.id) ?? statusOf(thread)));
    let count = 0;
    try {
      for (const [id, status] of statuses) {
        await source.mark(id, status);
        old.delete(id);
        count += 1;
      }
    } catch (error) {
      show((thread) => withStatus(thread, old.get(thread.id) ?? statusOf(thread)));
      throw error;
    } finally {
      unread = await source.count().catch(() => unread);
      changes.notify();
    }
    return count;
  }

  function show(change: (thread: WireThread) => WireThread): void {
    threads = threads.map(change);
    changes.notify();
  }
}

/** Returns the status of a thread; pinned takes precedence over unread. */
export function statusOf({ unread, pinned }: WireThread): ThreadStatusName {
  if (pinned) return "pinned";
  return unread ? "unread" : "read";
}

function withStatus(thread: WireThread, status: ThreadStatusName): WireThread {
  return statusOf(thread) === status
    ? thread
    : { ...thread, unread: status === "unread", pinned: status === "pinned" };
}
