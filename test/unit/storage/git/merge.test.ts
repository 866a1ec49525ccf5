import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createGit } from "../../../../storage/git/git.ts";
import { commitTree, mergeTrees, rebase } from "../../../../storage/git/merge.ts";

const git = createGit({ searchPath: process.env["PATH"] ?? "" });
let directory: string;
const run = (args: readonly string[], input: Buffer | string = "") =>
  execFileSync("git", args, { cwd: directory, input, encoding: "utf8" }).trim();

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "croft-merge-"));
  run(["init", "-q", "--bare", "."]);
});
afterAll(() => rm(directory, { recursive: true }));

const merger = { name: "Mia", email: "mia@example.org", seconds: 1_800_000_000, zone: "+0000" };
const lines = (...texts: string[]) => `${texts.join("\n")}\n`;

type Files = Readonly<Record<string, string>>;

/** Writes a commit of the given files; folders are parts of the path. */
function commit(
  files: Files,
  parents: readonly string[],
  message = "change",
  author = "Ada",
): string {
  const person = `${author} <${author.toLowerCase()}@example.org> 1700000000 +0130`;
  const stream = [
    // A commit without `from` would continue the branch.
    "reset refs/heads/new",
    "",
    "commit refs/heads/new",
    `author ${person}`,
    `committer ${person}`,
    `data ${Buffer.byteLength(message)}`,
    message,
    ...parents.map((parent, index) => `${index === 0 ? "from" : "merge"} ${parent}`),
    "deleteall",
    ...Object.entries(files).flatMap(([path, text]) => [
      `M 100644 inline ${path}`,
      `data ${Buffer.byteLength(text)}`,
      text,
    ]),
    "done",
    "",
  ];
  run(["fast-import", "--quiet", "--done", "--force"], stream.join("\n"));
  return run(["rev-parse", "refs/heads/new"]);
}

const filesOf = (revision: string) => run(["ls-tree", "-r", "--name-only", revision]).split("\n");
const options = () => ({ directory });

describe("a merge of two commits", () => {
  test("has the changes of both sides in one tree", async () => {
    const base = commit({ a: lines("1", "2", "3", "4", "5"), b: "b\n" }, []);
    const ours = commit({ a: lines("one", "2", "3", "4", "5"), b: "b\n" }, [base]);
    const theirs = commit({ a: lines("1", "2", "3", "4", "five"), b: "b\n", c: "c\n" }, [base]);
    const merged = await mergeTrees(git, ours, theirs, options());
    expect(merged.kind).toBe("merged");
    const tree = merged.kind === "merged" ? merged.tree : "";
    expect(filesOf(tree)).toEqual(["a", "b", "c"]);
    expect(run(["cat-file", "blob", `${tree}:a`])).toBe(["one", "2", "3", "4", "five"].join("\n"));
  });

  test("names every file on which the sides disagree", async () => {
    const base = commit({ "d/a": "1\n", "d/b ä\tc": "1\n", gone: lines("1", "2") }, []);
    const ours = commit({ "d/a": "2\n", "d/b ä\tc": "2\n" }, [base]);
    const theirs = commit({ "d/a": "3\n", "d/b ä\tc": "3\n", gone: lines("1", "2", "3") }, [base]);
    const merged = await mergeTrees(git, ours, theirs, options());
    expect(merged).toEqual({ kind: "conflict", paths: ["d/a", "d/b ä\tc", "gone"] });
  });

  test("follows the file that one side renamed", async () => {
    const text = lines(...Array.from({ length: 20 }, (_, index) => `line ${index}`));
    const base = commit({ old: text }, []);
    const ours = commit({ new: text }, [base]);
    const theirs = commit({ old: text.replace("line 7", "seventh") }, [base]);
    const merged = await mergeTrees(git, ours, theirs, options());
    const tree = merged.kind === "merged" ? merged.tree : "";
    expect(filesOf(tree)).toEqual(["new"]);
    expect(run(["cat-file", "blob", `${tree}:new`])).toContain("seventh");
  });

  test("joins histories that share nothing", async () => {
    const ours = commit({ a: "a\n" }, []);
    const theirs = commit({ b: "b\n" }, [], "another beginning", "Ben");
    const merged = await mergeTrees(git, ours, theirs, options());
    expect(filesOf(merged.kind === "merged" ? merged.tree : "")).toEqual(["a", "b"]);
  });

  test("fails for a commit that does not exist", async () => {
    const ours = commit({ a: "a\n" }, []);
    await expect(mergeTrees(git, ours, "0".repeat(40), options())).rejects.toThrow("merge-tree");
  });
});

test("a commit has its parents in order, and nobody's name adds a line to it", async () => {
  const [first, second] = [commit({ a: "1\n" }, []), commit({ a: "2\n" }, [])];
  const tree = run(["rev-parse", `${first}^{tree}`]);
  const author = { ...merger, name: "Eve\nparent 0 <x>", email: "e\n>ve@example.org" };
  const id = await commitTree(
    git,
    { tree, parents: [first, second], author, committer: merger, message: "Title\n\nText ä\n" },
    options(),
  );
  expect(run(["cat-file", "commit", id])).toBe(
    [
      `tree ${tree}`,
      `parent ${first}`,
      `parent ${second}`,
      "author Eveparent 0 x <eve@example.org> 1800000000 +0000",
      "committer Mia <mia@example.org> 1800000000 +0000",
      "",
      "Title",
      "",
      "Text ä",
    ].join("\n"),
  );
});

describe("a rebase", () => {
  const base = { a: lines("1", "2", "3", "4", "5") };
  const rebaseOn = (onto: string, head: string) =>
    rebase(git, { onto, head, committer: merger }, options());

  test("applies commits in order with their authors and messages", async () => {
    const start = commit(base, []);
    const onto = commit({ a: lines("one", "2", "3", "4", "5") }, [start]);
    const first = commit({ ...base, b: "b\n" }, [start], "Add b\n\nBecause.\n", "Ada");
    const head = commit(
      { a: lines("1", "2", "3", "4", "five"), b: "b\n" },
      [first],
      "Say five",
      "Ben",
    );
    const rebased = await rebaseOn(onto, head);
    const tip = rebased.kind === "rebased" ? rebased.tip : "";
    expect(run(["log", "--format=%an %cn %s", `${onto}..${tip}`]).split("\n")).toEqual([
      "Ben Mia Say five",
      "Ada Mia Add b",
    ]);
    expect(run(["rev-parse", `${tip}~2`])).toBe(onto);
    expect(run(["log", "-1", "--format=%ad %B", "--date=raw", `${tip}~1`])).toBe(
      "1700000000 +0130 Add b\n\nBecause.",
    );
    expect(run(["cat-file", "blob", `${tip}:a`])).toBe(["one", "2", "3", "4", "five"].join("\n"));
  });

  test("names the commit and the files that conflict", async () => {
    const start = commit(base, []);
    const onto = commit({ a: lines("1", "2", "3", "4", "5", "6") }, [start]);
    const fine = commit({ ...base, b: "b\n" }, [start]);
    const conflicting = commit({ a: lines("1", "2", "3", "4", "5", "vi"), b: "b\n" }, [fine]);
    const head = commit({ a: lines("1", "2", "3", "4", "5", "vi"), b: "bb\n" }, [conflicting]);
    expect(await rebaseOn(onto, head)).toEqual({
      kind: "conflict",
      commit: conflicting,
      paths: ["a"],
    });
  });

  test("leaves out merges and what the other side has already, keeps commits that were empty", async () => {
    const start = commit(base, []);
    const add = commit({ ...base, b: "b\n" }, [start], "Add b");
    const empty = commit({ ...base, b: "b\n" }, [add], "Empty on purpose");
    const onto = commit({ ...base, b: "b\n" }, [start], "Add b elsewhere", "Ben");
    const merge = commit({ ...base, b: "b\n" }, [empty, onto], "Merge");
    const head = commit({ ...base, b: "b\n", c: "c\n" }, [merge], "Add c");
    const rebased = await rebaseOn(onto, head);
    const tip = rebased.kind === "rebased" ? rebased.tip : "";
    expect(run(["log", "--format=%s", `${onto}..${tip}`]).split("\n")).toEqual([
      "Add c",
      "Empty on purpose",
    ]);
  });

  test("drops a commit whose change the other side made in other words", async () => {
    const start = commit(base, []);
    const onto = commit({ a: lines("one", "2", "3", "4", "five") }, [start]);
    const head = commit({ a: lines("1", "2", "3", "4", "five") }, [start], "Say five");
    expect(await rebaseOn(onto, head)).toEqual({ kind: "rebased", tip: onto });
  });

  test("of commits on top of the other side changes nothing", async () => {
    const onto = commit(base, []);
    const head = commit({ ...base, b: "b\n" }, [onto]);
    expect(await rebaseOn(onto, head)).toEqual({ kind: "rebased", tip: head });
    expect(await rebaseOn(head, onto)).toEqual({ kind: "rebased", tip: head });
  });

  test("copies a message in any encoding byte by byte, without its signature", async () => {
    const start = commit(base, []);
    const onto = commit({ ...base, b: "b\n" }, [start]);
    const tree = run(["rev-parse", `${commit({ ...base, c: "c\n" }, [start])}^{tree}`]);
    const person = "<team@example.org> 1700000000 +0100\n";
    const raw = Buffer.concat([
      Buffer.from(`tree ${tree}\nparent ${start}\nauthor `),
      Buffer.from([0x4b, 0xfc]),
      Buffer.from(
        ` ${person}committer Team ${person}gpgsig -----BEGIN-----\n x\n -----END-----\nencoding ISO-8859-1\n\n`,
      ),
      Buffer.from([0x4b, 0xfc, 10]),
    ]);
    const head = run(["hash-object", "-t", "commit", "-w", "--stdin"], raw);
    const rebased = await rebaseOn(onto, head);
    const copied = execFileSync(
      "git",
      ["cat-file", "commit", rebased.kind === "rebased" ? rebased.tip : ""],
      {
        cwd: directory,
        encoding: "latin1",
      },
    );
    expect(copied).toMatch(/\nauthor K\xfc <team@example\.org> 1700000000 \+0100\ncommitter Mia /);
    expect(copied).toMatch(/\nencoding ISO-8859-1\n\nK\xfc\n$/);
    expect(copied).not.toContain("gpgsig");
  });

  test("of a first commit without parents adds its files", async () => {
    const onto = commit({ a: "a\n" }, []);
    const head = commit({ b: "b\n" }, [], "A beginning of its own");
    const rebased = await rebaseOn(onto, head);
    const tip = rebased.kind === "rebased" ? rebased.tip : "";
    expect(filesOf(tip)).toEqual(["a", "b"]);
    expect(run(["rev-parse", `${tip}~1`])).toBe(onto);
  });
});
