import stringWidth from "string-width";
import type { CliError } from "../../errors.ts";
import type { Style } from "../../io.ts";
import { sanitizeLine } from "../../output/sanitize.ts";
import { cutEnd, padEnd, wrapWords } from "../../output/width.ts";
import {
  bodyHeight,
  drawFailure,
  drawFrame,
  drawSideBySide,
  innerWidth,
  type KeyHint,
  type Question,
  splitOf,
  toProblemText,
  createHelp,
  type Help,
} from "../frame.ts";
import type { ListWindow } from "../scrolling.ts";
import type { Size } from "../screen.tsx";
import type { Message } from "../task-queue.ts";
import type { DashboardRow, DashboardSection, Tone } from "./section.ts";

/** Everything that decides how the screen looks. */
export interface DashboardState {
  readonly url: string;
  /** The overview first. */
  readonly titles: readonly string[];
  /** Index of the section that is shown. */
  readonly shown: number;
  readonly columns: readonly string[];
  readonly empty: string;
  readonly rows: readonly DashboardRow[];
  readonly wasLoaded: boolean;
  readonly failure: CliError | undefined;
  readonly filter: string;
  readonly window: ListWindow;
  readonly areDetailsOpen: boolean;
  readonly question: Question | undefined;
  readonly message: Message | undefined;
}

/** Maximum width of all columns but the first. */
const COLUMN_MAX = 28;
/** The first column keeps at least this much; the last columns go before it. */
const FIRST_COLUMN_MIN = 14;
const GAP = 2;

/** A symbol for each tone, because colours alone are not accessible. */
const signs: Readonly<Record<Tone, string>> = { good: "+", warning: "!", bad: "x", idle: "." };

/** The keys of the screen, for these sections. */
export function helpOf(sections: readonly DashboardSection[]): Help {
  return createHelp("Dashboard: keys", [
    ["0", "overview"],
    ...sections.map(({ title }, index): KeyHint => [String(index + 1), title.toLowerCase()]),
    ["Tab  ← →", "go to the next or previous section"],
    ["↑ ↓  k j", "move by one line"],
    ["PgUp PgDn", "move by one page"],
    ["g G", "go to the first or last line"],
    ["Enter", "open a section; show or hide the details of a row"],
    ["/", "search in the section; Esc ends the search"],
    ["R  Ctrl-R", "reload"],
    ["a d r c x", "actions of the row, named in the last line"],
    ["Esc  q", "back; leave"],
    ["", "+ in order   ! check it   x failed   . idle"],
  ]);
}

/** Rows that the list has on a screen of this size. */
export function listHeight(state: DashboardState, size: Size): number {
  const room = bodyHeight(size, { warning: toWarning(state) });
  // One line names the sections, one the columns.
  return Math.max(1, room - 2);
}

/** The whole screen. */
export function drawDashboard(state: DashboardState, size: Size, style: Style): readonly string[] {
  const { url, titles, shown, filter, rows, message, question } = state;
  return drawFrame(
    {
      title: `croft at ${url}`,
      aside: filter === "" ? "" : `search: ${filter}`,
      warning: toWarning(state),
      body: [drawTabs(titles, shown, innerWidth(size), style), ...drawBody(state, size, style)],
      status: message?.text ?? (state.wasLoaded ? toStatus(titles[shown], rows) : "Loading…"),
      isProblem: message?.isProblem === true,
      question,
      hints: toHints(state),
    },
    size,
    style,
  );
}

/** The failures of the last reload, above the data of earlier ones. */
function toWarning({ failure, wasLoaded }: DashboardState): string | undefined {
  return wasLoaded && failure !== undefined ? toProblemText(failure) : undefined;
}

function toStatus(title: string | undefined, rows: readonly DashboardRow[]): string {
  const bad = rows.filter(({ tone }) => tone === "bad").length;
  return `${title}: ${rows.length} ${rows.length === 1 ? "row" : "rows"}${bad === 0 ? "" : `, ${bad} failed`}`;
}

function toHints({ rows, window, shown }: DashboardState): readonly KeyHint[] {
  const actions = rows[window.cursor]?.actions ?? [];
  return [
    ...actions.map(({ key, label }): KeyHint => [key, label]),
    ["Enter", shown === 0 ? "open" : "details"],
    ["Tab", "next"],
    ...(shown === 0 ? [] : [["/", "search"] as const]),
    ["?", "keys"],
    ["q", shown === 0 ? "leave" : "back"],
  ];
}

function drawTabs(titles: readonly string[], shown: number, width: number, style: Style): string {
  const names = titles.map((title, index) => `${index} ${title}`);
  const isShort = stringWidth(names.join("  ")) > width;
  const shownNames = isShort
    ? titles.map((title, index) => (index === shown ? `${index} ${title}` : String(index)))
    : names;
  if (stringWidth(shownNames.join("  ")) > width) return cutEnd(names[shown] ?? "", width);
  return shownNames
    .map((name, index) => (index === shown ? style.bold(name) : style.dim(name)))
    .join("  ");
}

function drawBody(state: DashboardState, size: Size, style: Style): readonly string[] {
  const { rows, window, wasLoaded, failure, areDetailsOpen } = state;
  if (!wasLoaded) return failure === undefined ? [] : drawFailure(failure, size, style);
  if (rows.length === 0)
    return ["", `  ${state.filter === "" ? state.empty : "Nothing matches the search."}`];
  const width = innerWidth(size);
  const chosen = rows[window.cursor];
  const split = state.shown === 0 ? undefined : splitOf(size);
  if (split !== undefined)
    return drawSideBySide(
      drawList(state, split.list, style),
      drawDetails(chosen, innerWidth(split.text), style),
      split,
      style,
    );
  if (areDetailsOpen)
    return ["", ...drawDetails(chosen, width - GAP, style).map((line) => `  ${line}`)];
  return drawList(state, size, style);
}

function drawList(state: DashboardState, size: Size, style: Style): readonly string[] {
  const { columns, rows, window } = state;
  const shown = rows.slice(window.top, window.top + listHeight(state, size));
  const mark = 4;
  const widths = toColumnWidths(columns, rows, innerWidth(size) - mark);
  const head = columns.map((name) => name.toUpperCase());
  return [
    style.dim(" ".repeat(mark) + toCells(head, widths)),
    ...shown.map((row, index) => {
      const isChosen = window.top + index === window.cursor;
      const text = toCells(row.cells.map(sanitizeLine), widths);
      const sign = paintOf(row.tone, style)(signs[row.tone]);
      return `${isChosen ? "❯" : " "} ${sign} ${isChosen ? style.bold(text) : text}`;
    }),
  ];
}

/** Returns the widths of the columns that fit; the first gets the remaining width. */
function toColumnWidths(
  columns: readonly string[],
  rows: readonly DashboardRow[],
  room: number,
): readonly number[] {
  const natural = columns
    .slice(1)
    .map((header, index) =>
      Math.min(
        COLUMN_MAX,
        Math.max(
          ...[header, ...rows.map(({ cells }) => cells[index + 1] ?? "")].map((text) =>
            stringWidth(text),
          ),
        ),
      ),
    );
  const used = (widths: readonly number[]) => widths.reduce((sum, width) => sum + width + GAP, 0);
  while (natural.length > 1 && room - used(natural) < FIRST_COLUMN_MIN) natural.pop();
  // A single second column takes all remaining width: it may be a sentence.
  if (columns.length === 2) {
    const first = Math.max(
      ...[columns[0] ?? "", ...rows.map(({ cells }) => cells[0] ?? "")].map((text) =>
        stringWidth(text),
      ),
    );
    return [first, Math.max(0, room - first - GAP)];
  }
  return [Math.max(0, room - used(natural)), ...natural];
}

function toCells(texts: readonly string[], widths: readonly number[]): string {
  return widths
    .map((width, index) => padEnd(cutEnd(texts[index] ?? "", width), width))
    .join(" ".repeat(GAP))
    .trimEnd();
}

function drawDetails(
  row: DashboardRow | undefined,
  width: number,
  style: Style,
): readonly string[] {
  if (row === undefined) return [];
  return row.details.flatMap(([name, value]) => {
    const lines = wrapWords(sanitizeLine(value), Math.max(8, width - GAP));
    return [style.dim(name), ...lines.map((line) => `  ${cutEnd(line, width - GAP)}`)];
  });
}

function paintOf(tone: Tone, style: Style): (text: string) => string {
  if (tone === "good") return style.green;
  if (tone === "bad") return style.red;
  return tone === "warning" ? style.yellow : style.dim;
}
