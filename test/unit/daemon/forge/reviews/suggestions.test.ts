import { expect, test } from "vitest";
import { followLine } from "../../../../../daemon/forge/reviews/followed-lines.ts";
import {
  findSuggestion,
  replaceLines,
  withoutSuggestion,
} from "../../../../../daemon/forge/reviews/suggestions.ts";

test.each([
  ["Better:\n```suggestion\none\ntwo\n```\nmore", ["one", "two"]],
  ["```suggestion\r\none\r\n```\r\n", ["one"]],
  ["```suggestion\n```", []],
  ["```suggestion\n\n```", [""]],
  ["~~~ suggestion\n```\n~~~", ["```"]],
  ["````suggestion\n```\n````", ["```"]],
  ["```suggestion\nunclosed", ["unclosed"]],
  ["```ts\none\n```", undefined],
  ["suggestion", undefined],
])("the comment %j suggests %j", (comment, lines) => {
  expect(findSuggestion(comment)).toEqual(lines);
});

test.each([
  ["Better:\n```suggestion\none\ntwo\n```\nmore", "Better:\nmore"],
  ["a\r\n```suggestion\r\none\r\n```\r\nb", "a\nb"],
  ["  ```suggestion\n  ```\n", ""],
  ["````suggestion\n```\n````\n```suggestion\ntwo\n```", "```suggestion\ntwo\n```"],
  ["```suggestion\nunclosed", ""],
  ["```ts\none\n```", "```ts\none\n```"],
])("the comment %j says %j beside its suggestion", (comment, text) => {
  expect(withoutSuggestion(comment)).toBe(text);
});

test("a comment that opens blocks without end is read once, not from each of them", () => {
  const comment = "```suggestion\n".repeat(18_000);
  expect(findSuggestion(comment)).toHaveLength(18_000);
  expect(withoutSuggestion(comment)).toBe("");
});

const replace = (text: string, ...replacements: [number, ...string[]][]) =>
  replaceLines(
    Buffer.from(text, "latin1"),
    replacements.map(([line, ...lines]) => ({ line, lines })),
  )?.toString("latin1");

test("suggested lines replace lines and keep line ends and other bytes", () => {
  expect(replace("a\nb\nc\n", [2, "B"])).toBe("a\nB\nc\n");
  expect(replace("a\nb\nc\n", [1, "x", "y"], [3, "C"])).toBe("x\ny\nb\nC\n");
  expect(replace("a\r\nb\r\n", [2, "x", "y"])).toBe("a\r\nx\r\ny\r\n");
  expect(replace("\xff\nb", [2, "é"])).toBe("\xff\n\xc3\xa9");
  expect(replace("a\nb\n", [2])).toBe("a\n");
  expect(replace("a\nb", [2])).toBe("a\n");
  expect(replace("a", [1])).toBe("");
  expect(replace("a\n", [2, "x"])).toBeUndefined();
  expect(replace("", [1, "x"])).toBeUndefined();
});

test("a line is followed over changes before it, and lost when a change replaces it", () => {
  const diff = [
    "diff --git a/f b/f",
    "--- a/f",
    "+++ b/f",
    "@@ -2 +2,2 @@",
    "-@@ -1 +1 @@",
    "+new",
    "+new",
    "@@ -5,2 +5,0 @@ text",
    "-gone",
    "-gone",
    "@@ -9,0 +8,3 @@",
    "+added",
  ].join("\n");
  const lines = [1, 2, 3, 4, 5, 6, 7, 9, 10].map((line) => followLine(diff, line));
  expect(lines).toEqual([1, undefined, 4, 5, undefined, undefined, 6, 8, 12]);
  expect(followLine("", 7)).toBe(7);
  expect(followLine("diff --git a/f b/f\nBinary files a/f and b/f differ\n", 1)).toBeUndefined();
});
