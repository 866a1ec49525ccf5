import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

// docs/threats.md names a test for each threat, and the reason where there is none.

const root = join(import.meta.dirname, "../..");
const [tested = "", untested = ""] = readFileSync(join(root, "docs/threats.md"), "utf8").split(
  "## Not tested",
);
const cellsOf = (text: string) =>
  text
    .split("\n")
    .filter((line) => /^\| (?!Threat \|)/.test(line))
    .map((line) =>
      line
        .split("|")
        .map((cell) => cell.trim())
        .slice(1, -1),
    );

const rows = cellsOf(tested);

test("the list of threats has not become shorter", () => {
  expect(rows.length).toBeGreaterThanOrEqual(100);
  expect(new Set(rows.map(([threat]) => threat)).size).toBe(rows.length);
  // Each has a reason.
  for (const cells of cellsOf(untested))
    expect(cells.filter((cell) => cell !== "")).toHaveLength(2);
});

test.each(rows.map(([threat = "", file = "", title = ""]) => [threat, file, title] as const))(
  "a test has the threat: %s",
  (_threat, file, title) => {
    expect(title).not.toBe("");
    expect(readFileSync(join(root, file.replaceAll("`", "")), "utf8")).toContain(title);
  },
);
