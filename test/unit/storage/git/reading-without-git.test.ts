import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readPlainConfig } from "../../../../storage/git/plain-config.ts";
import { readBranchesOnDisk } from "../../../../storage/git/refs-on-disk.ts";
import { createGitClient, type GitClient } from "../../../support/forge/git-client.ts";

let git: GitClient;
let count = 0;

beforeAll(async () => {
  git = await createGitClient();
  for (const format of ["sha1", "sha256"]) {
    await git.run("init", "-q", "-b", "main", `--object-format=${format}`, format);
    await git.in(format, "commit", "-q", "--allow-empty", "-m", "one");
    for (const branch of ["side", "feature/deep/er", "v1.2", "a-b"])
      await git.in(format, "branch", branch);
    await git.in(format, "tag", "-a", "-m", "tag", "v1");
  }
});
afterAll(() => git[Symbol.asyncDispose]());

async function clone(format: "sha1" | "sha256" = "sha1"): Promise<string> {
  count += 1;
  const folder = join(git.folder, `bare-${count}.git`);
  await git.run("clone", "-q", "--bare", format, folder);
  return folder;
}

async function read(folder: string, format: "sha1" | "sha256" = "sha1") {
  const names = new Set(await readdir(folder, { recursive: true }));
  const files = await readdir(join(folder, "refs/heads"), { recursive: true, withFileTypes: true });
  const heads = files
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
  return readBranchesOnDisk(folder, { names, heads }, format);
}

async function byGit(folder: string): Promise<string[]> {
  const { output } = await git.run(
    "--git-dir",
    folder,
    "for-each-ref",
    "--format=%(refname)",
    "refs/heads/",
  );
  return output
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.slice("refs/heads/".length));
}

describe("branches", () => {
  test.each(["sha1", "sha256"] as const)(
    "of a repository of %s are those that git sees, packed, loose and both",
    async (format) => {
      const folder = await clone(format);
      const packed = await read(folder, format);
      expect(packed).toEqual({ branches: await byGit(folder), head: "main" });
      expect(packed?.branches).toContain("feature/deep/er");
      await git.run("--git-dir", folder, "branch", "loose", "main");
      await git.run("--git-dir", folder, "branch", "-D", "side");
      await git.run("--git-dir", folder, "branch", "-f", "v1.2", "main");
      expect(await read(folder, format)).toEqual({ branches: await byGit(folder), head: "main" });
    },
  );

  test("an empty repository has none", async () => {
    await git.run("init", "-q", "--bare", "-b", "trunk", "empty.git");
    expect(await read(join(git.folder, "empty.git"))).toEqual({ branches: [], head: "trunk" });
  });

  test.each<[string, (folder: string) => Promise<unknown>]>([
    [
      "a ref to a ref",
      (folder) => writeFile(join(folder, "refs/heads/x"), "ref: refs/heads/main\n"),
    ],
    ["a ref that is garbage", (folder) => writeFile(join(folder, "refs/heads/x"), "zzz\n")],
    [
      "a ref of the other format",
      (folder) => writeFile(join(folder, "refs/heads/x"), "a".repeat(64)),
    ],
    [
      "a name that git refuses",
      (folder) => writeFile(join(folder, "refs/heads/x..y"), "a".repeat(40)),
    ],
    ["a lock", (folder) => writeFile(join(folder, "refs/heads/main.lock"), "")],
    ["a HEAD at a commit", (folder) => writeFile(join(folder, "HEAD"), `${"a".repeat(40)}\n`)],
    ["packed refs of another kind", (folder) => writeFile(join(folder, "packed-refs"), "odd\n")],
    ["refs in a table", (folder) => mkdir(join(folder, "reftable"))],
    ["no folder of objects", (folder) => rm(join(folder, "objects"), { recursive: true })],
  ])("%s is left to git", async (_what, change) => {
    const folder = await clone();
    await change(folder);
    expect(await read(folder)).toBeUndefined();
  });
});

describe("configuration", () => {
  test("as git writes it is what git reads", async () => {
    const folder = await clone("sha256");
    const settings = readPlainConfig(await readFile(join(folder, "config"), "utf8"));
    const listed = (await git.run("config", "--file", join(folder, "config"), "--list")).output
      .trim()
      .split("\n");
    expect([...(settings ?? [])].map(([key, value]) => `${key}=${value}`)).toEqual(listed);
    expect(settings?.get("extensions.objectformat")).toBe("sha256");
    expect(settings?.has("remote.origin.url")).toBe(true);
  });

  test.each([
    "[core]\n\tbare\n",
    '[core]\n\tbare = "true"\n',
    "[core]\n\tbare = true # yes\n",
    "[core] bare = true\n",
    "[core]\n\tx = a\\\n",
    "\tbare = true\n",
    '[a "b\\"c"]\n\tx = y\n',
    "[core]\r\n\tbare = true\r\n",
    "[a.b]\n\tx = y\n",
  ])("anything else is left to git: %j", (text) => expect(readPlainConfig(text)).toBeUndefined());
});
