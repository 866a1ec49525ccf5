import { createHash } from "node:crypto";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hashFiles } from "../../../cli/runner/job/hash-files.ts";
import { temporaryHome } from "../support/run-cli.ts";

const FILES = ["a.txt", "b.md", "src/a.txt", "src/.hidden/b.txt", "src/c.md", "other/a+b.txt"];
let home: Awaited<ReturnType<typeof temporaryHome>>;

beforeAll(async () => {
  home = await temporaryHome();
  for (const path of FILES) {
    await mkdir(dirname(join(home.path, path)), { recursive: true });
    await writeFile(join(home.path, path), `text of ${path}`);
  }
  await symlink("/etc/hostname", join(home.path, "outside"));
  await symlink("src", join(home.path, "linked"));
  await symlink("nowhere", join(home.path, "dangling"));
});
afterAll(() => home[Symbol.asyncDispose]());

const hash = (...patterns: string[]) => hashFiles(home.path, patterns);

test.each([
  ["a file of any depth, below a hidden folder as well", ["**/b.txt"], ["src/.hidden/b.txt"]],
  ["everything below a folder", ["src"], ["src/**"]],
  ["a folder with a slash at its end", ["./src/"], ["src"]],
  ["an exclusion", ["src/*", "!src/*.md"], ["src/a.txt", "src/.hidden/b.txt"]],
  [
    "a later pattern that takes an excluded file back",
    ["src/*.txt", "src/*.md", "!**/*.md", "src/c.md"],
    ["src/a.txt", "src/c.md"],
  ],
  [
    "an exclusion in front of all patterns, which has no effect",
    ["!src/a.txt", "src/a.txt"],
    ["src/a.txt"],
  ],
  ["lines of one pattern, with comments", ["a.txt\n# no file\n\n  b.md"], ["a.txt", "b.md"]],
  ["patterns in any order", ["b.md", "a.txt"], ["a.txt", "b.md"]],
  ["any character of a name", ["?.txt"], ["a.txt"]],
  ["a character of a set", ["src/[a-b].txt"], ["src/a.txt"]],
  ["a folder behind a link that a pattern names", ["linked/*.md"], ["linked/c.md"]],
  ["a plus sign as itself", ["other/a+b.txt"], ["other/*"]],
])("hashes %s", async (_what, patterns, same) => {
  expect(await hash(...patterns)).toMatch(/^[0-9a-f]{64}$/);
  expect(await hash(...patterns)).toBe(await hash(...same));
});

test("hashes a pattern that begins with the path of the workspace", async () => {
  expect(await hash(join(home.path, "src"))).toBe(await hash("src"));
  expect(await hashFiles(home.path, ["/workspace/src"], { patternRoot: "/workspace" })).toBe(
    await hash("src"),
  );
  expect(await hashFiles(home.path, ["/etc/hostname"], { patternRoot: "/workspace" })).toBe("");
});

test.each([["nothing"], ["outside"], ["../**"], ["src/?.md/x"], ["*.TXT/"], ["!a.txt"]])(
  "returns an empty text for %s",
  async (pattern) => expect(await hash(pattern)).toBe(""),
);

test("different files have different hashes", async () => {
  expect(await hash("a.txt")).not.toBe(await hash("src/a.txt"));
});

test("refuses a pattern that is not closed", async () => {
  await expect(hash("[a")).rejects.toThrow("hashFiles: a pattern is invalid");
});

test("ignores a link that leads nowhere", async () => {
  expect(await hash("*")).toMatch(/^[0-9a-f]{64}$/);
});

test("the hash is that of the hashes of the files by path, and no link leads out of the workspace", async () => {
  await using outer = await temporaryHome();
  const root = join(outer.path, "workspace");
  await mkdir(join(root, "deep"), { recursive: true });
  await writeFile(join(outer.path, "outside.lock"), "outside");
  await writeFile(join(root, "a.lock"), "one");
  await writeFile(join(root, "deep", "b.lock"), "two");
  await symlink(join(outer.path, "outside.lock"), join(root, "c.lock"));
  const hash = (text: string | Buffer) => createHash("sha256").update(text).digest();
  const both = hash(Buffer.concat([hash("one"), hash("two")])).toString("hex");
  expect(await hashFiles(root, ["**/*.lock"])).toBe(both);
  expect(await hashFiles(root, ["deep/*.lock", "a.lock"])).toBe(both);
  expect(await hashFiles(root, ["**/*.lock", "!deep/**"])).toBe(hash(hash("one")).toString("hex"));
  expect(await hashFiles(root, ["*.none"])).toBe("");
});
