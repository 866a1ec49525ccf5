// cli/ui/dashboard: the state of a daemon in sections: accounts, storage, hooks, jobs, runs. dashboard.ts holds the state and
// handles keys, dashboard-view.ts draws. cli/commands/dashboard reads the sections from the daemon. Start here.
import { type CliError, toCliError } from "../../errors.ts";
import type { Style } from "../../io.ts";
import { createDialogs } from "../dialogs.ts";
import type { Key } from "../keys.ts";
import { atTop, type ListWindow, moveOf, moveTo } from "../scrolling.ts";
import type { LiveScreen } from "../open-screen.ts";
import type { Size } from "../screen.tsx";
import { createTaskQueue, createChangeListeners } from "../task-queue.ts";
import { type DashboardState, drawDashboard, helpOf, listHeight } from "./dashboard-view.ts";
import {
  type DashboardRow,
  type DashboardSection,
  type RowAction,
  type SectionContent,
  toneOfFailure,
} from "./section.ts";

export interface DashboardDeps {
  /** The overview comes first by itself. */
  readonly sections: readonly DashboardSection[];
  /** URL of the daemon. */
  readonly url: string;
  readonly style: Style;
}

/** The last load of a section. */
export interface Loaded {
  /** Undefined until a load has succeeded. */
  readonly content: SectionContent | undefined;
  /** Why the last load failed. */
  readonly failure: CliError | undefined;
}

/** Shows the overview first; a section is loaded when it is shown. */
export function createDashboard({ sections, url, style }: DashboardDeps): LiveScreen {
  const changes = createChangeListeners();
  const tasks = createTaskQueue(changes.notify);
  const dialogs = createDialogs(changes.notify);
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  const loaded = new Map<DashboardSection, Loaded>();
  const filters = new Map<DashboardSection, string>();
  const windows = new Map<DashboardSection | undefined, ListWindow>();
  const overview = createOverview(sections, loaded);
  const help = helpOf(sections);
  /** Undefined for the overview. */
  let shown: DashboardSection | undefined;
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
      windows.set(shown, window);
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
    const { content, failure } =
      shown === undefined ? { content: overview(), failure: undefined } : lastLoadOf(shown);
    return {
      url,
      titles: ["Overview", ...sections.map(({ title }) => title)],
      shown: shown === undefined ? 0 : sections.indexOf(shown) + 1,
      columns: shown?.columns ?? ["area", "state"],
      empty: shown?.empty ?? "",
      rows: content?.rows ?? [],
      wasLoaded: content !== undefined,
      failure,
      filter: filterOf(shown),
      window: windows.get(shown) ?? atTop,
      areDetailsOpen,
      question: dialogs.question,
      message: tasks.message,
    };
  }

  function lastLoadOf(section: DashboardSection): Loaded {
    return loaded.get(section) ?? { content: undefined, failure: undefined };
  }

  function filterOf(section: DashboardSection | undefined): string {
    return section === undefined ? "" : (filters.get(section) ?? "");
  }

  async function load(): Promise<void> {
    // The overview counts everything, so it needs each section.
    await Promise.all((shown === undefined ? sections : [shown]).map(loadSection));
    changes.notify();
  }

  async function loadSection(section: DashboardSection): Promise<void> {
    const filter = filterOf(section);
    try {
      const content = await section.load(filter);
      // The person may have searched for something else meanwhile.
      if (filterOf(section) !== filter) return;
      const chosen = chosenRow(section)?.id;
      loaded.set(section, { content, failure: undefined });
      keepChosen(section, chosen, content.rows);
    } catch (error) {
      loaded.set(section, { content: lastLoadOf(section).content, failure: toCliError(error) });
    }
    changes.notify();
  }

  /** Rows come and go between two loads: the cursor stays on the row, not on the line. */
  function keepChosen(
    section: DashboardSection,
    id: string | undefined,
    rows: readonly DashboardRow[],
  ): void {
    const window = windows.get(section);
    const at = rows.findIndex((row) => row.id === id);
    if (window !== undefined && at >= 0)
      windows.set(section, moveTo(window, at, rows.length, height));
  }

  function chosenRow(section: DashboardSection | undefined): DashboardRow | undefined {
    const content = section === undefined ? overview() : lastLoadOf(section).content;
    return content?.rows[(windows.get(section) ?? atTop).cursor];
  }

  function pressKey(key: Key): void {
    tasks.clearMessage();
    const name = key.kind === "key" ? key.name : key.text;
    const window = windows.get(shown) ?? atTop;
    const moved = moveOf(key, window, height);
    const row = chosenRow(shown);
    const action = row?.actions.find((each) => each.key === name);
    if (moved !== undefined)
      windows.set(shown, moveTo(window, moved, toState().rows.length, height));
    else if (/^[0-9]$/.test(name)) show(Number(name));
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
    shown = sections[number - 1];
    areDetailsOpen = false;
    void loadNow();
  }

  function showNext(step: 1 | -1): void {
    const count = sections.length + 1;
    const at = shown === undefined ? 0 : sections.indexOf(shown) + 1;
    show((at + step + count) % count);
  }

  function open(row: DashboardRow | undefined): void {
    if (shown !== undefined) areDetailsOpen = row !== undefined && !areDetailsOpen;
    else if (row !== undefined) show(sections.findIndex(({ title }) => title === row.id) + 1);
  }

  function goBack(name: string): void {
    if (areDetailsOpen) areDetailsOpen = false;
    else if (shown !== undefined && filterOf(shown) !== "") search(shown, "");
    else if (shown !== undefined) show(0);
    else if (name === "q") leave();
  }

  function askForFilter(): void {
    const section = shown;
    if (section === undefined) return;
    areDetailsOpen = false;
    dialogs.ask({
      label: "Search:",
      text: filterOf(section),
      onEnter: (text) => search(section, text.trim()),
    });
  }

  function search(section: DashboardSection, filter: string): void {
    filters.set(section, filter);
    windows.set(section, atTop);
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

/** Returns a function that reads the overview from the last loads: a row for each section. */
function createOverview(
  sections: readonly DashboardSection[],
  loaded: ReadonlyMap<DashboardSection, Loaded>,
): () => SectionContent | undefined {
  return () => {
    if (loaded.size === 0) return undefined;
    const rows = sections.map((section): DashboardRow => {
      const { content, failure } = loaded.get(section) ?? {};
      const state = failure?.message ?? content?.summary ?? "loading";
      const hint = failure?.details.hint;
      return {
        id: section.title,
        tone: failure === undefined ? (content?.tone ?? "idle") : toneOfFailure(failure),
        cells: [section.title, state],
        details: [["state", state], ...(hint === undefined ? [] : [["hint", hint] as const])],
        actions: [],
      };
    });
    return { rows, summary: "", tone: "idle" };
  };
}
