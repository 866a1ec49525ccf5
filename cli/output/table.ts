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
}

const gap = "  ";
/** Columns are never squeezed below this, so that something of each is seen. */
const narrowest = 4;
/** In a table of which less is seen than this of each column, nothing can be read. */
const legible = 6;

/** Whether the terminal is wide enough for a table that can be read. */
export function fits({
  headers,
  fixed = [],
  rows,
  width,
}: Omit<TableInput, "paintHeader">): boolean {
  const least = toWidths(headers, rows).map((wanted, column) =>
    fixed[column] === true ? wanted : Math.min(wanted, legible),
  );
  return least.reduce((sum, one) => sum + one, 0) + gap.length * (headers.length - 1) <= width;
}

/** The lines of a table. When it is wider than the terminal, the widest columns give way and their cells end in `…`. */
export function toTable({ headers, fixed = [], rows, width, paintHeader }: TableInput): string {
  const available = width - gap.length * (headers.length - 1);
  const widths = fit(toWidths(headers, rows), fixed, available);
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => padEnd(cutEnd(cell, widths[column] ?? 0), widths[column] ?? 0))
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

function toWidths(headers: readonly string[], rows: TableInput["rows"]): readonly number[] {
  return headers.map((header, column) =>
    rows.reduce((most, row) => Math.max(most, stringWidth(row[column] ?? "")), stringWidth(header)),
  );
}

function fit(wanted: readonly number[], fixed: readonly boolean[], available: number): number[] {
  const widths = [...wanted];
  const flexible = () => widths.filter((_, column) => fixed[column] !== true);
  let excess = widths.reduce((sum, width) => sum + width, 0) - available;
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
