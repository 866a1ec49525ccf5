import { isReached, scoreOf, type Compared, type Figure, type Section } from "./results.ts";

// The one report of a run: a table as Markdown and as HTML, and a chart.

export interface Report {
  readonly sections: readonly Section[];
  /** The rows beside the baseline; empty without one. */
  readonly compared: readonly Compared[];
  /** Benchmarks that failed. */
  readonly failed: readonly string[];
  /** The machine and its load, for the reader. */
  readonly machine: string;
}

/** Returns the report as Markdown, with the chart beside it as `chart.svg`. */
export function toMarkdown({ sections, compared, failed, machine }: Report): string {
  const lines = ["# Benchmarks", "", machine, "", "![The rows against their aims](chart.svg)", ""];
  if (failed.length > 0) lines.push(`Failed: ${failed.join(", ")}`, "");
  for (const section of sections) {
    lines.push(`## ${section.bench}: ${section.title}`, "", section.why, "");
    lines.push("| What | Figure | Aim | |", "|---|---|---|---|");
    for (const figure of section.figures)
      lines.push(`| ${cellsOf(figure).map(escapeCell).join(" | ")} |`);
    lines.push("", usageOf(section), "");
  }
  if (compared.length > 0) {
    lines.push("## Against the baseline", "", "| Row | Baseline | Now | Change |");
    lines.push("|---|---|---|---|");
    for (const row of compared) lines.push(`| ${comparedCells(row).map(escapeCell).join(" | ")} |`);
  }
  return `${lines.join("\n").trimEnd()}\n`;
}

/** Returns the report as one page of HTML with the chart in it. */
export function toHtml(report: Report): string {
  const { sections, compared, failed, machine } = report;
  const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
    `<table><tr>${head.map((text) => `<th>${escapeText(text)}</th>`).join("")}</tr>${rows
      .map((cells) => `<tr>${cells.map((text) => `<td>${escapeText(text)}</td>`).join("")}</tr>`)
      .join("\n")}</table>`;
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Benchmarks</title>
<style>body{font:15px/1.5 system-ui;max-width:75rem;margin:2rem auto;padding:0 1rem}table{border-collapse:collapse}td,th{padding:.2rem .7rem;border-bottom:1px solid #ccc;text-align:left}</style>
<h1>Benchmarks</h1><p>${escapeText(machine)}</p>
${failed.length > 0 ? `<p>Failed: ${escapeText(failed.join(", "))}</p>` : ""}
${toChart(sections)}
${sections
  .map(
    (section) =>
      `<h2>${escapeText(`${section.bench}: ${section.title}`)}</h2><p>${escapeText(section.why)}</p>
${table(["What", "Figure", "Aim", ""], section.figures.map(cellsOf))}<p>${escapeText(usageOf(section))}</p>`,
  )
  .join("\n")}
${compared.length > 0 ? `<h2>Against the baseline</h2>${table(["Row", "Baseline", "Now", "Change"], compared.map(comparedCells))}` : ""}
</html>
`;
}

const CHART = { width: 1_100, labels: 560, row: 18, head: 40 };
/** The scale is logarithmic, from a tenth of the aim to ten times as good. */
const SCALE_MAX = 10;

/** Returns a chart as SVG: one bar a row with an aim, which is reached right of the line in the middle. */
export function toChart(sections: readonly Section[]): string {
  const rows = sections.flatMap(({ bench, title, figures }) =>
    figures.flatMap(({ label, value, measured }) =>
      measured === undefined || !(measured.value > 0)
        ? []
        : [{ name: `${bench}: ${title}: ${label}`, value, measured }],
    ),
  );
  const height = CHART.head + rows.length * CHART.row + 10;
  const center = CHART.labels + (CHART.width - CHART.labels) / 2;
  const half = (CHART.width - CHART.labels) / 2 - 40;
  const bars = rows.map(({ name, value, measured }, at) => {
    const y = CHART.head + at * CHART.row;
    const score = Math.min(SCALE_MAX, Math.max(1 / SCALE_MAX, scoreOf(measured)));
    const length = (Math.log10(score) / Math.log10(SCALE_MAX)) * half;
    const color = isReached(measured) ? "#2a7f3f" : "#b3261e";
    const x = Math.min(center, center + length);
    return `<text x="0" y="${y + 12}">${escapeText(shorten(name))}</text><rect x="${x.toFixed(1)}" y="${y + 2}" width="${Math.max(1, Math.abs(length)).toFixed(1)}" height="12" fill="${color}"><title>${escapeText(`${name}: ${value}`)}</title></rect>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${CHART.width}" height="${height}" viewBox="0 0 ${CHART.width} ${height}" font-family="system-ui, sans-serif" font-size="11" fill="currentColor" role="img" aria-label="The rows against their aims">
<text x="${center - half}" y="14">ten times worse than the aim</text><text x="${center}" y="28" text-anchor="middle">aim</text><text x="${center + half}" y="14" text-anchor="end">ten times better</text>
<line x1="${center}" x2="${center}" y1="32" y2="${height}" stroke="currentColor"/>
${bars.join("\n")}
</svg>`;
}

/** Characters of a label in the chart: what the room beside the bars takes. */
const LABEL_MAX = 92;

function shorten(name: string): string {
  return name.length <= LABEL_MAX ? name : `${name.slice(0, LABEL_MAX - 1)}…`;
}

/** Returns how an aim reads: `at most 50 ms`. */
export function aimOf({ measured }: Figure): string {
  if (measured === undefined) return "";
  const bound = measured.better === "higher" ? "at least" : "at most";
  return `${bound} ${measured.aim} ${measured.unit}`.trim();
}

/** Returns `reached` or `MISSED`, or nothing for a figure without an aim. */
export function verdictOf({ measured }: Figure): string {
  if (measured === undefined) return "";
  return isReached(measured) ? "reached" : "MISSED";
}

function cellsOf(figure: Figure): readonly string[] {
  return [figure.label, figure.value, aimOf(figure), verdictOf(figure)];
}

/** Returns the line with processor time and memory of a section. */
export function usageOf({ usage, referenceMs }: Section): string {
  const daemon =
    usage.daemonMiB === 0
      ? ""
      : `daemon ${usage.daemonSeconds.toFixed(1)} s and at most ${usage.daemonMiB.toFixed(0)} MiB, `;
  return `Processor time and memory: ${daemon}benchmark ${usage.ownSeconds.toFixed(1)} s; the fixed work took ${referenceMs.toFixed(1)} ms.`;
}

function comparedCells({
  name,
  before,
  ratio,
  change,
  hasFallen,
}: Compared): readonly [string, string, string, string] {
  const percent = `${change > 0 ? "+" : ""}${(change * 100).toFixed(0)} %`;
  return [name, String(before), String(ratio), hasFallen ? `${percent} FALLEN` : percent];
}

function escapeCell(text: string): string {
  return text.replaceAll("|", String.raw`\|`);
}

function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
