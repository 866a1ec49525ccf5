import { execFileSync } from "node:child_process";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import {
  clientEnvironment,
  createGitClient,
  type GitClient,
} from "../../support/forge/git-client.ts";
import { createPullRepositories } from "../../support/forge/pull-repository.ts";

let daemon: TestDaemon;
let git: GitClient;
const people = createForgePeople(() => daemon);
const { by } = people;
const pulls = createPullRepositories(
  () => daemon,
  people,
  () => git,
);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  await people.newUser("mira");
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const LINES = Array.from({ length: 40 }, (_, line) => `line ${line}`).join("\n");
const NOTHING = "0".repeat(40);

/** Runs git in a clone with bytes on standard input. */
const feed = (folder: string, args: readonly string[], input: Buffer) =>
  execFileSync("git", args, {
    cwd: join(git.folder, folder),
    env: clientEnvironment(git.folder),
    input,
  })
    .toString()
    .trim();

/** What one pull request changes, in a clone. */
type Change = (folder: string) => Promise<void>;
const put = (folder: string, name: string, content: string | Buffer) =>
  writeFile(join(git.folder, folder, name), content);

const changes: Readonly<Record<string, Change>> = {
  "a#b%20c&d='e\"<i>": (folder) => put(folder, "odd & <b>name #1?.txt", "odd\n"),
  "ünïcode/⚙/-x": (folder) => put(folder, "ünïcode ⚙.txt", "text\n"),
  renames: async (folder) => {
    await git.in(folder, "mv", "long.txt", "moved.txt");
  },
  binary: (folder) => put(folder, "binary.bin", Buffer.from([0, 255, 1, 254, 0])),
  endings: (folder) => put(folder, "crlf.txt", "one\r\nTWO\r\nthree"),
  links: async (folder) => {
    await symlink("../../etc/passwd", join(git.folder, folder, "link"));
    const submodule = `160000,${"1".repeat(40)},module`;
    await git.in(folder, "update-index", "--add", "--cacheinfo", submodule);
  },
  bytes: async (folder) => {
    // A path that is not UTF-8, beside a file whose text is not.
    const blob = feed(folder, ["hash-object", "-w", "--stdin"], Buffer.from("caf\xe9\n", "latin1"));
    const entry = Buffer.from(`100644 ${blob}\tna\xefve.txt\0`, "latin1");
    feed(folder, ["update-index", "-z", "--index-info"], entry);
  },
  large: (folder) => put(folder, "large.txt", `${"x".repeat(1_000)}\n`.repeat(52_000)),
};

test("pull requests with hostile branches, paths and contents are shown everywhere, compared, reviewed and merged", async () => {
  const path = await pulls.create([]);
  const home = path.replace("/repos", "");
  await pulls.addFile(path, "main", "long.txt", LINES);
  await pulls.addFile(path, "main", "crlf.txt", "one\r\ntwo\r\nthree");
  await pulls.clone(path, "hostile", "main");
  const styles = ["merge", "rebase", "rebase-merge", "squash"];
  for (const [at, [branch, change]] of Object.entries(changes).entries()) {
    await git.in("hostile", "checkout", "-q", "-f", "-B", branch, "origin/main");
    await git.in("hostile", "clean", "-q", "-f", "-d");
    await change("hostile");
    // A path that exists in the index only stays as it is.
    if (branch !== "bytes") await git.in("hostile", "add", "--all", "--", ":!module");
    await git.in("hostile", "commit", "-q", "-m", `Change ${branch}`);
    const pushed = await git.in("hostile", "push", "-q", "origin", `HEAD:refs/heads/${branch}`);
    expect([branch, pushed.exitCode], pushed.errors).toEqual([branch, 0]);

    const encoded = branch.split("/").map(encodeURIComponent).join("/");
    const comparison = await daemon.request(`${home}/compare/main...${encoded}`);
    expect([branch, comparison.status]).toEqual([branch, 200]);
    expect(comparison.text).not.toContain("<i>");
    const opened = await pulls.open(path, branch);
    expect([branch, opened.status], opened.text).toEqual([branch, 201]);
    const { number } = opened.json;
    const pull = `${path}/pulls/${number}`;
    await pulls.expectPull(path, number, { mergeable: true, head: { label: branch } });

    const files = await by("mira", "GET", `${pull}/files`);
    expect([branch, files.status]).toEqual([branch, 200]);
    expect(files.json.length).toBeGreaterThan(0);
    for (const { filename, raw_url: raw, status } of files.json) {
      if (branch === "links" || branch === "bytes" || status === "deleted") continue;
      const content = await daemon.request(raw.slice(daemon.url.length));
      expect([filename, content.status]).toEqual([filename, 200]);
    }
    const found = await by("mira", "GET", `${path}/pulls/main/${encoded}`);
    expect([branch, found.json.number]).toEqual([branch, number]);
    const diff = await daemon.request(`${home}/pulls/${number}.diff`);
    expect([branch, diff.status, diff.text.startsWith("diff --git")]).toEqual([branch, 200, true]);
    for (const page of ["", "/files", "/commits"]) {
      const shown = await daemon.request(`${home}/pulls/${number}${page}`);
      expect([branch, page, shown.status]).toEqual([branch, page, 200]);
      expect(shown.text.length).toBeLessThan(4 * 1024 * 1024);
      expect(shown.text).not.toContain("<i>");
    }
    const reviewed = { event: "COMMENT", body: "Seen", comments: [] };
    expect((await by("mira", "POST", `${pull}/reviews`, reviewed)).status).toBe(200);

    const merged = await by("mira", "POST", `${pull}/merge`, {
      do: styles[at % styles.length],
      delete_branch_after_merge: true,
    });
    expect([branch, merged.status], merged.text).toEqual([branch, 200]);
    expect((await by("mira", "GET", pull)).json).toMatchObject({
      merged: true,
      head: { ref: `refs/pull/${number}/head`, label: branch },
    });
    await git.in("hostile", "fetch", "-q", "origin");
  }
  const tree = await git.in("hostile", "ls-tree", "-r", "-z", "origin/main");
  for (const name of ["160000", "120000", "binary.bin", "moved.txt", "ünïcode ⚙.txt", "large.txt"])
    expect(tree.output).toContain(name);
  expect(tree.output).not.toContain(NOTHING);
});

test("names that are no branches and lines that a diff lacks are refused in words", async () => {
  const path = await pulls.create(["topic"]);
  for (const head of [
    "..",
    "a..b",
    "refs/heads/topic",
    "-x",
    "topic.lock",
    "a b",
    "\u0000",
    "@{1}",
  ]) {
    const { status, json } = await pulls.open(path, head);
    expect([head, status]).toEqual([head, expect.toBeOneOf([404, 422])]);
    expect(json.message).not.toBe("");
  }
  await pulls.open(path, "topic");
  for (const comment of [
    { path: "../etc/passwd", new_position: 1 },
    { path: "absent.txt", new_position: 1 },
    { path: "topic.txt", new_position: 9_999_999 },
    { path: "topic.txt", new_position: -1 },
    { path: ":(glob)*", new_position: 1 },
  ]) {
    const review = { event: "COMMENT", body: "?", comments: [{ body: "?", ...comment }] };
    const { status } = await by("mira", "POST", `${path}/pulls/1/reviews`, review);
    expect([comment.path, status]).toEqual([comment.path, expect.toBeOneOf([404, 422])]);
  }
});
