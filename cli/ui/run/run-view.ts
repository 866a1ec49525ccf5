import type { WireJob, WireRun } from "../../../daemon/contract/forge/actions/shapes.ts";
import type { Style } from "../../io.ts";
import { toScreenLine } from "../../output/sanitize.ts";
import { cutEnd, padEnd, padStart } from "../../output/width.ts";
import {
  bodyHeight,
  drawFrame,
  drawPhase,
  innerWidth,
  type Message,
  type KeyHint,
  type Question,
  createHelp,
} from "../frame.ts";
import { type LoadState, type Phase, phaseOf } from "../load.ts";
import type { ListWindow } from "../scrolling.ts";
import type { Size } from "../screen.tsx";
import { toShortAge } from "../../output/cells.ts";
import type { LogLine } from "./log-sections.ts";
import { hasEnded, stateOf } from "../../support/runs.ts";

/** A row of the list that is shown: a run, a job, a step of an unfolded job, or a line of a log. */
export type RunRow =
  | { readonly kind: "run"; readonly run: WireRun }
  | { readonly kind: "job"; readonly job: WireJob; readonly isOpen: boolean }
  | { readonly kind: "step"; readonly job: WireJob; readonly step: WireJob["steps"][number] }
  | { readonly kind: "line"; readonly line: LogLine };

/** Everything that decides how the screen looks. */
export interface RunState {
  readonly repository: string;
  /** The id of the run whose jobs are shown; `run` is undefined until it is loaded. */
  readonly runId: number | undefined;
  readonly run: WireRun | undefined;
  /** The job whose log is shown. */
  readonly job: WireJob | undefined;
  readonly rows: readonly RunRow[];
  readonly window: ListWindow;
  readonly isFollowing: boolean;
  /** Runs of the repository, loaded or not. */
  readonly runCount: number;
  /** Whether this is the view that the screen began with, which `q` leaves. */
  readonly isFirst: boolean;
  /** Of the view that is shown. */
  readonly load: LoadState;
  readonly question: Question | undefined;
  readonly message: Message | undefined;
}

/** The keys and their actions. */
export const help = createHelp("Runs: keys", [
  ["↑ ↓  k j", "one line up or down"],
  ["PgUp PgDn", "one page up or down"],
  ["g G", "first, last"],
  ["Enter", "open a run, unfold a job or a step, fold it again"],
  ["l", "open the log of the job"],
  ["f", "in a log: follow its end"],
  ["z", "in a log: fold all steps, or unfold all"],
  ["c", "cancel the run"],
  ["r", "run all jobs again; after a failure those that failed"],
  ["R  Ctrl-R", "load again"],
  ["Esc  q", "back; leave"],
  ["", "+ success   x failure   ! cancelled   - skipped   * running   . waiting"],
]);

/** The keys that do something in this state. */
function hintsOf({ run, job, rows, window, isFirst }: RunState): readonly KeyHint[] {
  const row = rows[window.cursor];
  const target = run ?? (row?.kind === "run" ? row.run : undefined);
  const change: KeyHint[] =
    target === undefined
      ? []
      : hasEnded(target)
        ? [["r", "again", "change"]]
        : [["c", "cancel", "change"]];
  const last: readonly KeyHint[] = [
    ["?", "keys"],
    ["q", isFirst ? "leave" : "back"],
  ];
  if (job !== undefined) {
    const fold: KeyHint[] =
      row?.kind === "line" && row.line.kind === "head"
        ? [["Enter", row.line.isFolded ? "unfold" : "fold", "row"]]
        : [];
    return [...fold, ["z", "all", "row"], ["f", "follow", "row"], ...change, ...last];
  }
  if (run === undefined) return [["Enter", "open", "row"], ...change, ...last];
  const hasLog = (row?.kind === "job" || row?.kind === "step") && row.job.runner_name !== undefined;
  return [
    ...(row?.kind === "job" ? [["Enter", row.isOpen ? "fold" : "unfold", "row"] as const] : []),
    ...(hasLog ? [["l", "log", "row"] as const] : []),
    ...change,
    ...last,
  ];
}

function phaseOfRuns({ load, rows }: RunState): Phase {
  return phaseOf(load, rows.length);
}

/** Rows that the list has on a screen of this size. */
export function listHeight(state: RunState, size: Size): number {
  return bodyHeight(size, { phase: phaseOfRuns(state), message: state.message });
}

/** The whole screen. `now` is in epoch milliseconds. */
export function drawRuns(
  state: RunState,
  size: Size,
  style: Style,
  now: number,
): readonly string[] {
  const { run, job, rows, window, message, question } = state;
  const width = innerWidth(size);
  const phase = phaseOfRuns(state);
  const drawRows = () =>
    rows
      .slice(window.top, window.top + listHeight(state, size))
      .map((row, index) =>
        drawRow(row, { width, style, now, isChosen: window.top + index === window.cursor }),
      );
  const empty =
    job !== undefined
      ? "The log is empty."
      : run !== undefined
        ? `The run has no jobs.${run.error === undefined ? "" : ` ${run.error}`}`
        : "There are no runs.";
  return drawFrame(
    {
      title: toTitle(state),
      aside: toAside(state),
      phase,
      body: drawPhase(phase, { rows: drawRows, empty: [empty] }, size, style),
      status: toStatus(state),
      message,
      question,
      hints: hintsOf(state),
    },
    size,
    style,
  );
}

function toTitle({ repository, runId, run, job }: RunState): string {
  if (run === undefined)
    return runId === undefined ? `Runs of ${repository}` : `Run ${runId} of ${repository}`;
  const title = `${repository} #${run.run_number}: ${run.display_title}`;
  return job === undefined ? title : `${job.name} · ${title}`;
}

function toAside({ run, job, isFollowing }: RunState): string {
  if (job !== undefined) return `${toWords(stateOf(job))}${isFollowing ? ", following" : ""}`;
  return run === undefined ? "" : toWords(stateOf(run));
}

function toStatus({ run, window, runCount }: RunState): string {
  if (run?.error !== undefined) return run.error;
  if (run === undefined) return `${window.cursor + 1} of ${runCount}`;
  return `${run.event} on ${run.head_branch ?? run.head_sha.slice(0, 10)} by ${run.actor.login}, ${run.path.split("@", 1).join()}`;
}

interface RowDeps {
  readonly width: number;
  readonly style: Style;
  readonly now: number;
  readonly isChosen: boolean;
}

function drawRow(row: RunRow, { width, style, now, isChosen }: RowDeps): string {
  const cursor = isChosen ? "❯ " : "  ";
  const room = width - cursor.length;
  const text =
    row.kind === "line" ? drawLine(row.line, room, style) : drawEntry(row, room, style, now);
  return cursor + (isChosen ? style.bold(text) : text);
}

function drawEntry(
  row: Exclude<RunRow, { kind: "line" }>,
  room: number,
  style: Style,
  now: number,
): string {
  const entry = row.kind === "run" ? row.run : row.kind === "job" ? row.job : row.step;
  const state = stateOf(entry);
  const sign = `${signs[state] ?? "."} `;
  const indent =
    row.kind === "step" ? "    " : row.kind === "job" ? (row.isOpen ? "v " : "> ") : "";
  const name =
    row.kind === "run"
      ? `#${row.run.run_number} ${row.run.display_title} (${row.run.path.split("@", 1).join()})`
      : row.kind === "job"
        ? row.job.name
        : row.step.name;
  const took = toDuration(entry.started_at, entry.completed_at, now);
  const age = row.kind === "run" ? ` ${padStart(toShortAge(row.run.started_at, now), 4)}` : "";
  // A narrow screen shows only the sign of the state.
  const word = room < NARROW ? "" : ` ${padEnd(toWords(state), 9)}`;
  const right = `${word} ${padStart(took, 7)}${age}`;
  const left = indent + sign;
  const nameRoom = Math.max(0, room - left.length - right.length);
  const shown = padEnd(cutEnd(toScreenLine(name), nameRoom), nameRoom);
  return cutEndOfRow(
    `${indent}${paintOf(state, style)(sign)}${shown}${style.dim(right)}`,
    room,
    nameRoom,
  );
}

const NARROW = 60;

/** Returns an empty row if there is no room for a name. */
function cutEndOfRow(painted: string, room: number, nameRoom: number): string {
  return nameRoom > 0 || room > 30 ? painted : "";
}

function drawLine(line: LogLine, room: number, style: Style): string {
  if (line.kind === "head") {
    const indent = "  ".repeat(line.section.depth);
    const title = `${indent}${line.isFolded ? ">" : "v"} ${toScreenLine(line.section.title)}`;
    return style.bold(cutEnd(title, room));
  }
  const [, kind, text = line.text] =
    /^::(error|warning|notice|debug)(?: [^:]*)?::(.*)$/s.exec(line.text) ?? [];
  const shown = cutEnd("  ".repeat(line.depth) + toScreenLine(text), room);
  if (kind === "error") return style.red(shown);
  return kind === "warning" ? style.yellow(shown) : shown;
}

/** A symbol for each state, because colours alone are not accessible. */
const signs: Readonly<Record<string, string>> = {
  success: "+",
  failure: "x",
  cancelled: "!",
  skipped: "-",
  in_progress: "*",
};

function paintOf(state: string, style: Style): (text: string) => string {
  if (state === "success") return style.green;
  if (state === "failure") return style.red;
  return state === "in_progress" || state === "cancelled" ? style.yellow : style.dim;
}

function toWords(state: string): string {
  return state === "in_progress" ? "running" : state;
}

/** Returns a duration such as `4s`, `3m 20s`, `2h 5m`; of a running job or step, the time until now. */
function toDuration(
  from: string | null | undefined,
  to: string | null | undefined,
  now: number,
): string {
  const start = toTime(from);
  if (start === undefined) return "";
  const seconds = Math.max(0, Math.round(((toTime(to) ?? now) - start) / 1_000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
  return `${Math.floor(seconds / 3_600)}h ${Math.floor((seconds % 3_600) / 60)}m`;
}

/** The daemon writes an absent time as null or as the first moment of its calendar. */
function toTime(value: string | null | undefined): number | undefined {
  const at = Date.parse(value ?? "");
  return Number.isNaN(at) || at <= 0 ? undefined : at;
}
