// cli/ui/run: runs of a repository, the jobs of one as a tree, and the log of a job. run-watch.ts holds the state and handles
// keys, log-sections.ts folds logs, run-view.ts draws. cli/commands/run-watch.ts connects it to the daemon. Start here.
import type { WireJob, WireRun } from "../../../daemon/contract/forge/actions/shapes.ts";
import type { Style } from "../../io.ts";
import { createDialogs } from "../dialogs.ts";
import type { Key } from "../keys.ts";
import { createLoad, type Load, type LoadState } from "../load.ts";
import { atTop, type ListWindow, moveOf, moveTo } from "../scrolling.ts";
import type { LiveScreen } from "../open-screen.ts";
import type { Size } from "../screen.tsx";
import { createTaskQueue, createChangeListeners } from "../task-queue.ts";
import { createSectionedLog, type SectionedLog } from "./log-sections.ts";
import { hasEnded, RUNS_PER_PAGE, type RunSource } from "../../support/runs.ts";
import { drawRuns, help, listHeight, type RunRow, type RunState } from "./run-view.ts";

export interface RunWatchDeps {
  readonly source: RunSource;
  readonly repository: string;
  /** The run to begin with; the list of runs when absent. */
  readonly runId: number | undefined;
  readonly style: Style;
  readonly clock: () => number;
}

interface OpenLog {
  readonly jobId: number;
  readonly log: SectionedLog;
  readonly load: Load;
  isWhole: boolean;
}

/** The next page of runs is loaded when the cursor is this near to the end. */
const LOAD_AHEAD_ROWS = 10;
/** Runs that are kept. */
const RUNS_MAX = 1_000;

export function createRunWatch({
  source,
  repository,
  runId,
  style,
  clock,
}: RunWatchDeps): LiveScreen {
  const changes = createChangeListeners();
  const tasks = createTaskQueue(changes.notify);
  const dialogs = createDialogs(changes.notify);
  const { promise: left, resolve: leave, reject: fail } = Promise.withResolvers<void>();
  const unfolded = new Set<number>();
  const runsLoad = createLoad(changes.notify);
  /** Of the chosen run. */
  let runLoad = createLoad(changes.notify);
  let runs: readonly WireRun[] = [];
  let runCount = 0;
  let chosenRun: number | undefined = runId;
  let run: WireRun | undefined;
  let jobs: readonly WireJob[] = [];
  let open: OpenLog | undefined;
  let windows: readonly ListWindow[] = [atTop];
  let isFollowing = true;
  let height = 10;
  let loading: Promise<void> | undefined;

  return {
    left,
    subscribe: changes.subscribe,
    reload,
    draw(size: Size) {
      const state = stateOf();
      height = listHeight(state, size);
      const cursor =
        open !== undefined && isFollowing ? Number.MAX_SAFE_INTEGER : windowOf().cursor;
      setWindow(moveTo(windowOf(), cursor, state.rows.length, height));
      dialogs.limitHelp(help.lines(size, style).length - height);
      if (dialogs.helpTop !== undefined) return help.draw(dialogs.helpTop, size, style);
      return drawRuns({ ...state, window: windowOf() }, size, style, clock());
    },
    press(key) {
      if (!dialogs.take(key, height)) pressKey(key);
      changes.notify();
    },
  };

  function stateOf(): RunState {
    return {
      repository,
      runId: chosenRun,
      run: chosenRun === undefined ? undefined : run,
      job: jobs.find(({ id }) => id === open?.jobId),
      rows: rows(),
      window: windowOf(),
      isFollowing,
      runCount,
      isFirst: open === undefined && chosenRun === runId,
      load: shownLoad(),
      question: dialogs.question,
      message: tasks.message,
    };
  }

  function windowOf(): ListWindow {
    return windows.at(-1) ?? atTop;
  }

  function setWindow(window: ListWindow): void {
    windows = [...windows.slice(0, -1), window];
  }

  function rows(): readonly RunRow[] {
    if (open !== undefined) return open.log.lines().map((line) => ({ kind: "line", line }));
    if (chosenRun === undefined) return runs.map((each) => ({ kind: "run", run: each }));
    return jobs.flatMap((job): RunRow[] => {
      const isOpen = unfolded.has(job.id);
      const steps = isOpen ? job.steps.map((step) => ({ kind: "step" as const, job, step })) : [];
      return [{ kind: "job", job, isOpen }, ...steps];
    });
  }

  /** Loads, or waits for the running load: two concurrent loads would both append the same rows of a log. */
  function reload(): Promise<void> {
    return (loading ??= load().finally(() => (loading = undefined)));
  }

  /** The load of the view that is shown. Without its run, a log cannot be renewed either. */
  function shownLoad(): LoadState {
    if (open !== undefined) {
      const { wasLoaded, failure } = open.load;
      return { wasLoaded, failure: runLoad.failure ?? failure };
    }
    return chosenRun === undefined ? runsLoad : runLoad;
  }

  async function load(): Promise<void> {
    if (chosenRun === undefined) return runsLoad.run(loadNewestRuns);
    const own = runLoad;
    const requestedRun = chosenRun;
    await own.run(async () => {
      const [nextRun, nextJobs] = await Promise.all([
        source.getRun(requestedRun),
        source.listJobs(requestedRun),
      ]);
      // The person may have left it meanwhile.
      if (runLoad !== own) return;
      keepChosen(() => {
        unfoldRunning(nextJobs);
        run = nextRun;
        jobs = nextJobs;
      });
    });
    const shown = open;
    if (shown !== undefined && runLoad === own && own.failure === undefined)
      await shown.load.run(() => loadLog(shown));
  }

  /** Loads the first page. Older runs stay as they are, unless a whole page of runs is new. */
  async function loadNewestRuns(): Promise<void> {
    const { runs: newest, total } = await source.listRuns(1);
    keepChosen(() => {
      const last = runs.findIndex(({ id }) => id === newest.at(-1)?.id);
      runs = last === -1 ? newest : [...newest, ...runs.slice(last + 1)];
      runCount = total;
    });
  }

  /** Runs and steps come between two loads: the cursor stays on the row, not on the line. */
  function keepChosen(change: () => void): void {
    const chosen = toKey(rows()[windowOf().cursor]);
    change();
    const at = rows().findIndex((row) => toKey(row) === chosen);
    if (open === undefined && at >= 0) setWindow({ ...windowOf(), cursor: at });
  }

  async function loadMoreRuns(): Promise<void> {
    await loading;
    const hasMore = runs.length < Math.min(runCount, RUNS_MAX);
    if (chosenRun !== undefined || !hasMore) return;
    loading ??= runsLoad
      .run(async () => {
        const page = Math.floor(runs.length / RUNS_PER_PAGE) + 1;
        const { runs: older, total } = await source.listRuns(page);
        const known = new Set(runs.map(({ id }) => id));
        runs = [...runs, ...older.filter(({ id }) => !known.has(id))];
        runCount = total;
      })
      .finally(() => (loading = undefined));
    await loading;
  }

  /** A job that begins is shown with its steps; one that the person has folded stays so. */
  function unfoldRunning(next: readonly WireJob[]): void {
    for (const job of next) {
      const before = jobs.find(({ id }) => id === job.id);
      const begins = job.status === "in_progress" && before?.status !== "in_progress";
      if (begins || (job.conclusion === "failure" && before?.conclusion !== "failure"))
        unfolded.add(job.id);
    }
  }

  async function loadLog(shown: OpenLog): Promise<void> {
    const job = jobs.find(({ id }) => id === shown.jobId);
    if (job === undefined || shown.isWhole || job.runner_name === undefined) return;
    const isEnd = hasEnded(job);
    shown.log.setSteps(job.steps);
    for await (const text of source.readLog(shown.jobId, shown.log.length)) {
      if (open !== shown) return;
      shown.log.append(text);
    }
    shown.isWhole = isEnd;
  }

  function pressKey(key: Key): void {
    tasks.clearMessage();
    const name = key.kind === "key" ? key.name : key.text;
    const list = rows();
    const moved = moveOf(key, windowOf(), height);
    const row = list[windowOf().cursor];
    if (moved !== undefined) {
      isFollowing = moved >= list.length - 1;
      setWindow(moveTo(windowOf(), moved, list.length, height));
      if (windowOf().cursor >= list.length - LOAD_AHEAD_ROWS) void loadMoreRuns();
    } else if (name === "q" || name === "escape" || name === "left" || name === "h") goBack(name);
    else if (name === "enter" || name === "right" || name === " ") enter(row);
    else if (name === "l") openLog(row);
    else if (name === "f") isFollowing = true;
    else if (name === "z") open?.log.toggleAll();
    else if (name === "c") askToCancel(row);
    else if (name === "r") askToRerun(row);
    else if (name === "R" || name === "refresh") void loadNow();
    else if (name === "?") dialogs.openHelp();
  }

  function goBack(name: string): void {
    if (open !== undefined) open = undefined;
    else if (chosenRun !== undefined && runId === undefined) {
      chosenRun = undefined;
      run = undefined;
      jobs = [];
    } else if (name !== "q") return;
    else {
      // When nothing was ever shown, the failure is reported again on the terminal, which stays visible.
      const { wasLoaded, failure } = shownLoad();
      return wasLoaded || failure === undefined ? leave() : fail(failure);
    }
    windows = windows.length > 1 ? windows.slice(0, -1) : [atTop];
    void loadNow();
  }

  function enter(row: RunRow | undefined): void {
    if (row?.kind === "run") {
      chosenRun = row.run.id;
      runLoad = createLoad(changes.notify);
      run = row.run;
      jobs = [];
      windows = [...windows, atTop];
      void loadNow();
    } else if (row?.kind === "job") {
      if (!unfolded.delete(row.job.id)) unfolded.add(row.job.id);
    } else if (row?.kind === "step") openLog(row);
    else if (row?.kind === "line" && row.line.kind === "head") {
      isFollowing = false;
      open?.log.toggle(row.line.section.id);
    }
  }

  function openLog(row: RunRow | undefined): void {
    if (row?.kind !== "job" && row?.kind !== "step") return;
    if (row.job.runner_name === undefined) {
      tasks.say("No runner has this job yet, so it has no log.");
      return;
    }
    open = {
      jobId: row.job.id,
      log: createSectionedLog(row.job.steps),
      load: createLoad(changes.notify),
      isWhole: false,
    };
    isFollowing = !hasEnded(row.job);
    windows = [...windows, atTop];
    void loadNow();
  }

  /** Loads the newly shown view, after a running load of the previous one has ended. */
  async function loadNow(): Promise<void> {
    await loading;
    await reload();
  }

  function targetOf(row: RunRow | undefined): WireRun | undefined {
    if (chosenRun !== undefined) return run;
    return row?.kind === "run" ? row.run : undefined;
  }

  function askToRerun(row: RunRow | undefined): void {
    const target = targetOf(row);
    if (target === undefined) return;
    if (!hasEnded(target)) {
      tasks.say("The run has not ended yet.");
      return;
    }
    const onlyFailed = target.conclusion === "failure";
    const which = onlyFailed ? "the failed jobs" : "all jobs";
    dialogs.confirm(`Run ${which} of run #${target.run_number} again?`, () =>
      tasks.attempt(async () => {
        await source.rerun(target.id, onlyFailed);
        // The jobs are others now.
        if (open !== undefined) windows = windows.slice(0, -1);
        open = undefined;
        await loadNow();
        return `Started ${which} of run #${target.run_number} again.`;
      }),
    );
  }

  function askToCancel(row: RunRow | undefined): void {
    const target = targetOf(row);
    if (target === undefined) return;
    if (hasEnded(target)) {
      tasks.say("The run has ended.");
      return;
    }
    dialogs.confirm(`Cancel run #${target.run_number}?`, () =>
      tasks.attempt(async () => {
        await source.cancel(target.id);
        await loadNow();
        return `Cancelled run #${target.run_number}.`;
      }),
    );
  }
}

/** What stays the same of a row when it is loaded again; undefined for a line of a log. */
function toKey(row: RunRow | undefined): string | undefined {
  if (row === undefined || row.kind === "line") return undefined;
  if (row.kind === "run") return `run ${row.run.id}`;
  return row.kind === "job" ? `job ${row.job.id}` : `step ${row.job.id} ${row.step.number}`;
}
