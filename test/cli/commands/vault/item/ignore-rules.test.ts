import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  matchesRule,
  parseIgnoreRule,
} from "../../../../../cli/commands/vault/item/ignore-rules.ts";
import { createSyncFilter } from "../../../../../cli/commands/vault/item/sync-filter.ts";
import { cases } from "../../../../support/property.ts";

const FILES = [
  ...["a", "b", "ab", "aab", "abab", "a.b", "a b", "A", "-", "]", "!a", "#a", "a]", "1", "_"],
  ...["a1/a", "a1/b", "b1/a", "b1/ab", "b1/a2/b", "b1/a2/a", "a3/b3/a", "a3/b3/c3/b", "c/a/b/ab"],
];
const FOLDERS = [
  ...new Set(FILES.flatMap((file) => [dirname(file), dirname(dirname(file))])),
].filter((folder) => folder !== ".");

const piece = fc.constantFrom(
  ...["a", "b", "a", "b", "1", "*", "*", "?", "**", "/", "/", ".", " ", "-"],
  ...["[ab]", "[!a]", "[^b]", "[a-c]", "[]a]", "[a", "[[:alpha:]]", "[[:digit:]_]", "[[:no:]]"],
  ...["[-a]", "[a-]", "[!-~]", "\\a", "\\*", "\\ ", "\\[", "[\\]a]", "#", "!"],
);
const line = fc
  .tuple(
    fc.constantFrom("", "", "", "!", "/", "**/", "\\!", "\\#"),
    fc.array(piece, { minLength: 1, maxLength: 5 }),
    fc.constantFrom("", "", "", "/", "/**", " ", "*", "\\"),
  )
  .map(([start, pieces, end]) => `${start}${pieces.join("")}${end}`)
  // git compares the letters in front of a pattern apart, and then takes `**` behind them for one at the start.
  .filter((text) => !/[^/!*]\*\*/.test(text));
const lines = fc.array(line, { minLength: 1, maxLength: 4 });

test("rules leave out what git leaves out by them, in subfolders too", async () => {
  const folder = await mkdtemp(join(tmpdir(), "croft-ignore-"));
  const git = (args: readonly string[], input = "") =>
    spawnSync("git", ["-C", folder, ...args], { input, encoding: "utf8" }).stdout;
  git(["init", "-q"]);
  for (const file of FILES) {
    mkdirSync(join(folder, dirname(file)), { recursive: true });
    writeFileSync(join(folder, file), "");
  }
  const paths = [...FILES, ...FOLDERS];
  const input = paths.map((path) => `${path}\0`).join("");
  fc.assert(
    fc.property(lines, lines, (top, below) => {
      writeFileSync(join(folder, ".gitignore"), `${top.join("\n")}\n`);
      writeFileSync(join(folder, "b1/.gitignore"), `${below.join("\n")}\n`);
      const filter = createSyncFilter({});
      filter.addRules("one", "", top.join("\n"));
      filter.addRules("one", "b1", below.join("\n"));
      // Four fields a path: file, line, pattern and path; the pattern of the last match is empty without one.
      const fields = git(["check-ignore", "--no-index", "-v", "-n", "-z", "--stdin"], input).split(
        "\0",
      );
      const byGit = paths.filter((_path, index) => {
        const pattern = fields[index * 4 + 2] ?? "";
        return pattern !== "" && !pattern.startsWith("!");
      });
      const byCroft = paths.filter((path) => filter.isIgnored(path, FOLDERS.includes(path)));
      expect(byCroft).toEqual(byGit);
    }),
    cases(60),
  );
  rmSync(folder, { recursive: true });
});

test("a rule of many wildcards is compared in steps that its length and that of the path bound", () => {
  const names = [...Array.from({ length: 40 }, () => "a".repeat(95)), "b"].map((name) => [...name]);
  const length = names.join("/").length;
  // A matcher that backtracks would take years.
  for (const pattern of [
    `${"*a".repeat(2_000)}c`,
    `${"**/*a*a*a*a/".repeat(100)}c`,
    `${"*?".repeat(2_000)}[!ab]`,
    `*${"a".repeat(47)}b`,
  ]) {
    const rule = parseIgnoreRule(pattern, "");
    const work = { steps: 0 };
    expect(rule && matchesRule(rule, names, { isFolder: false, work })).toBe(false);
    expect(work.steps).toBeLessThan(pattern.length * length);
  }
});

test("rules of a stranger that take too long for the files end a sync in words", () => {
  const filter = createSyncFilter({ stepsFirst: 1_000_000 });
  const name = "a".repeat(255);
  filter.addRules("one", "", `*${"a".repeat(126)}b\n`.repeat(2_000));
  const compare = () => {
    for (let at = 0; at < 1_000; at += 1)
      filter.isIgnored(`${at}/${`${name}/`.repeat(12)}x`, false);
  };
  expect(compare).toThrow("the rules of .croftignore take too long to compare");
});

test("many files of usual rules do not end a sync, and those of other folders are not compared", () => {
  const filter = createSyncFilter({});
  const usual = "node_modules/\n*.log\n/dist\n**/tmp/*.tmp\n!keep.log\n".repeat(20);
  filter.addRules("one", "", usual);
  for (let at = 0; at < 200; at += 1) filter.addRules("one", `project-${at}`, usual);
  for (let at = 0; at < 4_000; at += 1)
    expect(filter.isIgnored(`project-${at % 200}/src/deep/file-${at}.ts`, false)).toBe(false);
});

test("files of rules that are too large together end a sync in words", () => {
  const filter = createSyncFilter({});
  const add = (at: number) =>
    filter.addRules("other", `f${at}`, `${"#".repeat(4_000)}\n`.repeat(60));
  expect(() => {
    for (let at = 0; at < 100; at += 1) add(at);
  }).toThrow("all .croftignore together are larger than 4194304 bytes");
});
