import { expect, test } from "vitest";
import { markChanges, parseDiff, parseHunks } from "../../../../../daemon/forge/pages/diff-text.ts";

test("a diff has the names, notes and numbered lines of its files", () => {
  const [changed, moved, binary] = parseDiff(`diff --git a/a b/a
index 1..2 100644
--- a/a
+++ b/a
@@ -1,3 +1,3 @@ top
 same
--- removed
+++ added
 end
\\ No newline at end of file
diff --git "a/old \\"x\\"" "b/new \\303\\244"
similarity index 100%
rename from "old \\"x\\""
rename to "new \\303\\244"
diff --git a/x.bin b/x.bin
new file mode 100644
Binary files /dev/null and b/x.bin differ
`);
  expect(changed).toMatchObject({ path: "a", additions: 1, deletions: 1, notes: [] });
  expect(changed?.hunks[0]?.lines).toEqual([
    { kind: "same", text: "same", before: 1, after: 1 },
    { kind: "del", text: "-- removed", before: 2, after: undefined },
    { kind: "add", text: "++ added", before: undefined, after: 2 },
    { kind: "same", text: "end", before: 3, after: 3 },
    { kind: "note", text: " No newline at end of file", before: undefined, after: undefined },
  ]);
  expect(moved).toMatchObject({ path: "new ä", notes: [`renamed from old "x"`] });
  expect(binary).toMatchObject({ path: "x.bin", hunks: [], notes: ["new file", "binary"] });
});

const marks = (before: string, after: string) => {
  const [hunk] = parseHunks(["@@ -1 +1 @@", `-${before}`, `+${after}`]);
  const marked = markChanges(hunk?.lines ?? []);
  return hunk?.lines.map((line) =>
    marked
      .get(line)
      ?.map(({ text, isChanged }) => (isChanged ? `[${text}]` : text))
      .join(""),
  );
};

test("what differs between a line and its replacement is marked, but not where they share little", () => {
  expect(marks("const one = 1;", "const two = 1;")).toEqual([
    "const [one] = 1;",
    "const [two] = 1;",
  ]);
  expect(marks("aaaa", "aaa")).toEqual(["aaa[a]", "aaa[]"]);
  expect(marks("completely", "different")).toEqual([undefined, undefined]);
  // Both faces have the same first half of a surrogate pair.
  expect(marks("smile \u{1f600} here", "smile \u{1f601} here")).toEqual([
    "smile [\u{1f600}] here",
    "smile [\u{1f601}] here",
  ]);
  expect(marks("x".repeat(600), `${"x".repeat(599)}y`)).toEqual([undefined, undefined]);
});

test("runs of different length are not compared line by line", () => {
  const [hunk] = parseHunks(["@@ -1,2 +1 @@", "-one", "-two", "+one!"]);
  expect(markChanges(hunk?.lines ?? []).size).toBe(0);
});
