import { execFileSync } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readAttributes } from "../../../../storage/git/attributes.ts";
import { createGit } from "../../../../storage/git/git.ts";

const git = createGit({ searchPath: process.env["PATH"] ?? "" });
const input = "*.x linguist-vendored\n*.y linguist-language=A\n*.z -linguist-vendored\n";
let directory: string;
let id: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "croft-attributes-"));
  const options = { cwd: directory, encoding: "utf8" } as const;
  // Without an input: git may end before it could be written.
  execFileSync("git", ["init", "-q", "--bare"], options);
  id = execFileSync("git", ["hash-object", "-w", "--stdin"], { ...options, input }).trim();
});
afterAll(() => rm(directory, { recursive: true }));

const read = async (folders: readonly string[], paths: readonly string[]) => {
  const files = folders.map((folder) => ({ id, path: `${folder}.gitattributes` }));
  const names = ["linguist-vendored", "linguist-language"];
  const found: unknown[] = [];
  for await (const [path, values] of readAttributes(git, { files, paths, names }, { directory }))
    found.push([path, Object.fromEntries(values)]);
  return found;
};

test("attributes are read for odd names, and paths that git refuses are left out", async () => {
  const folders = ["", "git~1/", "../", "a/../", ".git/", ".GIT/", "\u200c.git/"];
  const vendored = ["a.x", "git~1/a.x", ":!e.x", "\u200c.git/a.x", "a\nb.x", "-f.x", "b/c d.x"];
  const refused = ["../b.x", "a/../c.x", ".git/d.x", "a//e.x"];
  expect(await read(folders, [...vendored, ...refused, "b.y", "c.z", "none"])).toEqual([
    ...vendored.map((path) => [path, { "linguist-vendored": true }]),
    ["b.y", { "linguist-language": "A" }],
    ["c.z", { "linguist-vendored": false }],
  ]);
});

test("the temporary index is deleted, also when git fails", async () => {
  const lost = { id: "1".repeat(39), path: ".gitattributes" };
  const request = { files: [lost], paths: ["a.x"], names: ["linguist-vendored"] };
  await expect(readAttributes(git, request, { directory }).next()).rejects.toThrow("update-index");
  const left = (await readdir(join(directory, "objects"))).filter((name) => /^tmp_/.test(name));
  expect(left).toEqual([]);
});
