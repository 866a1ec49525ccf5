import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";

let daemon: TestDaemon;
let git: GitClient;
/** The ids of the commits of `main`, oldest first. */
let ids: string[];
const people = createForgePeople(() => daemon);
const { by, api } = people;
const path = "/repos/mira/history";
const get = (rest: string) => by("mira", "GET", path + rest);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  await people.newUser("mira");
  await by("mira", "POST", "/user/repos", { name: "history" });
  await git.run("init", "-q", "-b", "main", "work");
  const folder = join(git.folder, "work");
  await mkdir(join(folder, "docs"));
  await writeFile(join(folder, "README.md"), "one\ntwo\n");
  await commit("first");
  await writeFile(join(folder, "README.md"), "one\nthree\nfour\n");
  await writeFile(join(folder, "docs", 'line\nbreak "quoted".txt'), "text\n");
  await symlink("README.md", join(folder, "link"));
  await commit("second\n\nWith a body.\n");
  await git.in("work", "checkout", "-q", "-b", "side", "HEAD~1");
  await writeFile(join(folder, "side.bin"), Buffer.from([0, 1, 2, 0]));
  await commit("side");
  await git.in("work", "checkout", "-q", "main");
  await git.in("work", "merge", "-q", "--no-ff", "-m", "merge", "side");
  const address = `${daemon.url.replace("://", `://mira:${people.tokenOf("mira")}@`)}/mira/history.git`;
  expect(await git.in("work", "push", "-q", address, "main", "side")).toMatchObject({
    exitCode: 0,
  });
  ids = (await git.in("work", "rev-list", "--reverse", "--first-parent", "main")).output
    .trim()
    .split("\n");
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

async function commit(message: string): Promise<void> {
  await git.in("work", "add", "-A");
  expect(await git.in("work", "commit", "-q", "-m", message)).toMatchObject({ exitCode: 0 });
}

describe("commits", () => {
  test("a page of commits has accounts, files, statistics and the paging headers", async () => {
    const listed = await get("/commits?limit=3");
    expect(listed.status).toBe(200);
    expect(
      Object.fromEntries([...listed.headers].filter(([name]) => name.startsWith("x-"))),
    ).toMatchObject({
      "x-page": "1",
      "x-perpage": "3",
      "x-total": "4",
      "x-total-count": "4",
      "x-pagecount": "2",
      "x-hasmore": "true",
    });
    const [merge] = listed.json;
    expect(merge).toMatchObject({
      sha: ids[2],
      author: { login: "mira" },
      commit: { message: "merge\n", author: { name: "Mira", email: "mira@example.org" } },
      files: [{ filename: "side.bin", status: "added" }],
      stats: { total: 0, additions: 0, deletions: 0 },
    });
    expect(merge.parents).toHaveLength(2);
    const last = await get("/commits?limit=3&page=2");
    expect(last.headers.get("x-hasmore")).toBe("false");
    expect(last.json).toHaveLength(1);
  });

  test("a commit counts lines and names files with line breaks", async () => {
    const found = await get(`/git/commits/${ids[1]}`);
    expect(found.json.stats).toEqual({ total: 5, additions: 4, deletions: 1 });
    expect(found.json.files).toContainEqual({
      filename: 'docs/line\nbreak "quoted".txt',
      status: "added",
    });
    expect(found.json.commit.message).toBe("second\n\nWith a body.\n");
    const bare = await get(`/git/commits/${ids[1]}?stat=false&files=false&verification=false`);
    expect(bare.json).toMatchObject({ files: null, stats: null, commit: { verification: null } });
  });

  test("commits are filtered by path, by period, and by another branch that lacks them", async () => {
    const messages = async (query: string) =>
      (await get(`/commits?${query}`)).json.map(
        (each: { commit: { message: string } }) => each.commit.message.split("\n")[0],
      );
    expect(await messages("path=README.md")).toEqual(["second", "first"]);
    expect(await messages("path=docs")).toEqual(["second"]);
    expect(await messages("sha=side")).toEqual(["side", "first"]);
    expect(await messages("sha=main&not=side")).toEqual(["merge", "second"]);
    expect(await messages("until=2001-01-01T00:00:00Z")).toEqual([]);
    expect((await get("/commits?path=none")).status).toBe(404);
    // A name of a pattern is a name.
    expect((await get("/commits?path=*.md")).status).toBe(404);
    expect((await get("/commits?sha=none")).status).toBe(404);
    expect((await get("/commits?since=yesterday")).status).toBe(422);
  });

  test("expressions of git are not names of commits", async () => {
    for (const name of [
      "main~1",
      "main^",
      "main@{0}",
      ":/first",
      "--all",
      "HEAD:README.md",
      "^main",
    ])
      expect((await get(`/git/commits/${encodeURIComponent(name)}`)).status).toBe(404);
    for (const name of ["main", "HEAD", ids[0]?.slice(0, 8)])
      expect((await get(`/git/commits/${name}`)).status).toBe(200);
  });

  test("an empty repository has no commits: 409", async () => {
    await by("mira", "POST", "/user/repos", { name: "empty" });
    const answer = await by("mira", "GET", "/repos/mira/empty/commits");
    expect([answer.status, answer.json.message]).toEqual([409, "Git Repository is empty."]);
    expect((await by("mira", "GET", "/repos/mira/empty/branches")).json).toEqual([]);
    expect((await by("mira", "GET", "/repos/mira/empty/git/refs")).json).toEqual([]);
  });

  test("a commit is served as a diff and as a patch that git applies", async () => {
    const diff = await get(`/git/commits/${ids[1]}.diff`);
    expect(diff.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(diff.text).toContain("-two\n+three\n+four\n");
    const patch = await get(`/git/commits/${ids[0]}.patch`);
    expect(patch.text).toMatch(/^From [0-9a-f]{40} /);
    await writeFile(join(git.folder, "0001.patch"), patch.text);
    await git.run("init", "-q", "applied");
    expect(await git.in("applied", "am", "-q", "../0001.patch")).toMatchObject({ exitCode: 0 });
    expect((await get("/git/commits/none.diff")).status).toBe(404);
  });

  test("two branches are compared as commits and as a diff", async () => {
    const compared = await get("/compare/side...main");
    expect(compared.json.total_commits).toBe(2);
    expect(compared.json.commits.map((each: { sha: string }) => each.sha)).toEqual([
      ids[2],
      ids[1],
    ]);
    const diff = await get("/compare/side...main?output=diff");
    expect(diff.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(diff.text).toContain("+three");
    expect(diff.text).not.toContain("side.bin");
    expect((await get("/compare/main..side?output=diff")).text).toContain("-three");
    // Ancestors of a revision may be compared and listed.
    expect((await get("/compare/main~1...main")).json.total_commits).toBe(2);
    expect((await get("/compare/side%5E...side")).json.total_commits).toBe(1);
    expect((await get("/commits?sha=main~1")).headers.get("x-total-count")).toBe("2");
    for (const expression of ["main~99", "main@{0}", "none~1", "~1", "main^{tree}"])
      expect((await get(`/compare/${encodeURIComponent(expression)}...main`)).status).toBe(404);
    expect((await get("/compare/main")).status).toBe(404);
    expect((await get("/compare/main...none")).status).toBe(404);
  });
});

describe("refs, trees and blobs", () => {
  test("a single ref is an object, and a prefix a list", async () => {
    const one = await get("/git/refs/heads/main");
    expect(one.json).toMatchObject({
      ref: "refs/heads/main",
      object: { type: "commit", sha: ids[2] },
    });
    expect((await get("/git/refs/heads")).json).toHaveLength(2);
    expect((await get("/git/refs")).headers.get("x-total-count")).toBe("2");
    expect((await get("/git/refs/heads/none")).status).toBe(404);
  });

  test("a tree is paged, flat or recursive", async () => {
    const flat = await get("/git/trees/main");
    expect(flat.json.tree.map((entry: { path: string }) => entry.path)).toEqual([
      "README.md",
      "docs",
      "link",
      "side.bin",
    ]);
    expect(flat.json).toMatchObject({ truncated: false, total_count: 4, page: 1 });
    const [readme, docs, link] = flat.json.tree;
    expect(readme).toMatchObject({ mode: "100644", type: "blob", size: 15 });
    expect(docs).toMatchObject({ mode: "040000", type: "tree", size: 0 });
    expect(link.mode).toBe("120000");
    const page = await get("/git/trees/main?recursive=true&per_page=2&page=2");
    expect(page.json).toMatchObject({ truncated: true, total_count: 5, page: 2 });
    expect(page.json.tree.map((entry: { path: string }) => entry.path)).toEqual([
      'docs/line\nbreak "quoted".txt',
      "link",
    ]);
    expect((await get(`/git/trees/${docs.sha}`)).json.total_count).toBe(1);
    expect((await get("/git/trees/none")).status).toBe(404);
    expect((await get(`/git/trees/${readme.sha}`)).status).toBe(404);
  });

  test("a blob comes in base64", async () => {
    const { json } = await get("/git/trees/main");
    const blob = await get(`/git/blobs/${json.tree[0].sha}`);
    expect(blob.json).toMatchObject({ encoding: "base64", size: 15 });
    expect(Buffer.from(blob.json.content, "base64").toString()).toBe("one\nthree\nfour\n");
    expect((await get(`/git/blobs/${ids[0]}`)).status).toBe(404);
    expect((await get("/git/blobs/main")).status).toBe(400);
  });

  test("commits of a private repository are hidden from anonymous callers", async () => {
    await by("mira", "POST", "/user/repos", { name: "closed", private: true, auto_init: true });
    for (const rest of [
      "/git/refs",
      "/git/trees/main",
      "/git/commits/main",
      "/compare/main...main",
    ])
      expect((await api("GET", `/repos/mira/closed${rest}`, undefined, "")).status).toBe(404);
  });
});

test("a push is added to the commit-graph, with which git finds last commits fast", async () => {
  const name = await people.newRepository("mira", { auto_init: true });
  const folder = join(
    daemon.home,
    "repositories/mira",
    `${name}.git`,
    "objects/info/commit-graphs",
  );
  const chain = async () =>
    (await readFile(join(folder, "commit-graph-chain"), "utf8").catch(() => "")).trim();
  await expect.poll(chain, { timeout: 60_000 }).not.toBe("");
  const first = await chain();
  const content = Buffer.from("x").toString("base64");
  await people.by("mira", "POST", `/repos/mira/${name}/contents/x`, { content });
  await expect.poll(chain, { timeout: 60_000 }).not.toBe(first);
  expect((await people.by("mira", "GET", `/repos/mira/${name}/commits?path=x`)).json).toHaveLength(
    1,
  );
});
