import { expect, test } from "vitest";
import { parseBlame } from "../../../../storage/git/blame.ts";
import { parseMatches } from "../../../../storage/git/code-search.ts";
import { unquotePath } from "../../../../storage/git/quoted-path.ts";

const NEW = "a".repeat(40);
const OLD = "b".repeat(40);

test("a blame has its parts in the order of the file, and the details of a commit once", () => {
  const output = `${NEW} 3 3 1
author Noor <x>
author-mail <noor@example.org>
author-time 1700000000
author-tz +0200
committer Noor
committer-mail <noor@example.org>
committer-time 1700000000
committer-tz +0200
summary filename of a <b>
previous ${OLD} "a \\"name\\" \\303\\244.txt"
filename a.txt
${OLD} 1 1 2
author Mira
author-mail <mira@example.org>
author-time 1600000000
author-tz +0000
committer Mira
committer-mail <mira@example.org>
committer-time 1600000000
committer-tz +0000
summary first
boundary
filename a.txt
${NEW} 4 4 1
previous ${OLD} a.txt
filename a.txt
`;
  const { parts, commits } = parseBlame(output);
  expect(parts).toEqual([
    { commitId: OLD, firstLine: 1, lineCount: 2, previous: undefined },
    {
      commitId: NEW,
      firstLine: 3,
      lineCount: 1,
      previous: { commitId: OLD, path: 'a "name" ä.txt' },
    },
    { commitId: NEW, firstLine: 4, lineCount: 1, previous: { commitId: OLD, path: "a.txt" } },
  ]);
  expect(commits.get(NEW)).toEqual({
    id: NEW,
    author: { name: "Noor <x>", email: "noor@example.org" },
    authoredAt: "2023-11-15T00:13:20+02:00",
    summary: "filename of a <b>",
  });
});

test("matches of a search are grouped by path, long lines are cut around the text, and a cut record is left out", () => {
  const long = `${"x".repeat(1_000)}needle${"y".repeat(1_000)}`;
  const output = `id:a\nb.txt\0${3}\0one needle\r\nid:a\nb.txt\0${9}\0${long}\nid:c\0${1}\0Needle\nid:d\0${1}\0nee`;
  const matches = parseMatches(output, "id:", "needle");
  expect(matches.map(({ path }) => path)).toEqual(["a\nb.txt", "c"]);
  expect(matches[0]?.lines[0]).toEqual({ number: 3, text: "one needle" });
  expect(matches[0]?.lines[1]?.text).toHaveLength(300);
  expect(matches[0]?.lines[1]?.text).toContain("needle");
});

test("a path that git quotes is read with its escapes, bytes and characters", () => {
  expect(unquotePath("plain name")).toBe("plain name");
  expect(unquotePath('"tab\\there \\"x\\" \\\\ \\303\\244\\377"')).toBe('tab\there "x" \\ ä\ufffd');
});
