import { expect, test } from "vitest";
import { cutHunks, type DiffLine } from "../../../../daemon/forge/reviews/diff-hunk.ts";

const cutHunk = (text: string, line: DiffLine) => cutHunks(text, [line])[0];

const diff = [
  "diff --git a/file b/file",
  "index 1..2 100644",
  "--- a/file",
  "+++ b/file",
  "@@ -1,6 +1,6 @@",
  " one",
  " two",
  "-three",
  "+THREE",
  " four",
  " five",
  " six",
  "\\ No newline at end of file",
  "",
].join("\n");

test("a hunk ends with the line and has three lines before it", () => {
  expect(cutHunk(diff, { side: "new", line: 5 })).toBe(
    "@@ -3,3 +3,3 @@\n-three\n+THREE\n four\n five",
  );
  expect(cutHunk(diff, { side: "old", line: 3 })).toBe("@@ -1,3 +1,2 @@\n one\n two\n-three");
  expect(cutHunk(diff, { side: "new", line: 1 })).toBe("@@ -1,1 +1,1 @@\n one");
});

test("a line that the diff does not have is not found", () => {
  expect(cutHunk(diff, { side: "new", line: 7 })).toBeUndefined();
  expect(cutHunk(diff, { side: "old", line: 0 })).toBeUndefined();
  expect(cutHunk("", { side: "new", line: 1 })).toBeUndefined();
});

test("the lines of a new file have no counterpart", () => {
  const added = "@@ -0,0 +1,2 @@\n+a\n+b\n";
  expect(cutHunk(added, { side: "new", line: 2 })).toBe("@@ -0,0 +1,2 @@\n+a\n+b");
});

test("several lines are found at once, in the order in which they are wanted", () => {
  const wanted = [
    { side: "new", line: 3 },
    { side: "old", line: 9 },
    { side: "old", line: 1 },
    { side: "new", line: 3 },
  ] as const;
  expect(cutHunks(diff, wanted)).toEqual(wanted.map((line) => cutHunk(diff, line)));
});

test("long lines are cut, so that the hunks of many comments on one line stay small", () => {
  const long = `@@ -0,0 +1,5 @@\n+x${"🦊".repeat(100_000)}\n+b\n+${"c".repeat(100_000)}\n+d\n+e\n`;
  const hunk = cutHunk(long, { side: "new", line: 4 }) ?? "";
  expect(hunk.length).toBeLessThan(10_000);
  expect(hunk.isWellFormed()).toBe(true);
  expect(hunk.split("\n")).toHaveLength(5);
  expect(hunk.split("\n")[0]).toBe("@@ -0,0 +1,4 @@");
});
