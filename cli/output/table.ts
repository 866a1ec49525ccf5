import stringWidth from "string-width";
import { cutEnd, padEnd } from "./width.ts";

/** A table for a terminal. Cells are visible text without line ends; `width` is the terminal's. */
export interface TableInput {
  readonly headers: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly width: number;
  readonly paintHeader: (text: string) => string;
}

const gap = "  ";
/** Columns are never squeezed below this, so that something of each is seen. */
const narrowest = 4;

/** The lines of a table. When it is wider than the terminal, the widest columns give way and their cells end in `…`. */
export function toTable({ headers, rows, width, paintHeader }: TableInput): string {
  const wanted = headers.map((header, column) =>
    Math.max(stringWidth(header), ...rows.map((row) => stringWidth(row[column] ?? ""))),
  );
  const widths = fit(wanted, width - gap.length * (headers.length - 1));
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

function fit(wanted: readonly number[], available: number): number[] {
  const widths = [...wanted];
  let excess = widths.reduce((sum, width) => sum + width, 0) - available;
  while (excess > 0) {
    const widest = Math.max(...widths);
    if (widest <= narrowest) break;
    const column = widths.indexOf(widest);
    const next = Math.max(narrowest, ...widths.filter((width) => width < widest));
    const cutBy = Math.min(excess, Math.max(1, widest - next));
    widths[column] = Math.max(narrowest, widest - cutBy);
    excess -= cutBy;
  }
  return widths;
}
