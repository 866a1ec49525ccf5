import { expect, test } from "vitest";
import { createSectionedLog, type LogLine } from "../../../cli/ui/run/log-sections.ts";

const at = "2026-01-01T00:00:00.000Z";
const rows = (...texts: string[]) => texts.map((text) => `${at} ${text}\n`).join("");
const show = (lines: readonly LogLine[]) =>
  lines.map((line) =>
    line.kind === "row"
      ? "  ".repeat(line.depth) + line.text
      : `${"  ".repeat(line.section.depth)}${line.isFolded ? ">" : "v"} ${line.section.title}`,
  );

/** Steps as a job has them; without a first row the runner has not reported it yet. */
const steps = (...named: readonly (string | readonly [name: string, begin: number])[]) =>
  named.map((each, number) => ({
    name: typeof each === "string" ? each : each[0],
    number,
    status: "in_progress" as const,
    started_at: at,
    completed_at: at,
    log_index: typeof each === "string" ? 0 : each[1],
    log_length: 0,
  }));

const log = rows(
  "Runner r.",
  "::group::Run echo one",
  "echo one",
  "::endgroup::",
  "one",
  "::group::Own group",
  "inside",
  "::endgroup::",
  "after",
  "::group::Say mira",
  "::endgroup::",
  "two",
);

test("rows are sections of steps, with the groups of a step in them", () => {
  const sections = createSectionedLog(steps("Run echo one", "Say ${{ github.actor }}"));
  sections.append(log);
  expect(show(sections.lines())).toEqual([
    "  Runner r.",
    "v Run echo one",
    "  one",
    "  v Own group",
    "    inside",
    "  after",
    "v Say mira",
    "  two",
  ]);
  expect(sections.length).toBe(12);
});

test("a folded group hides its rows only, a folded step everything in it", () => {
  const sections = createSectionedLog(steps("Run echo one", "Say ${{ github.actor }}"));
  sections.append(log);
  const headOf = (title: string) => {
    const found = sections
      .lines()
      .find((line) => line.kind === "head" && line.section.title === title);
    return found?.kind === "head" ? found.section.id : -1;
  };
  sections.toggle(headOf("Own group"));
  expect(show(sections.lines()).slice(2, 5)).toEqual(["  one", "  > Own group", "  after"]);
  sections.toggle(headOf("Run echo one"));
  expect(show(sections.lines())).toEqual(["  Runner r.", "> Run echo one", "v Say mira", "  two"]);
  sections.toggleAll();
  expect(show(sections.lines())).toEqual(["  Runner r.", "> Run echo one", "> Say mira"]);
  sections.append(rows("three"));
  sections.toggleAll();
  expect(show(sections.lines()).at(-1)).toBe("  three");
});

test("the steps of Gitea's runner program are recognized too", () => {
  const sections = createSectionedLog(steps("Run echo one"));
  sections.append(rows("⭐ Run Main Run echo one", "one"));
  expect(show(sections.lines())).toEqual(["v Run echo one", "  one"]);
});

test("steps of one name start at the rows that the job names", () => {
  const sections = createSectionedLog(steps("Run make"));
  const part = (text: string) => ["::group::Run make", "::endgroup::", text];
  // The first step prints a row that looks like the start of the second one.
  sections.append(rows("Runner r.", ...part("one"), ...part("of the first"), ...part("two")));
  sections.setSteps(steps(["Run make", 1], ["Run make", 7]));
  expect(show(sections.lines())).toEqual([
    "  Runner r.",
    "v Run make",
    "  one",
    "  v Run make",
    "  of the first",
    "v Run make",
    "  two",
  ]);
  const [, first] = sections.lines();
  if (first?.kind !== "head") throw new Error("no head");
  sections.toggle(first.section.id);
  expect(show(sections.lines())).toEqual(["  Runner r.", "> Run make", "v Run make", "  two"]);
});

test("skipped steps have no section, and rows without a head are under the last one", () => {
  const [first, second, third] = steps("Run a", ["Run b", 1], ["Run c", 2]);
  if (first === undefined || second === undefined || third === undefined) throw new Error("steps");
  const sections = createSectionedLog([
    first,
    { ...second, conclusion: "skipped" },
    { ...third, log_length: 2 },
  ]);
  sections.append(rows("one", "two", "three", "four"));
  expect(show(sections.lines())).toEqual(["  one", "  two", "v Run c", "  three", "  four"]);
});

test("of a long log the first rows are dropped", () => {
  const sections = createSectionedLog([]);
  for (let part = 0; part < 30; part += 1)
    sections.append(
      rows(...Array.from({ length: 1_000 }, (_, row) => `row ${part * 1_000 + row}`)),
    );
  expect(sections.lines()).toHaveLength(20_000);
  expect(show(sections.lines()).at(-1)).toBe("  row 29999");
  expect(sections.length).toBe(30_000);
});

test("expressions in the name of a step stand for any text", () => {
  const heads = (name: string, title: string) => {
    const sections = createSectionedLog(steps(name));
    sections.append(rows(`::group::${title}`));
    return sections.lines().map((line) => line.kind === "head" && line.section.depth);
  };
  const isHead = (name: string, title: string) => heads(name, title)[0] === 0;
  expect(isHead("Say ${{ a }} to ${{ b }}.", "Say good (bye) to all.")).toBe(true);
  expect(isHead("Say ${{ a }} to ${{ b }}.", "Say good bye.")).toBe(false);
  expect(isHead("ab${{ x }}ba", "aba")).toBe(false);
  expect(isHead("${{ x", "${{ x")).toBe(true);
  // As a regular expression, this would not end.
  expect(isHead(`${"${{ x }}a".repeat(40)}!`, "a".repeat(5_000))).toBe(false);
});
