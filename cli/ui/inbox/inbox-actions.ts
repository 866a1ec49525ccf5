import type { ThreadStatusName } from "../../support/thread-columns.ts";
import type { TaskQueue } from "../task-queue.ts";
import type { Dialogs } from "../dialogs.ts";
import type { ThreadStore } from "./thread-store.ts";

interface ActionsDeps {
  readonly store: ThreadStore;
  readonly tasks: TaskQueue;
  readonly dialogs: Dialogs;
  /** Restricts the inbox to one repository. */
  readonly repository: string | undefined;
}

/** Actions that change threads at the daemon. Each reports its own outcome. */
export function createInboxActions({
  store,
  tasks: { attempt, say },
  dialogs,
  repository,
}: ActionsDeps) {
  return {
    mark(ids: readonly number[], status: ThreadStatusName) {
      attempt(async () => {
        const count = await store.mark(ids, status);
        if (count === 0)
          return ids.length === 1 ? `It is ${status} already.` : `They are ${status} already.`;
        return `Marked ${toThreads(count)} as ${status}. z takes it back.`;
      });
    },

    /** Marks an opened thread as read without a message. */
    noteOpened(id: number) {
      attempt(async () => void (await store.mark([id], "read")));
    },

    /** Asks for confirmation. */
    markAllRead() {
      if (!store.wasLoaded) return;
      if (repository === undefined && store.unread === 0) {
        say("There is nothing unread.");
        return;
      }
      const where = repository === undefined ? "" : ` of ${repository}`;
      const count = repository === undefined ? `${store.unread ?? "all"} unread` : "all unread";
      dialogs.confirm(`Mark ${count} threads${where} as read?`, () =>
        attempt(async () => {
          const total = await store.markAllRead();
          return total === 0
            ? "There was nothing unread."
            : `Marked ${toThreads(total)} as read. z takes it back.`;
        }),
      );
    },

    /** Undoes the last mark. */
    undo() {
      attempt(async () => {
        const count = await store.undo();
        return count === undefined
          ? "There is nothing to take back."
          : `Took it back for ${toThreads(count)}.`;
      });
    },
  };
}

function toThreads(count: number): string {
  return `${count} ${count === 1 ? "thread" : "threads"}`;
}
