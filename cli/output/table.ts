import stringWidth from "string-width";
import { cutEnd, padEnd } from "./width.ts";

/** A table for a terminal. Cells are visible text without line ends; `width` is the terminal's. */
export interface TableInput {
  readonly headers: readonly string[];
  /** Columns that are never cut. */
  readonly fixed?: readonly boolean[];
  readonly rows: readonly (readonly string[])[];
  readonly width: number;
  readonly paintHeader: (text: string) => string;
  /** Paints a cell that has its width already; it must not change the visible text. */
  readonly paintCell?: (text: string, row: number, column: number) => string;
}

const gap = "  ";
/** Minimum width of a column. */
const narrowest = 4;
/** Minimum average width of columns for a readable table. */
const legible = 6;

/** Whether the terminal is wide enough for a table that can be read. */
export function fits(input: Omit<TableInput, "paintHeader" | "paintCell">): boolean {
  const { headers, fixed = [], rows, width } = input;
  const natural = toWidths(headers, rows);
  const least = shownColumns(input).map((column) =>
    fixed[column] === true ? (natural[column] ?? 0) : Math.min(natural[column] ?? 0, legible),
  );
  return sumOf(least) + gap.length * (least.length - 1) <= width;
}

/**
 * The lines of a table. When it is wider than the terminal, columns without a value are left out, and the widest columns
 * shrink and their cells end in `…`.
 */
export function toTable(input: TableInput): string {
  const { headers, fixed = [], rows, width, paintHeader, paintCell = (text) => text } = input;
  const columns = shownColumns(input);
  const natural = toWidths(headers, rows);
  const widths = fit(
    columns.map((column) => natural[column] ?? 0),
    columns.map((column) => fixed[column] === true),
    width - gap.length * (columns.length - 1),
  );
  const line = (cells: readonly string[], row?: number) =>
    columns
      .map((column, at) => {
        const shown = padEnd(cutEnd(cells[column] ?? "", widths[at] ?? 0), widths[at] ?? 0);
        return row === undefined ? shown : paintCell(shown, row, column);
      })
      .join(gap)
      .trimEnd();
  return [paintHeader(line(headers)), ...rows.map(line)].map((text) => `${text}\n`).join("");
}

/** `name: value` lines of one resource, values aligned. */
export function toCard(
  lines: readonly (readonly [string, string])[],
  paint: (text: string) => string,
): string {
  const width = Math.max(0, ...lines.map(([name]) => stringWidth(name)));
  return lines
    .map(([name, value]) => `${paint(`${name}:`.padEnd(width + 1))} ${value}`.trimEnd())
    .map((text) => `${text}\n`)
    .join("");
}

/** The columns that are printed: all where they fit, otherwise those with a value in any row. */
function shownColumns({ headers, rows, width }: Pick<TableInput, "headers" | "rows" | "width">) {
  const all = headers.map((_, column) => column);
  if (sumOf(toWidths(headers, rows)) + gap.length * (all.length - 1) <= width) return all;
  const filled = all.filter((column) => rows.some((row) => (row[column] ?? "") !== ""));
  return filled.length === 0 ? all : filled;
}

function sumOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0);
}

function toWidths(headers: readonly string[], rows: TableInput["rows"]): readonly number[] {
  return headers.map((header, column) =>
    rows.reduce((most, row) => Math.max(most, stringWidth(row[column] ?? "")), stringWidth(header)),
  );
}

function fit(natural: readonly number[], fixed: readonly boolean[], available: number): number[] {
  const widths = [...natural];
  const flexible = () => widths.filter((_, column) => fixed[column] !== true);
  let excess = sumOf(widths) - available;
  while (excess > 0) {
    const widest = Math.max(...flexible());
    if (widest <= narrowest) break;
    const column = widths.findIndex((width, at) => width === widest && fixed[at] !== true);
    const next = Math.max(narrowest, ...flexible().filter((width) => width < widest));
    const cutBy = Math.min(excess, Math.max(1, widest - next));
    widths[column] = Math.max(narrowest, widest - cutBy);
    excess -= cutBy;
  }
  return widths;
}
