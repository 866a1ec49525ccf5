import { describe, expect, test } from "vitest";
import { toChart, toHtml, toMarkdown } from "../../../bench/report.ts";
import {
  compareWith,
  mergeBaseline,
  toBaseline,
  type Figure,
  type Measured,
  type Section,
} from "../../../bench/results.ts";

const figure = (label: string, measured: Measured): Figure => ({
  label,
  value: `${measured.value} ${measured.unit}`.trim(),
  measured,
});

const section = (figures: readonly Figure[], more: Partial<Section> = {}): Section => ({
  bench: "http",
  title: "Routes",
  why: "A person waits.",
  figures,
  usage: { daemonSeconds: 1.25, ownSeconds: 0.5, daemonMiB: 0 },
  referenceMs: 10,
  ...more,
});

const ratioRow = (value: number) =>
  figure("ratio", { value, unit: "", better: "higher", aim: 0.6 });
const timeRow = (value: number) => figure("page", { value, unit: "ms", better: "lower", aim: 60 });

/** The only row of two runs, compared. */
const change = (before: Section, now: Section) =>
  compareWith(toBaseline([before]), toBaseline([now])).map(({ hasFallen }) => hasFallen);

describe("the comparison with the baseline", () => {
  test("fails a row that lost more than a fifth, in the direction in which it is worse", () => {
    expect(change(section([ratioRow(1)]), section([ratioRow(0.79)]))).toEqual([true]);
    expect(change(section([ratioRow(1)]), section([ratioRow(0.81)]))).toEqual([false]);
    expect(change(section([ratioRow(1)]), section([ratioRow(3)]))).toEqual([false]);
    expect(change(section([timeRow(20)]), section([timeRow(26)]))).toEqual([true]);
    expect(change(section([timeRow(20)]), section([timeRow(24)]))).toEqual([false]);
    expect(change(section([timeRow(20)]), section([timeRow(2)]))).toEqual([false]);
  });

  test("divides times by the fixed work of their run, so a slower machine changes nothing", () => {
    const slow = { referenceMs: 30 };
    expect(change(section([timeRow(20)]), section([timeRow(60)], slow))).toEqual([false]);
    expect(change(section([timeRow(20)]), section([timeRow(80)], slow))).toEqual([true]);
    const rate = (value: number) =>
      figure("rate", { value, unit: "/s", better: "higher", aim: 1_000 });
    expect(change(section([rate(3_000)]), section([rate(1_000)], slow))).toEqual([false]);
    expect(change(section([rate(3_000)]), section([rate(700)], slow))).toEqual([true]);
    const seconds = figure("copy", { value: 0.02, unit: "s", better: "lower", aim: 1 });
    expect(toBaseline([section([seconds])])).toEqual({
      "http: Routes: copy": { ratio: 2, better: "lower" },
    });
  });

  test("a run of a part replaces the rows of its sections, and keeps those of all others", () => {
    const others = section([ratioRow(3)], { bench: "git" });
    const before = toBaseline([section([ratioRow(1), timeRow(20)]), others]);
    expect(mergeBaseline(before, [section([ratioRow(2)])])).toEqual({
      "git: Routes: ratio": { ratio: 3, better: "higher" },
      "http: Routes: ratio": { ratio: 2, better: "higher" },
    });
    expect(mergeBaseline(before, [])).toEqual(before);
  });

  test("holds bytes and percentages against their aim, because they may be near zero", () => {
    const memory = (value: number) =>
      figure("memory above idle", { value, unit: "MiB", better: "lower", aim: 64 });
    expect(change(section([memory(2)]), section([memory(12)]))).toEqual([false]);
    expect(change(section([memory(2)]), section([memory(20)]))).toEqual([true]);
  });

  test("compares the highest memory of a daemon, and leaves out what only one run has", () => {
    const daemon = (daemonMiB: number) =>
      section([], { usage: { daemonSeconds: 1, ownSeconds: 1, daemonMiB } });
    expect(change(daemon(100), daemon(130))).toEqual([true]);
    expect(change(section([ratioRow(1)]), section([timeRow(20)]))).toEqual([]);
    expect(toBaseline([section([ratioRow(Number.NaN)])])).toEqual({});
  });
});

describe("the report", () => {
  const sections = [
    section([
      ratioRow(0.5),
      timeRow(20),
      { label: "bare | <b>handler</b>", value: "60,000 req/s" },
    ]),
  ];
  const compared = compareWith(toBaseline([section([ratioRow(1)])]), toBaseline(sections));
  const whole = { sections, compared, failed: ["git"], machine: "a machine" };

  test("names in Markdown each row with its aim, why, processor time, memory and change", () => {
    const text = toMarkdown(whole);
    expect(text).toContain("A person waits.");
    expect(text).toContain("| ratio | 0.5 | at least 0.6 | MISSED |");
    expect(text).toContain("| page | 20 ms | at most 60 ms | reached |");
    expect(text).toContain(String.raw`| bare \| <b>handler</b> | 60,000 req/s |  |  |`);
    expect(text).toContain("benchmark 0.5 s; the fixed work took 10.0 ms");
    expect(text).toContain("| http: Routes: ratio | 1 | 0.5 | -50 % FALLEN |");
    expect(text).toContain("Failed: git");
  });

  test("shows as a chart one bar a row with an aim, and escapes labels in it and in the page", () => {
    const chart = toChart([section([ratioRow(0.5), timeRow(20), figureNamed("a < b & c")])]);
    expect(chart.match(/<rect /g)).toHaveLength(3);
    expect(chart).toContain("a &lt; b &amp; c");
    const page = toHtml(whole);
    expect(page).toContain("<svg");
    expect(page).toContain("&lt;b&gt;handler&lt;/b&gt;");
    expect(page).not.toContain("<b>");
  });

  test("clips bars at ten times, and draws none for a value of zero", () => {
    const chart = toChart([section([ratioRow(600), ratioRow(0)])]);
    expect(chart.match(/<rect /g)).toHaveLength(1);
    expect(Number(/width="([\d.]+)" height="12"/.exec(chart)?.[1])).toBeCloseTo(230, 0);
  });
});

function figureNamed(label: string): Figure {
  return figure(label, { value: 1, unit: "", better: "higher", aim: 1 });
}
