import stringWidth from "string-width";
import type { CliError } from "../errors.ts";
import type { Style } from "../io.ts";
import { sanitizeLine } from "../output/sanitize.ts";
import { cutEnd, cutStart, padEnd, wrapWords } from "../output/width.ts";
import { type Field, splitAtCaret } from "./keys.ts";
import type { Size } from "./screen.tsx";

/** A key and its effect, for the last line and the help. */
export type KeyHint = readonly [keys: string, does: string];

/** A question in the line above the keys. */
export type Question =
  | { readonly kind: "confirm"; readonly text: string }
  | { readonly kind: "field"; readonly label: string; readonly field: Field };

/** The parts of a screen, from top to bottom. */
export interface Frame {
  readonly title: string;
  /** A path is cut at its beginning when it does not fit. */
  readonly isPath?: boolean;
  /** At the right of the title. */
  readonly aside: string;
  /** A persistent problem, shown in its own line below the title. */
  readonly warning?: string | undefined;
  /** The painted rows, each at most `innerWidth` cells wide. */
  readonly body: readonly string[];
  /** Fixed lines below the rows. */
  readonly panel?: readonly string[];
  /** The status of the last action, or details of the selected row. */
  readonly status: string;
  readonly isProblem?: boolean;
  readonly question?: Question | undefined;
  readonly hints: readonly KeyHint[];
}

/** Below this many rows every line is needed for the list. */
const spaciousRows = 16;

/** Cells for text in a line: the last column stays free. */
export function innerWidth({ columns }: Size): number {
  return Math.max(1, columns - 1);
}

/** Rows of the body between all other lines. */
export function bodyHeight(
  { rows }: Size,
  { warning, panel = [] }: Pick<Frame, "warning" | "panel">,
): number {
  const others =
    3 + (rows >= spaciousRows ? 2 : 0) + (warning === undefined ? 0 : 1) + panel.length;
  return Math.max(1, rows - 1 - others);
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
  const status = sanitizeLine(frame.status);
  const lines = [
    drawTitle(frame, width, style),
    ...(isSpacious ? [""] : []),
    ...(frame.warning === undefined
      ? []
      : [style.yellow(cutEnd(`! ${sanitizeLine(frame.warning)}`, width))]),
    ...body,
    ...(isSpacious ? [""] : []),
    ...(frame.panel ?? []),
    frame.question === undefined
      ? (frame.isProblem === true ? style.red : style.dim)(cutEnd(status, width))
      : drawQuestion(frame.question, width, style),
    drawHints(hintsOf(frame), width, style),
  ];
  return lines.slice(0, Math.max(1, size.rows - 1));
}

/** Returns the message and hint of an error in one line. */
export function toProblemText({ message, details }: CliError): string {
  return details.hint === undefined ? message : `${message}; ${details.hint}`;
}

/** Draws an error that prevented loading, with its hint. */
export function drawFailure(failure: CliError, size: Size, style: Style): readonly string[] {
  const room = innerWidth(size) - 2;
  const words = (text: string) => wrapWords(sanitizeLine(text), room).map((line) => `  ${line}`);
  return [
    ...words(toSentence(failure.message)).map(style.red),
    ...(failure.details.hint === undefined ? [] : words(toSentence(failure.details.hint))),
    "",
    ...words("R tries again, q quits.").map(style.dim),
  ];
}

function toSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

function drawTitle({ title, aside, isPath = false }: Frame, width: number, style: Style): string {
  const right = cutEnd(sanitizeLine(aside), Math.max(0, width - 8));
  const room = width - stringWidth(right) - (right === "" ? 0 : 2);
  const left = padEnd((isPath ? cutStart : cutEnd)(sanitizeLine(title), room), room);
  return right === "" ? style.bold(left.trimEnd()) : `${style.bold(left)}  ${style.dim(right)}`;
}

function drawQuestion(question: Question, width: number, style: Style): string {
  if (question.kind === "confirm") {
    const answer = " (y/n)";
    const text = cutEnd(sanitizeLine(question.text), Math.max(0, width - answer.length));
    return style.yellow(text) + answer;
  }
  const label = cutEnd(`${question.label} `, Math.max(0, Math.floor(width / 2)));
  const [before, after] = splitAtCaret(question.field);
  const room = width - stringWidth(label) - 1;
  const shown = cutStart(sanitizeLine(before), room);
  const rest = cutEnd(sanitizeLine(after), Math.max(0, room - stringWidth(shown)));
  return `${style.bold(label)}${shown}▏${rest}`;
}

function hintsOf({ question, hints }: Frame): readonly KeyHint[] {
  if (question === undefined) return hints;
  return question.kind === "confirm"
    ? [
        ["y", "yes"],
        ["n", "no"],
      ]
    : [
        ["Enter", "continues"],
        ["Esc", "cancels"],
      ];
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
