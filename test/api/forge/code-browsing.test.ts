import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";

let daemon: TestDaemon;
let git: GitClient;
let ids: string[];
const people = createForgePeople(() => daemon);
const { by, api } = people;
const path = "/repos/mira/code";
const get = (rest: string) => by("mira", "GET", path + rest);

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  await people.newUser("mira");
  await by("mira", "POST", "/user/repos", { name: "code" });
  await git.run("init", "-q", "-b", "main", "work");
  const folder = join(git.folder, "work");
  await mkdir(join(folder, "src/deep"), { recursive: true });
  await writeFile(join(folder, "src/main.ts"), "one\ntwo\nthree\n");
  await writeFile(join(folder, "src/deep/Main.test.ts"), "a needle here\n");
  await writeFile(join(folder, "picture.bin"), Buffer.from([0, 1, 2, 0]));
  await commit("first");
  await git.in("work", "branch", "topic");
  await writeFile(join(folder, "src/main.ts"), "one\nNEEDLE\nthree\n");
  await commit("second <b>\n\nWith a body.\n");
  await git.in("work", "checkout", "-q", "topic");
  await writeFile(join(folder, "topic.txt"), "needle\n");
  await commit("topic");
  await writeFile(join(folder, "topic.txt"), "needle  \n");
  await commit("only white space");
  await git.in("work", "checkout", "-q", "main");
  const address = `${daemon.url.replace("://", `://mira:${people.tokenOf("mira")}@`)}/mira/code.git`;
  expect(await git.in("work", "push", "-q", address, "main", "topic")).toMatchObject({
    exitCode: 0,
  });
  ids = (await git.in("work", "rev-list", "--reverse", "main")).output.trim().split("\n");
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

async function commit(message: string): Promise<void> {
  await git.in("work", "add", "-A");
  expect(await git.in("work", "commit", "-q", "-m", message)).toMatchObject({ exitCode: 0 });
}

describe("browsing code", () => {
  test("the blame of a file names the commit of each line, and the one before it", async () => {
    const { status, json: body } = await get("/blame/src/main.ts?ref=main");
    expect(status).toBe(200);
    expect(body.parts).toEqual([
      { sha: ids[0], first_line: 1, lines: 1, previous: null },
      { sha: ids[1], first_line: 2, lines: 1, previous: { sha: ids[0], path: "src/main.ts" } },
      { sha: ids[0], first_line: 3, lines: 1, previous: null },
    ]);
    expect(body.commits.map((each: { summary: string }) => each.summary).toSorted()).toEqual([
      "first",
      "second <b>",
    ]);
    expect((await get("/blame/src/main.ts?ref=main")).json).toEqual(body);
    for (const missing of ["/blame/none", "/blame/src", "/blame/src/main.ts?ref=none"])
      expect((await get(missing)).status).toBe(404);
    expect((await get("/blame/..%2f..%2fetc")).status).toBe(422);
  });

  test("code is searched for a literal text in any letter case, without binary files", async () => {
    const found = await get("/code-search?q=needle");
    expect(found.json).toEqual({
      matches: [
        { path: "src/deep/Main.test.ts", lines: [{ number: 1, text: "a needle here" }] },
        { path: "src/main.ts", lines: [{ number: 2, text: "NEEDLE" }] },
      ],
      truncated: false,
    });
    expect((await get("/code-search?q=needle&ref=topic")).json.matches).toHaveLength(2);
    expect((await get("/code-search?q=n.*e")).json.matches).toEqual([]);
    expect((await get("/code-search?q=--help")).json.matches).toEqual([]);
    for (const refused of ["", "a%00b", "a%0ab", "x".repeat(201)])
      expect((await get(`/code-search?q=${refused}`)).status).toBe(422);
  });

  test("files are found by words of their paths, those with a matching name first", async () => {
    const { json: body, headers } = await get("/file-names?q=main");
    expect(body).toEqual({ files: ["src/main.ts", "src/deep/Main.test.ts"], truncated: false });
    expect(headers.get("x-total-count")).toBe("2");
    expect((await get("/file-names?q=deep%20MAIN")).json.files).toEqual(["src/deep/Main.test.ts"]);
    expect((await get("/file-names")).json.files).toHaveLength(3);
    expect((await get("/file-names?ref=none")).status).toBe(404);
    // Each path is compared with each word.
    expect((await get(`/file-names?q=${"a+".repeat(101)}`)).status).toBe(422);
    expect((await get(`/file-names?q=${"main+".repeat(40)}`)).json.files).toHaveLength(2);
  });

  test("contributors have their commits, and branches how far they have diverged", async () => {
    const { json: body, headers } = await get("/contributors?ref=topic");
    expect(body).toMatchObject([{ commits: 3, user: { login: "mira" } }]);
    expect(headers.get("x-total-count")).toBe("1");
    const branches = await get("/branch-divergence");
    expect(branches.json.toSorted(byName)).toEqual([
      { name: "main", ahead: 0, behind: 0 },
      { name: "topic", ahead: 2, behind: 1 },
    ]);
    const { branches: names, tags } = (await get("/ref-names")).json;
    expect([names.toSorted(), tags]).toEqual([["main", "topic"], []]);
    expect((await get("/branch-divergence?q=top&limit=1")).json).toHaveLength(1);
  });

  test("entries of a folder have the title of their last commit when a request includes it", async () => {
    const { json: body } = await get("/contents-ext/src?includes=commit_message");
    expect(body.dir_contents).toMatchObject([
      { name: "deep", last_commit_sha: ids[0], last_commit_message: "first" },
      { name: "main.ts", last_commit_sha: ids[1], last_commit_message: "second <b>" },
    ]);
    const plain = await get("/contents-ext/src?includes=commit_metadata");
    expect(plain.json.dir_contents[0]).not.toHaveProperty("last_commit_message");
  });

  test("the diffs of a commit and of a comparison ignore white space when they are asked to", async () => {
    const diff = async (rest: string) =>
      (await api("GET", `${path}${rest}`, undefined, people.tokenOf("mira"))).text;
    expect(await diff("/git/commits/topic.diff")).toContain("+needle  ");
    expect(await diff("/git/commits/topic.diff?whitespace=ignore-all")).toBe("");
    expect(await diff("/compare/topic~1...topic?output=diff")).toContain("+needle  ");
    expect(await diff("/compare/topic~1...topic?output=diff&whitespace=ignore-all")).toBe("");
  });

  test("nobody browses the code of a private repository that they may not read", async () => {
    await people.newUser("nora");
    await by("mira", "PATCH", path, { private: true });
    for (const rest of [
      "/blame/src/main.ts",
      "/code-search?q=needle",
      "/file-names",
      "/contributors",
      "/branch-divergence",
      "/ref-names",
    ])
      expect((await by("nora", "GET", path + rest)).status).toBe(404);
  });
});

const byName = (a: { name: string }, b: { name: string }) => a.name.localeCompare(b.name);
