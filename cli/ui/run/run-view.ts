import type { WireJob, WireRun } from "../../../daemon/contract/forge/actions/shapes.ts";
import type { CliError } from "../../errors.ts";
import type { Style } from "../../io.ts";
import { sanitizeLine } from "../../output/sanitize.ts";
import { cutEnd, padEnd, padStart } from "../../output/width.ts";
import {
  bodyHeight,
  drawFailure,
  drawFrame,
  innerWidth,
  type KeyHint,
  type Question,
  toProblemText,
  createHelp,
} from "../frame.ts";
import type { ListWindow } from "../scrolling.ts";
import type { Size } from "../screen.tsx";
import { toShortAge } from "../../output/cells.ts";
import type { Message } from "../task-queue.ts";
import type { LogLine } from "./log-sections.ts";
import { stateOf } from "../../support/runs.ts";

/** A row of the list that is shown: a run, a job, a step of an unfolded job, or a line of a log. */
export type RunRow =
  | { readonly kind: "run"; readonly run: WireRun }
  | { readonly kind: "job"; readonly job: WireJob; readonly isOpen: boolean }
  | { readonly kind: "step"; readonly job: WireJob; readonly step: WireJob["steps"][number] }
  | { readonly kind: "line"; readonly line: LogLine };

/** Everything that decides how the screen looks. */
export interface RunState {
  readonly repository: string;
  readonly run: WireRun | undefined;
  /** The job whose log is shown. */
  readonly job: WireJob | undefined;
  readonly rows: readonly RunRow[];
  readonly window: ListWindow;
  readonly isFollowing: boolean;
  readonly wasLoaded: boolean;
  readonly failure: CliError | undefined;
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

const hints: Readonly<Record<"runs" | "tree" | "log", readonly KeyHint[]>> = {
  runs: [
    ["Enter", "open"],
    ["c", "cancel"],
    ["r", "again"],
    ["?", "keys"],
    ["q", "leave"],
  ],
  tree: [
    ["Enter", "unfold"],
    ["l", "log"],
    ["c", "cancel"],
    ["r", "again"],
    ["?", "keys"],
    ["q", "back"],
  ],
  log: [
    ["Enter", "fold"],
    ["z", "all"],
    ["f", "follow"],
    ["c", "cancel"],
    ["?", "keys"],
    ["q", "back"],
  ],
};

/** Rows that the list has on a screen of this size. */
export function listHeight({ failure, wasLoaded }: RunState, size: Size): number {
  return bodyHeight(size, { warning: wasLoaded ? failure?.message : undefined });
}

/** The whole screen. `now` is in epoch milliseconds. */
export function drawRuns(
  state: RunState,
  size: Size,
  style: Style,
  now: number,
): readonly string[] {
  const { run, job, rows, window, failure, wasLoaded, message, question } = state;
  const width = innerWidth(size);
  const shown = rows.slice(window.top, window.top + listHeight(state, size));
  const body = shown.map((row, index) =>
    drawRow(row, { width, style, now, isChosen: window.top + index === window.cursor }),
  );
  const view = job !== undefined ? "log" : run !== undefined ? "tree" : "runs";
  return drawFrame(
    {
      title: toTitle(state),
      aside: toAside(state),
      warning: wasLoaded && failure !== undefined ? toProblemText(failure) : undefined,
      body:
        !wasLoaded && failure !== undefined
          ? drawFailure(failure, size, style)
          : wasLoaded && rows.length === 0
            ? [`  ${view === "log" ? "The log is empty." : "There are no runs."}`]
            : body,
      status: message?.text ?? toStatus(state),
      isProblem: message?.isProblem === true,
      question,
      hints: hints[view],
    },
    size,
    style,
  );
}

function toTitle({ repository, run, job }: RunState): string {
  if (run === undefined) return `Runs of ${repository}`;
  const title = `${repository} #${run.run_number}: ${run.display_title}`;
  return job === undefined ? title : `${job.name} · ${title}`;
}

function toAside({ run, job, isFollowing }: RunState): string {
  if (job !== undefined) return `${toWords(stateOf(job))}${isFollowing ? ", following" : ""}`;
  return run === undefined ? "" : toWords(stateOf(run));
}

function toStatus({ run, wasLoaded, rows }: RunState): string {
  if (!wasLoaded) return "Loading…";
  if (run?.error !== undefined) return run.error;
  if (run === undefined) return rows.length === 1 ? "1 run" : `${rows.length} runs`;
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
  const shown = padEnd(cutEnd(sanitizeLine(name), nameRoom), nameRoom);
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
    const title = `${indent}${line.isFolded ? ">" : "v"} ${sanitizeLine(line.section.title)}`;
    return style.bold(cutEnd(title, room));
  }
  const [, kind, text = line.text] =
    /^::(error|warning|notice|debug)(?: [^:]*)?::(.*)$/s.exec(line.text) ?? [];
  const shown = cutEnd("  ".repeat(line.depth) + sanitizeLine(text), room);
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
export function toDuration(
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
