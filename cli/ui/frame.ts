import stringWidth from "string-width";
import type { CliError } from "../errors.ts";
import type { Style } from "../io.ts";
import { toScreenLine } from "../output/sanitize.ts";
import { cutEnd, cutStart, padEnd, wrapWords } from "../output/width.ts";
import { type Field, splitAtCaret } from "./keys.ts";
import type { Phase } from "./load.ts";
import type { Size } from "./screen.tsx";

/**
 * A key and its effect, for the last line and the help. `needs` limits the last line to phases in which the key works: `row`
 * a row to look at, `change` a row of a list that is up to date, `list` a list that is up to date, which may be empty.
 */
export type KeyHint = readonly [keys: string, does: string, needs?: "row" | "change" | "list"];

/** A question in the line above the keys. */
export type Question =
  | { readonly kind: "confirm"; readonly text: string }
  | {
      readonly kind: "field";
      readonly label: string;
      readonly field: Field;
      /** What Enter does, such as `renames`. */
      readonly enter: string;
    };

/** The outcome of an action, in the lines above the keys. */
export interface Message {
  readonly text: string;
  readonly isProblem: boolean;
}

/** The parts of a screen, from top to bottom. */
export interface Frame {
  readonly title: string;
  /** A path is cut at its beginning when it does not fit. */
  readonly isPath?: boolean;
  /** At the right of the title. */
  readonly aside: string;
  /** Absent for a text that needs no loading. */
  readonly phase?: Phase;
  /** A remark on the rows, in its own lines below the title. The error of a stale list precedes it. */
  readonly warning?: string | undefined;
  /** The painted rows, each at most `innerWidth` cells wide. */
  readonly body: readonly string[];
  /** Fixed lines below the rows. */
  readonly panel?: readonly string[];
  /** Details of the selected row; shown while there are rows and no message. */
  readonly status: string;
  /** The outcome of the last action. */
  readonly message?: Message | undefined;
  readonly question?: Question | undefined;
  readonly hints: readonly KeyHint[];
}

/** Below this many rows every line is needed for the list. */
const spaciousRows = 16;

/** Cells for text in a line: the last column stays free. */
export function innerWidth({ columns }: Size): number {
  return Math.max(1, columns - 1);
}

/** The parts of a frame that decide how many rows its body has. */
export type Surroundings = Pick<Frame, "phase" | "warning" | "panel" | "message">;

/** Rows of the body between all other lines. */
export function bodyHeight(size: Size, around: Surroundings): number {
  const { panel = [] } = around;
  const { warning, message } = wrapTexts(around, size);
  const blank = size.rows >= spaciousRows ? 2 : 0;
  const others = 2 + blank + warning.length + panel.length + Math.max(1, message.length);
  return Math.max(1, size.rows - 1 - others);
}

/** Title, one row, status and keys. */
const leastRows = 4;
/** Warnings and messages take at most this share of the rows each. */
const TEXT_SHARE = 0.25;

/**
 * Wraps the warning and the message to the width. Where no line is left beside a row, the message takes the line of the
 * status, and the warning is its text while there is none.
 */
function wrapTexts(
  { phase, warning, message }: Surroundings,
  size: Size,
): { readonly warning: readonly string[]; readonly message: readonly string[] } {
  const width = innerWidth(size);
  const spare = Math.max(0, size.rows - 1 - leastRows);
  const share = Math.max(1, Math.floor(size.rows * TEXT_SHARE));
  const texts = [
    ...(phase?.kind === "stale" ? [toProblemText(phase.failure)] : []),
    ...(warning === undefined ? [] : [warning]),
  ].flatMap((text) => wrapWords(`! ${toScreenLine(text)}`, width));
  const shown = cutLines(texts, Math.min(share, spare), width);
  const rest = Math.min(share, 1 + spare - shown.length);
  if (message !== undefined)
    return {
      warning: shown,
      message: cutLines(wrapWords(toScreenLine(message.text), width), rest, width),
    };
  return { warning: shown, message: shown.length === 0 ? cutLines(texts, 1, width) : [] };
}

/** Returns at most `most` lines; the last one ends with `…` when lines are missing. */
function cutLines(lines: readonly string[], most: number, width: number): readonly string[] {
  if (lines.length <= most) return lines;
  if (most < 1) return [];
  return [...lines.slice(0, most - 1), cutEnd(lines.slice(most - 1).join(" "), width)];
}

/** Minimum number of columns for details of the chosen row beside the list. */
const WIDE_COLUMNS = 120;
/** Share of the line that the list keeps. */
const LIST_SHARE = 0.5;

/** A screen with a list and the details of its chosen row. */
export interface Split {
  readonly list: Size;
  readonly text: Size;
}

/** Returns how a wide screen is divided; undefined where two parts do not fit. */
export function splitOf(size: Size): Split | undefined {
  if (size.columns < WIDE_COLUMNS) return undefined;
  const columns = Math.floor(size.columns * LIST_SHARE);
  return { list: { ...size, columns }, text: { ...size, columns: size.columns - columns - 2 } };
}

/** Draws a list and a text side by side, divided by a line. */
export function drawSideBySide(
  list: readonly string[],
  text: readonly string[],
  split: Split,
  style: Style,
): readonly string[] {
  const width = innerWidth(split.list);
  return Array.from({ length: Math.max(list.length, text.length) }, (_, index) => {
    const line = list[index] ?? "";
    const gap = " ".repeat(Math.max(0, width - stringWidth(line)));
    return `${line}${gap} ${style.dim("│")} ${text[index] ?? ""}`;
  });
}

/** The whole screen as lines. Removes control characters, because texts may be untrusted. */
export function drawFrame(frame: Frame, size: Size, style: Style): readonly string[] {
  const width = innerWidth(size);
  const height = bodyHeight(size, frame);
  const isSpacious = size.rows >= spaciousRows;
  const body = [...frame.body.slice(0, height)];
  while (body.length < height) body.push("");
  const { warning, message } = wrapTexts(frame, size);
  const lines = [
    drawTitle(frame, width, style),
    ...(isSpacious ? [""] : []),
    ...warning.map(style.yellow),
    ...body,
    ...(isSpacious ? [""] : []),
    ...(frame.panel ?? []),
    ...(frame.question === undefined
      ? drawStatus(frame, message, width, style)
      : [
          ...Array.from({ length: Math.max(0, message.length - 1) }, () => ""),
          drawQuestion(frame.question, width, style),
        ]),
    drawHints(hintsOf(frame), width, style),
  ];
  return lines.slice(0, Math.max(1, size.rows - 1));
}

function drawStatus(
  { phase, message, status }: Frame,
  lines: readonly string[],
  width: number,
  style: Style,
): readonly string[] {
  if (lines.length > 0)
    return lines.map(
      message === undefined ? style.yellow : message.isProblem ? style.red : style.dim,
    );
  const hasRows = phase === undefined || phase.kind === "content" || phase.kind === "stale";
  return [style.dim(hasRows ? cutEnd(toScreenLine(status), width) : "")];
}

/** Returns the message and hint of an error in one line. */
export function toProblemText({ message, details }: CliError): string {
  return details.hint === undefined ? message : `${message}; ${details.hint}`;
}

/** The body of a view, by phase: rows and errors are never shown together. */
export interface PhaseBody {
  readonly rows: () => readonly string[];
  /** Sentences for a list without rows. */
  readonly empty: readonly string[];
}

/** Draws what a view shows in its phase. */
export function drawPhase(
  phase: Phase,
  { rows, empty }: PhaseBody,
  size: Size,
  style: Style,
): readonly string[] {
  switch (phase.kind) {
    case "loading":
      return [style.dim("  Loading…")];
    case "failed":
      return drawFailure(phase.failure, size, style);
    case "empty":
      return empty.flatMap((text) => indent(text, size)).map(style.dim);
    case "content":
    case "stale":
      return rows();
  }
}

/** Draws an error that prevented loading, with its hint. */
function drawFailure(failure: CliError, size: Size, style: Style): readonly string[] {
  return [
    ...indent(toSentence(failure.message), size).map(style.red),
    ...(failure.details.hint === undefined ? [] : indent(toSentence(failure.details.hint), size)),
  ];
}

function indent(text: string, size: Size): readonly string[] {
  return wrapWords(toScreenLine(text), innerWidth(size) - 2).map((line) => `  ${line}`);
}

function toSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

function drawTitle({ title, aside, isPath = false }: Frame, width: number, style: Style): string {
  const right = cutEnd(toScreenLine(aside), Math.max(0, width - 8));
  const room = width - stringWidth(right) - (right === "" ? 0 : 2);
  const left = padEnd((isPath ? cutStart : cutEnd)(toScreenLine(title), room), room);
  return right === "" ? style.bold(left.trimEnd()) : `${style.bold(left)}  ${style.dim(right)}`;
}

function drawQuestion(question: Question, width: number, style: Style): string {
  if (question.kind === "confirm") {
    const answer = " (y/n)";
    const text = cutEnd(toScreenLine(question.text), Math.max(0, width - answer.length));
    return style.yellow(text) + answer;
  }
  const label = cutEnd(`${question.label} `, Math.max(0, Math.floor(width / 2)));
  const [before, after] = splitAtCaret(question.field);
  const room = width - stringWidth(label) - 1;
  const shown = cutStart(toScreenLine(before), room);
  const rest = cutEnd(toScreenLine(after), Math.max(0, room - stringWidth(shown)));
  return `${style.bold(label)}${shown}▏${rest}`;
}

function hintsOf({ question, hints, phase }: Frame): readonly KeyHint[] {
  if (question?.kind === "confirm")
    return [
      ["y", "yes"],
      ["n", "no"],
    ];
  if (question?.kind === "field")
    return [
      ["Enter", question.enter],
      ["Esc", "cancels"],
    ];
  const kind = phase?.kind ?? "content";
  const works: Readonly<Record<NonNullable<KeyHint[2]>, boolean>> = {
    row: kind === "content" || kind === "stale",
    change: kind === "content",
    list: kind === "content" || kind === "empty",
  };
  const working = hints.filter(([, , needs]) => needs === undefined || works[needs]);
  return kind === "failed" || kind === "stale" ? [["R", "try again"], ...working] : working;
}

/** Draws the hints that fit; the last two, help and quit, are always shown. */
function drawHints(hints: readonly KeyHint[], width: number, style: Style): string {
  const widthOf = ([keys, does]: KeyHint) => stringWidth(`${keys} ${does}`);
  const always = hints.slice(-2);
  let room = width - always.reduce((sum, hint) => sum + widthOf(hint) + 2, -2);
  const shown: KeyHint[] = [];
  for (const hint of hints.slice(0, -2)) {
    room -= widthOf(hint) + 2;
    if (room < 0) break;
    shown.push(hint);
  }
  return [...shown, ...always]
    .map(([keys, does]) => `${style.bold(keys)} ${style.dim(does)}`)
    .join("  ");
}

/** A scrollable page that lists the keys of a screen. */
export interface Help {
  /** All of it as lines for a screen of this size. */
  lines(size: Size, style: Style): readonly string[];
  /** The whole screen, from the line `top` on. */
  draw(top: number, size: Size, style: Style): readonly string[];
}

const hints: readonly KeyHint[] = [
  ["↑↓", "scroll"],
  ["any key", "back"],
];

/** The help of a screen; an entry without a key is a remark. */
export function createHelp(title: string, keys: readonly KeyHint[]): Help {
  const lines = (size: Size, style: Style) => drawKeys(keys, size, style);
  return {
    lines,
    draw: (top, size, style) => {
      const body = lines(size, style).slice(top);
      return drawFrame({ title, aside: "", body, status: "", hints }, size, style);
    },
  };
}

function drawKeys(keys: readonly KeyHint[], size: Size, style: Style): readonly string[] {
  const width = innerWidth(size);
  const keysWidth = Math.max(...keys.map(([names]) => stringWidth(names)));
  return keys.flatMap(([names, does]) => {
    if (names === "") return [style.dim(cutEnd(does, width))];
    const lines = wrapWords(does, Math.max(8, width - keysWidth - 4));
    return lines.map((line, index) => {
      const head = padEnd(index === 0 ? names : "", keysWidth);
      return `  ${style.bold(head)}  ${line}`;
    });
  });
}
