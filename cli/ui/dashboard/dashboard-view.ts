import stringWidth from "string-width";
import type { Style } from "../../io.ts";
import { toScreenLine } from "../../output/sanitize.ts";
import { cutEnd, padEnd, wrapWords } from "../../output/width.ts";
import {
  bodyHeight,
  drawFrame,
  drawPhase,
  drawSideBySide,
  innerWidth,
  type Message,
  type KeyHint,
  type Question,
  splitOf,
  type Surroundings,
  createHelp,
  type Help,
} from "../frame.ts";
import { type LoadState, phaseOf } from "../load.ts";
import type { ListWindow } from "../scrolling.ts";
import type { Size } from "../screen.tsx";
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
  /** The number of rows that there are, loaded or not. */
  readonly total: number;
  /** The section in a few words, as in the overview. */
  readonly summary: string;
  /** Of the section that is shown. */
  readonly load: LoadState;
  readonly warning: string | undefined;
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
/** Cells that a value needs at least beside its name. */
const VALUE_MIN = 16;

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

function surroundingsOf({ load, rows, warning, message }: DashboardState): Surroundings {
  return { phase: phaseOf(load, rows.length), warning, message };
}

/** The lines above the rows: one names the sections, one the columns. A tiny screen has rows only. */
function headRows(state: DashboardState, size: Size): 0 | 1 | 2 {
  const room = bodyHeight(size, surroundingsOf(state));
  return room >= 4 ? 2 : room >= 2 ? 1 : 0;
}

/** Rows that the list has on a screen of this size. */
export function listHeight(state: DashboardState, size: Size): number {
  return Math.max(1, bodyHeight(size, surroundingsOf(state)) - headRows(state, size));
}

/** The whole screen. */
export function drawDashboard(state: DashboardState, size: Size, style: Style): readonly string[] {
  const { url, titles, shown, filter, question } = state;
  const hasTabs = headRows(state, size) > 0;
  return drawFrame(
    {
      ...surroundingsOf(state),
      title: hasTabs ? `croft at ${url}` : (titles[shown] ?? ""),
      aside: filter === "" ? "" : `search: ${filter}`,
      body: [
        ...(hasTabs ? [drawTabs(titles, shown, innerWidth(size), style)] : []),
        ...drawBody(state, size, style),
      ],
      status: toStatus(state),
      question,
      hints: toHints(state),
    },
    size,
    style,
  );
}

function toStatus({ shown, rows, total, window, filter, summary }: DashboardState): string {
  if (shown === 0) return "";
  const count = filter === "" ? total : rows.length;
  return `${window.cursor + 1} of ${count}${filter === "" ? "" : " found"}  ${summary}`;
}

function toHints({ rows, window, shown, areDetailsOpen }: DashboardState): readonly KeyHint[] {
  const actions = rows[window.cursor]?.actions ?? [];
  return [
    ...actions.flatMap(({ key, label }): KeyHint[] =>
      label === undefined ? [] : [[key, label, "change"]],
    ),
    ["Enter", shown === 0 ? "open" : areDetailsOpen ? "list" : "details", "row"],
    ["Tab", "next"],
    ...(shown === 0 ? [] : [["/", "search", "list"] as const]),
    ["?", "keys"],
    ["q", shown === 0 ? "leave" : "back"],
  ];
}

const TAB_GAP = "  ";
const MORE_TABS = "…";

/** Names the sections that fit: the shown one and its neighbours, with `…` where others follow. */
function drawTabs(titles: readonly string[], shown: number, width: number, style: Style): string {
  const names = titles.map((title, index) =>
    index === shown ? `[${index} ${title}]` : `${index} ${title}`,
  );
  const toLine = (from: number, to: number) => [
    ...(from > 0 ? [MORE_TABS] : []),
    ...names.slice(from, to),
    ...(to < names.length ? [MORE_TABS] : []),
  ];
  const fits = (from: number, to: number) => stringWidth(toLine(from, to).join(TAB_GAP)) <= width;
  let [from, to] = [shown, shown + 1];
  if (!fits(from, to)) return style.bold(cutEnd(names[shown] ?? "", width));
  for (;;) {
    const canGrowRight = to < names.length && fits(from, to + 1);
    const canGrowLeft = from > 0 && fits(from - 1, to);
    // The shorter side first, so that the shown one stays in the middle.
    if (canGrowRight && (!canGrowLeft || to - shown - 1 <= shown - from)) to += 1;
    else if (canGrowLeft) from -= 1;
    else break;
  }
  return toLine(from, to)
    .map((name) => (name === names[shown] ? style.bold(name) : style.dim(name)))
    .join(TAB_GAP);
}

function drawBody(state: DashboardState, size: Size, style: Style): readonly string[] {
  const { load, filter, rows } = state;
  const empty = filter === "" ? state.empty : "Nothing matches the search.";
  return drawPhase(
    phaseOf(load, rows.length),
    { rows: () => drawRows(state, size, style), empty: [empty] },
    size,
    style,
  );
}

function drawRows(state: DashboardState, size: Size, style: Style): readonly string[] {
  const { rows, window, areDetailsOpen } = state;
  const chosen = rows[window.cursor];
  const heights = { head: headRows(state, size), rows: listHeight(state, size) };
  const split = state.shown === 0 ? undefined : splitOf(size);
  if (split !== undefined)
    return drawSideBySide(
      drawList(state, split.list, heights, style),
      drawDetails(chosen, innerWidth(split.text), style),
      split,
      style,
    );
  if (areDetailsOpen)
    return drawDetails(chosen, innerWidth(size) - GAP, style).map((line) => `  ${line}`);
  return drawList(state, size, heights, style);
}

/** Lines of the list on the whole screen: beside details it is narrower, and as high. */
interface ListHeights {
  readonly head: 0 | 1 | 2;
  readonly rows: number;
}

function drawList(
  state: DashboardState,
  size: Size,
  heights: ListHeights,
  style: Style,
): readonly string[] {
  const { columns, rows, window } = state;
  const shown = rows.slice(window.top, window.top + heights.rows);
  const mark = 4;
  const widths = toColumnWidths(columns, rows, innerWidth(size) - mark);
  const head = columns.map((name) => name.toUpperCase());
  return [
    ...(heights.head > 1 ? [style.dim(" ".repeat(mark) + toCells(head, widths))] : []),
    ...shown.map((row, index) => {
      const isChosen = window.top + index === window.cursor;
      const text = toCells(row.cells.map(toScreenLine), widths);
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
  while (natural.length > 0 && room - used(natural) < FIRST_COLUMN_MIN) natural.pop();
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
  const nameWidth = Math.max(...row.details.map(([name]) => stringWidth(name))) + GAP;
  const room = width - nameWidth;
  // Names beside their values take half the lines.
  if (room >= VALUE_MIN)
    return row.details.flatMap(([name, value]) =>
      wrapWords(toScreenLine(value), room).map(
        (line, index) => style.dim(padEnd(index === 0 ? name : "", nameWidth)) + line,
      ),
    );
  return row.details.flatMap(([name, value]) => {
    const lines = wrapWords(toScreenLine(value), Math.max(8, width - GAP));
    return [
      style.dim(cutEnd(name, width)),
      ...lines.map((line) => `  ${cutEnd(line, width - GAP)}`),
    ];
  });
}

function paintOf(tone: Tone, style: Style): (text: string) => string {
  if (tone === "good") return style.green;
  if (tone === "bad") return style.red;
  return tone === "warning" ? style.yellow : style.dim;
}
