// cli/ui/dashboard: the state of a daemon in sections: accounts, storage, hooks, jobs, runs. dashboard.ts holds the state and
// handles keys, dashboard-view.ts draws. cli/commands/dashboard reads the sections from the daemon. Start here.
import type { Style } from "../../io.ts";
import { createDialogs } from "../dialogs.ts";
import type { Key } from "../keys.ts";
import { createLoad } from "../load.ts";
import { atTop, type ListWindow, moveOf, moveTo } from "../scrolling.ts";
import type { LiveScreen } from "../open-screen.ts";
import type { Size } from "../screen.tsx";
import { createTaskQueue, createChangeListeners } from "../task-queue.ts";
import { type DashboardState, drawDashboard, helpOf, listHeight } from "./dashboard-view.ts";
import { createOverview } from "./overview.ts";
import {
  type DashboardRow,
  type DashboardSection,
  ROWS_MAX,
  ROWS_PER_PAGE,
  type RowAction,
  type SectionState,
} from "./section.ts";

export interface DashboardDeps {
  /** The overview comes first by itself. */
  readonly sections: readonly DashboardSection[];
  /** URL of the daemon. */
  readonly url: string;
  readonly style: Style;
}

/** The next page of a section is loaded when the cursor is this near to the end. */
const LOAD_AHEAD_ROWS = 10;

/** Shows the overview first; a section is loaded when it is shown. */
export function createDashboard({ sections, url, style }: DashboardDeps): LiveScreen {
  const changes = createChangeListeners();
  const tasks = createTaskQueue(changes.notify);
  const dialogs = createDialogs(changes.notify);
  const { promise: left, resolve: leave, reject: fail } = Promise.withResolvers<void>();
  const states = sections.map((section): SectionState => ({
    section,
    load: createLoad(changes.notify),
    ...{ content: undefined, filter: "", count: ROWS_PER_PAGE, window: atTop },
  }));
  const overview = createOverview(states);
  const help = helpOf(sections);
  /** Undefined for the overview. */
  let shown: SectionState | undefined;
  let overviewWindow = atTop;
  let areDetailsOpen = false;
  let height = 10;
  let loading: Promise<void> | undefined;

  return {
    left,
    subscribe: changes.subscribe,
    reload: () => (loading ??= load().finally(() => (loading = undefined))),
    draw(size: Size) {
      const state = toState();
      height = listHeight(state, size);
      const window = moveTo(state.window, state.window.cursor, state.rows.length, height);
      setWindow(window);
      dialogs.limitHelp(help.lines(size, style).length - height);
      if (dialogs.helpTop !== undefined) return help.draw(dialogs.helpTop, size, style);
      return drawDashboard({ ...state, window }, size, style);
    },
    press(key) {
      if (!dialogs.take(key, height)) pressKey(key);
      changes.notify();
    },
  };

  function toState(): DashboardState {
    const common = {
      url,
      titles: ["Overview", ...sections.map(({ title }) => title)],
      window: windowOf(),
      areDetailsOpen,
      question: dialogs.question,
      message: tasks.message,
    };
    if (shown === undefined)
      return {
        ...common,
        ...overview(),
        shown: 0,
        columns: ["area", "state"],
        filter: "",
        total: 0,
        empty: "",
      };
    const { section, load, content, filter } = shown;
    const { columns, empty } = section;
    const { rows = [], total = 0, summary = "" } = content ?? {};
    const at = states.indexOf(shown) + 1;
    return {
      ...common,
      load,
      shown: at,
      columns,
      empty,
      rows,
      total,
      summary,
      filter,
      warning: undefined,
    };
  }

  function windowOf(): ListWindow {
    return shown?.window ?? overviewWindow;
  }

  function setWindow(window: ListWindow): void {
    if (shown === undefined) overviewWindow = window;
    else shown.window = window;
  }

  async function load(): Promise<void> {
    // The overview counts everything, so it needs each section.
    await Promise.all((shown === undefined ? states : [shown]).map(loadSection));
  }

  async function loadSection(state: SectionState): Promise<void> {
    const { filter, count } = state;
    await state.load.run(async (isCurrent) => {
      const content = await state.section.load({ filter, count });
      // The person may have searched for something else meanwhile.
      if (!isCurrent() || state.filter !== filter) return;
      const chosen = state.content?.rows[state.window.cursor]?.id;
      state.content = content;
      keepChosen(state, chosen, content.rows);
    });
  }

  /** Rows come and go between two loads: the cursor stays on the row, not on the line. */
  function keepChosen(
    state: SectionState,
    id: string | undefined,
    rows: readonly DashboardRow[],
  ): void {
    const at = rows.findIndex((row) => row.id === id);
    if (at >= 0) state.window = moveTo(state.window, at, rows.length, height);
  }

  /** Loads the next page when the cursor comes near the end of the rows. */
  function loadAhead(state: SectionState): void {
    const { rows = [], total = 0 } = state.content ?? {};
    const isNear = state.window.cursor >= rows.length - LOAD_AHEAD_ROWS;
    if (!isNear || rows.length >= total || state.count > rows.length || state.count >= ROWS_MAX)
      return;
    state.count += ROWS_PER_PAGE;
    void loadNow();
  }

  function pressKey(key: Key): void {
    tasks.clearMessage();
    const name = key.kind === "key" ? key.name : key.text;
    const { rows } = toState();
    const moved = moveOf(key, windowOf(), height);
    const row = rows[windowOf().cursor];
    const action = row?.actions.find((each) => each.key === name);
    if (moved !== undefined) {
      setWindow(moveTo(windowOf(), moved, rows.length, height));
      if (shown !== undefined) loadAhead(shown);
    } else if (/^[0-9]$/.test(name)) show(Number(name));
    else if (name === "tab" || name === "right" || name === "l") showNext(1);
    else if (name === "left" || name === "h") showNext(-1);
    else if (name === "enter" || name === " ") open(row);
    else if (name === "q" || name === "escape") goBack(name);
    else if (name === "/") askForFilter();
    else if (name === "R" || name === "refresh") void loadNow();
    else if (name === "?") dialogs.openHelp();
    else if (action !== undefined) attempt(action);
  }

  /** Shows the section of a number; 0 is the overview. */
  function show(number: number): void {
    if (number > sections.length) return;
    shown = states[number - 1];
    areDetailsOpen = false;
    void loadNow();
  }

  function showNext(step: 1 | -1): void {
    const count = sections.length + 1;
    const at = shown === undefined ? 0 : states.indexOf(shown) + 1;
    show((at + step + count) % count);
  }

  function open(row: DashboardRow | undefined): void {
    if (shown !== undefined) areDetailsOpen = row !== undefined && !areDetailsOpen;
    else if (row !== undefined) show(sections.findIndex(({ title }) => title === row.id) + 1);
  }

  function goBack(name: string): void {
    if (areDetailsOpen) areDetailsOpen = false;
    else if (shown !== undefined && shown.filter !== "") search(shown, "");
    else if (shown !== undefined) show(0);
    else if (name === "q") leaveScreen();
  }

  function leaveScreen(): void {
    const { wasLoaded, failure } = overview().load;
    // When nothing was ever shown, the failure is reported again on the terminal, which stays visible.
    if (wasLoaded || failure === undefined) leave();
    else fail(failure);
  }

  function askForFilter(): void {
    const state = shown;
    if (state === undefined) return;
    areDetailsOpen = false;
    dialogs.ask({
      label: "Search:",
      enter: "searches",
      text: state.filter,
      onEnter: (text) => search(state, text.trim()),
    });
  }

  function search(state: SectionState, filter: string): void {
    state.filter = filter;
    state.window = atTop;
    void loadNow();
  }

  function attempt({ question, run }: RowAction): void {
    const act = () =>
      tasks.attempt(async () => {
        const text = await run();
        await loadNow();
        return text;
      });
    if (question === undefined) act();
    else dialogs.confirm(question, act);
  }

  /** Loads at once, even if an earlier request is still running. */
  async function loadNow(): Promise<void> {
    await loading;
    await load();
  }
}
