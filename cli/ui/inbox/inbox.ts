// cli/ui/inbox: the notification inbox. inbox.ts handles keys, thread-store.ts holds the threads, inbox-actions.ts changes
// them, inbox-view.ts draws. cli/commands/notification/inbox.ts connects it to the daemon. Start here.
import type { WireThread } from "../../../daemon/contract/forge/notifications.ts";
import { toCliError } from "../../errors.ts";
import type { Style } from "../../io.ts";
import type { ThreadStatusName } from "../../support/thread-columns.ts";
import { createTaskQueue, createChangeListeners } from "../task-queue.ts";
import type { Key } from "../keys.ts";
import { atTop, type ListWindow, moveOf, moveTo } from "../scrolling.ts";
import { createDialogs } from "../dialogs.ts";
import type { ScreenModel, Size } from "../screen.tsx";
import { createInboxActions } from "./inbox-actions.ts";
import {
  drawInbox,
  help,
  type InboxState,
  layOutThread,
  listHeight,
  type OpenThread,
} from "./inbox-view.ts";
import {
  createThreadStore,
  type InboxView,
  statusOf,
  type ThreadSource,
  type ThreadText,
} from "./thread-store.ts";

export interface InboxDeps {
  readonly source: ThreadSource;
  readonly read: (thread: WireThread) => Promise<ThreadText>;
  /** Sends an answer to the subject of a thread. */
  readonly reply: (thread: WireThread, text: string) => Promise<void>;
  readonly style: Style;
  readonly clock: () => number;
  /** Of one repository, as OWNER/NAME. */
  readonly repository: string | undefined;
}

/** The inbox as a screen; it also receives events from the daemon. */
export interface Inbox extends ScreenModel {
  /** Reloads the list; resolves when that has ended, also with a failure. */
  reload(): Promise<void>;
  receive(thread: WireThread): void;
  receiveCount(unread: number): void;
  /** Whether live updates are connected. */
  setLive(isLive: boolean): void;
  /** Updates the displayed ages. */
  tick(): void;
}

const views: readonly InboxView[] = ["open", "all", "pinned"];
/** The next page is loaded when the cursor is this near to the end. */
const loadAheadRows = 10;
/** Maximum number of threads that are loaded for a filter. */
const lookThroughMax = 2_000;

export function createInbox(deps: InboxDeps): Inbox {
  const { clock, style } = deps;
  const changes = createChangeListeners();
  const tasks = createTaskQueue(changes.notify);
  const dialogs = createDialogs(changes.notify);
  const store = createThreadStore(deps.source);
  const actions = createInboxActions({ store, tasks, dialogs, repository: deps.repository });
  const { promise: left, resolve: leave, reject: fail } = Promise.withResolvers<void>();
  let view: InboxView = "open";
  let window: ListWindow = atTop;
  let chosenId: number | undefined;
  let selected: ReadonlySet<number> = new Set();
  let words = "";
  let open: OpenThread | undefined;
  let isLive = false;
  let height = 10;

  store.subscribe(keepPlace);

  return {
    left,
    subscribe: changes.subscribe,
    reload: () => store.load(view),
    receive(thread) {
      if (deps.repository === undefined || thread.repository?.full_name === deps.repository)
        store.receive(thread);
    },
    receiveCount: store.receiveCount,
    setLive(live) {
      isLive = live;
      changes.notify();
    },
    tick: changes.notify,
    draw(size: Size) {
      const state = stateOf();
      height = listHeight(state, size);
      window = moveTo(window, window.cursor, rows().length, height);
      if (open !== undefined) open = layOutThread(state, open, size, style);
      dialogs.limitHelp(help.lines(size, style).length - height);
      return drawInbox({ ...state, window, open, helpTop: dialogs.helpTop }, size, style, clock());
    },
    press,
  };

  function stateOf(): InboxState {
    return {
      rows: rows(),
      window,
      known: store.threads.length,
      selected,
      view,
      words,
      question: dialogs.question,
      open,
      helpTop: dialogs.helpTop,
      message: tasks.message,
      isLive,
      repository: deps.repository,
      unread: store.unread,
      hasMore: store.hasMore,
      isLoading: store.isLoading,
      wasLoaded: store.wasLoaded,
      failure: store.failure,
    };
  }

  /** The threads that have every word of the filter in title, repository or type. */
  function rows(): readonly WireThread[] {
    const filterWords = words
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== "");
    if (filterWords.length === 0) return store.threads;
    return store.threads.filter(({ subject, repository }) => {
      const text =
        `${subject?.title ?? ""} ${repository?.full_name ?? ""} ${subject?.type ?? ""}`.toLowerCase();
      return filterWords.every((word) => text.includes(word));
    });
  }

  /** The list has changed: the cursor stays on its thread. */
  function keepPlace(): void {
    const shown = open;
    const thread = store.threads.find(({ id }) => id === shown?.thread.id);
    if (shown !== undefined && thread !== undefined) {
      open = { ...shown, thread };
      // New texts arrived while it is being read.
      if (thread.updated_at !== shown.thread.updated_at && thread.unread) readAgain(thread);
    }
    const found = rows().findIndex(({ id }) => id === chosenId);
    window = moveTo(window, found < 0 ? window.cursor : found, rows().length, height);
    chosenId = rows()[window.cursor]?.id;
    lookFurther();
    changes.notify();
  }

  /** The filter searches loaded threads only: load more until the screen is full or enough threads have been searched. */
  function lookFurther(): void {
    if (words === "" || store.isLoading || store.failure !== undefined) return;
    if (rows().length < height && store.threads.length < lookThroughMax) void store.loadMore();
  }

  function press(key: Key): void {
    if (!dialogs.take(key, height)) {
      if (open !== undefined) pressInThread(key, open);
      else pressInList(key);
    }
    changes.notify();
  }

  function pressInThread(key: Key, { thread, top }: OpenThread): void {
    const name = key.kind === "key" ? key.name : key.text;
    const moved = moveOf(key, { cursor: top, top }, height);
    if (moved !== undefined && open !== undefined) open = { ...open, top: Math.max(0, moved) };
    else if (name === " " && open !== undefined) open = { ...open, top: top + height - 1 };
    else if (name === "left" || name === "escape" || name === "q" || name === "h") open = undefined;
    else if (name === "n" || name === "N") openNext(name === "n" ? 1 : -1);
    else if (name === "R" || name === "refresh") show(thread);
    else pressOnThreads(name, [thread]);
  }

  function pressInList(key: Key): void {
    tasks.clearMessage();
    const name = key.kind === "key" ? key.name : key.text;
    const moved = moveOf(key, window, height);
    const current = rows()[window.cursor];
    if (moved !== undefined) moveCursor(moved);
    else if (name === "q") leaveScreen();
    else if (name === "escape") stepBack();
    else if (name === "enter" || name === "right" || name === "l") {
      if (current !== undefined) show(current);
    } else if (name === " ") toggle(current);
    else if (name === "f") setView(views[(views.indexOf(view) + 1) % views.length] ?? "open");
    else if (name === "/") find();
    else if (name === "a") actions.markAllRead();
    else {
      const chosen = rows().filter(({ id }) => selected.has(id));
      pressOnThreads(name, chosen.length > 0 ? chosen : current === undefined ? [] : [current]);
    }
  }

  /** Keys that mean the same in the list and in an open thread. */
  function pressOnThreads(name: string, threads: readonly WireThread[]): void {
    if (name === "r") mark(threads, "read");
    else if (name === "u") mark(threads, "unread");
    else if (name === "p")
      mark(threads, threads.every((thread) => statusOf(thread) === "pinned") ? "read" : "pinned");
    else if (name === "c") answer(threads[0]);
    else if (name === "z") actions.undo();
    else if (name === "R" || name === "refresh") void store.load(view);
    else if (name === "?") dialogs.openHelp();
  }

  function find(): void {
    const onChange = (text: string) => {
      words = text.trim();
      keepPlace();
    };
    const onEscape = () => onChange("");
    dialogs.ask({
      ...{ label: "Find:", enter: "filters", text: words },
      ...{ onEnter: onChange, onChange, onEscape },
    });
  }

  function moveCursor(to: number): void {
    window = moveTo(window, to, rows().length, height);
    chosenId = rows()[window.cursor]?.id;
    if (window.cursor >= rows().length - loadAheadRows) void store.loadMore();
  }

  /** Escape clears the selection first, then the filter. */
  function stepBack(): void {
    if (selected.size > 0) selected = new Set();
    else if (words !== "") words = "";
    keepPlace();
  }

  function leaveScreen(): void {
    // When no list was ever shown, the failure is reported again on the terminal, which stays visible.
    if (store.wasLoaded || store.failure === undefined) leave();
    else fail(store.failure);
  }

  function toggle(thread: WireThread | undefined): void {
    if (thread === undefined) return;
    const next = new Set(selected);
    if (!next.delete(thread.id)) next.add(thread.id);
    selected = next;
    moveCursor(window.cursor + 1);
  }

  function setView(next: InboxView): void {
    view = next;
    window = atTop;
    chosenId = undefined;
    selected = new Set();
    void store.load(view);
  }

  function mark(threads: readonly WireThread[], status: ThreadStatusName): void {
    const ids = threads.map(({ id }) => id);
    if (ids.length === 0) return;
    selected = new Set();
    // After marking a single thread, move to the next one.
    if (ids.length === 1 && open === undefined && status === "read") moveCursor(window.cursor + 1);
    actions.mark(ids, status);
  }

  function answer(thread: WireThread | undefined): void {
    if (thread === undefined) return;
    if (thread.subject?.type !== "Issue") {
      tasks.say("Only issues take a reply.");
      return;
    }
    const onEnter = (text: string) =>
      tasks.attempt(async () => {
        await deps.reply(thread, text);
        if (open?.thread.id === thread.id) readAgain(thread);
        return "Sent.";
      });
    dialogs.ask({ label: "Reply:", enter: "sends", text: "", onEnter });
  }

  function show(thread: WireThread): void {
    const opened: OpenThread = { thread, text: undefined, problem: undefined, top: 0 };
    open = opened;
    tasks.clearMessage();
    readAgain(thread);
    if (statusOf(thread) === "unread") actions.noteOpened(thread.id);
  }

  /** Reads the texts of the open thread; the former ones stay until then. */
  function readAgain(thread: WireThread): void {
    const update = (change: Pick<OpenThread, "text" | "problem">) => {
      // Without the laid out lines, which are of the former text.
      if (open?.thread.id === thread.id) open = { thread: open.thread, top: open.top, ...change };
      changes.notify();
    };
    deps.read(thread).then(
      (text) => update({ text, problem: undefined }),
      (error: unknown) => update({ text: open?.text, problem: toCliError(error) }),
    );
  }

  function openNext(step: number): void {
    moveCursor(window.cursor + step);
    const next = rows()[window.cursor];
    if (next !== undefined && next.id !== open?.thread.id) show(next);
  }
}
