import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { createWorkflowRepository } from "../../support/forge/workflow-repository.ts";
import { type Receiver, startReceiver } from "../../support/receiver.ts";

let daemon: TestDaemon;
let git: GitClient;
let receiver: Receiver;
const people = createForgePeople(() => daemon);
const { api, by, newUser, newToken } = people;

beforeAll(async () => {
  receiver = await startReceiver();
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

/** A picture of one pixel. */
const PICTURE =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const encode = (text: string) => Buffer.from(text).toString("base64");
const decode = (text: string) => Buffer.from(text, "base64").toString("utf8");

/** A repository of a new user. */
async function newProject(fields: object = {}) {
  const mira = await newUser();
  const made = await by(mira, "POST", "/user/repos", { name: "kiln", auto_init: true, ...fields });
  const repo: string = made.json.full_name;
  const wiki = `/repos/${repo}/wiki`;
  const write = (title: string, text = title, message?: string) =>
    by(mira, "POST", `${wiki}/new`, { title, content_base64: encode(text), message });
  return { mira, repo, wiki, write };
}

/** The address of a wiki for git, with the credentials of a user. */
const toAddress = (user: string, repo: string) =>
  `${daemon.url.replace("://", `://${user}:${people.tokenOf(user)}@`)}/${repo}.wiki.git`;

const toFolder = (repo: string) => join(daemon.home, "repositories", `${repo}.git`, ".wiki");

async function ok(run: Promise<{ exitCode: number; output: string; errors: string }>) {
  const done = await run;
  expect([done.exitCode, done.errors]).toEqual([0, expect.anything()]);
  return done.output;
}

describe("pages of a wiki", () => {
  test("a page is created with the wiki, shown, listed, edited, renamed and deleted", async () => {
    const { mira, repo, wiki, write } = await newProject();
    expect((await by(mira, "GET", `${wiki}/pages`)).status).toBe(404);
    const created = await write("Home page", "# Home\n");
    expect(created.status).toBe(201);
    const person = { name: mira, email: `${mira}@example.org`, date: expect.any(String) };
    const commit = {
      sha: expect.stringMatching(/^[0-9a-f]{40}$/),
      author: person,
      commiter: person,
      message: 'Add "Home page"\n',
    };
    expect(created.json).toEqual({
      title: "Home page",
      html_url: `${daemon.url}/${repo}/wiki/Home-page`,
      sub_url: "Home-page",
      last_commit: commit,
      content_base64: encode("# Home\n"),
      commit_count: 1,
      sidebar: "",
      footer: "",
    });
    expect((await api("GET", `${wiki}/page/Home-page`, undefined, "")).json).toEqual(created.json);

    await write("_Sidebar", "[[Home page]]");
    await write("_Footer", "the end");
    await write("2000-01-02 notes");
    await write("C++");
    const list = await by(mira, "GET", `${wiki}/pages?limit=2&page=2`);
    expect(list.headers.get("x-total-count")).toBe("5");
    expect(list.json.map(({ sub_url: name }: { sub_url: string }) => name)).toEqual([
      "Home-page",
      "_Footer",
    ]);
    expect((await by(mira, "GET", `${wiki}/page/2000-01-02+notes.-`)).json.title).toBe(
      "2000-01-02 notes",
    );
    expect((await by(mira, "GET", `${wiki}/page/C%2B%2B`)).json).toMatchObject({ title: "C++" });

    const edited = await by(mira, "PATCH", `${wiki}/page/Home-page`, {
      content_base64: encode("# New\n"),
    });
    expect(edited).toMatchObject({
      status: 200,
      json: {
        title: "Home page",
        commit_count: 2,
        last_commit: { message: 'Update "Home-page"\n' },
        sidebar: encode("[[Home page]]"),
        footer: encode("the end"),
      },
    });
    const renamed = await by(mira, "PATCH", `${wiki}/page/Home-page`, { title: "a/b?" });
    expect(renamed.json).toMatchObject({ title: "a/b?", sub_url: "a%2Fb%3F" });
    expect(decode(renamed.json.content_base64)).toBe("# New\n");
    expect((await by(mira, "GET", `${wiki}/page/Home-page`)).status).toBe(404);
    const revisions = await by(mira, "GET", `${wiki}/revisions/C%2B%2B`);
    expect(revisions.json).toMatchObject({ count: 1, commits: [{ message: 'Add "C++"\n' }] });

    expect((await by(mira, "DELETE", `${wiki}/page/a%2Fb%3F`)).status).toBe(204);
    expect((await by(mira, "DELETE", `${wiki}/page/a%2Fb%3F`)).status).toBe(404);
    expect((await by(mira, "GET", `${wiki}/revisions/a%2Fb%3F`)).status).toBe(404);
  });

  test("titles that are empty, reserved, taken or no file name, and contents that are no base64 or too large, are refused", async () => {
    const { mira, wiki, write } = await newProject();
    await write("Home");
    await write("Other");
    const statuses = async (...titles: string[]) =>
      Promise.all(titles.map(async (title) => (await write(title)).status));
    expect(await statuses("", "  ", "_pages", "raw", "Home")).toEqual([400, 400, 400, 400, 400]);
    expect(await statuses("x".repeat(300), "ö".repeat(100))).toEqual([422, 422]);
    expect((await write("Home")).json.message).toBe("wiki page already exists [title: Home.md]");
    const rename = await by(mira, "PATCH", `${wiki}/page/Other`, { title: "Home" });
    expect(rename.status).toBe(400);
    const broken = await by(mira, "POST", `${wiki}/new`, { title: "X", content_base64: "%" });
    expect(broken.status).toBe(400);
    const big = { title: "X", content_base64: "A".repeat(14 * 1024 * 1024) };
    expect((await by(mira, "POST", `${wiki}/new`, big)).status).toBe(413);
    for (const title of ["..", "../../x", ".git", "a\\b", "<b>"])
      expect((await write(title)).status).toBe(201);
    const { json: pages } = await by(mira, "GET", `${wiki}/pages`);
    for (const { sub_url: name } of pages)
      expect((await by(mira, "GET", `${wiki}/page/${name}`)).status).toBe(200);
    expect(
      execFileSync("git", ["ls-tree", "--name-only", "main"], {
        cwd: toFolder(`${mira}/kiln`),
      }).toString(),
    ).not.toMatch(/^(?:\.\.|\.git)$/m);
    for (const name of ["%00.md", "..%2F..%2Fconfig.md", "%2E%2E%2FHEAD", "%"])
      expect((await by(mira, "GET", `${wiki}/page/${name}`)).status).toBeGreaterThanOrEqual(400);
  });

  test("writers change a wiki, readers read it; it is hidden where it is off, and an archived repository keeps it", async () => {
    const { mira, repo, wiki, write } = await newProject({ private: true });
    await write("Home");
    const [nora, otto] = [await newUser(), await newUser()];
    expect((await by(nora, "GET", `${wiki}/page/Home`)).status).toBe(404);
    expect((await api("GET", `${wiki}/pages`, undefined, "")).status).toBe(404);
    await by(mira, "PUT", `/repos/${repo}/collaborators/${nora}`, { permission: "read" });
    await by(mira, "PUT", `/repos/${repo}/collaborators/${otto}`, { permission: "write" });
    expect((await by(nora, "GET", `${wiki}/page/Home`)).status).toBe(200);
    const page = { title: "X", content_base64: encode("x") };
    expect((await by(nora, "POST", `${wiki}/new`, page)).status).toBe(403);
    expect((await by(nora, "PATCH", `${wiki}/page/Home`, page)).status).toBe(403);
    expect((await by(nora, "DELETE", `${wiki}/page/Home`)).status).toBe(403);
    const reading = await newToken(otto, ["read:repository"]);
    expect((await api("POST", `${wiki}/new`, page, reading)).status).toBe(403);
    expect((await by(otto, "POST", `${wiki}/new`, page)).status).toBe(201);

    await by(mira, "PATCH", `/repos/${repo}`, { has_wiki: false });
    expect((await by(mira, "GET", `${wiki}/page/Home`)).status).toBe(404);
    expect((await git.run("clone", "-q", toAddress(mira, repo), "off")).exitCode).not.toBe(0);
    await by(mira, "PATCH", `/repos/${repo}`, { has_wiki: true, archived: true });
    expect((await by(mira, "GET", `${wiki}/page/Home`)).status).toBe(200);
    expect((await by(mira, "DELETE", `${wiki}/page/Home`)).status).toBe(423);
  });

  test("changes at the same time are all made", async () => {
    const { mira, wiki, write } = await newProject();
    const titles = Array.from({ length: 8 }, (_, index) => `Page ${index}`);
    const made = await Promise.all(titles.map((title) => write(title)));
    expect(made.map(({ status }) => status)).toEqual(titles.map(() => 201));
    expect((await by(mira, "GET", `${wiki}/pages`)).json).toHaveLength(8);
  });
});

describe("the repository of a wiki", () => {
  test("git clones and pushes it, the first push creates it, and files that are no pages stay out of the list", async () => {
    const { mira, repo, wiki, write } = await newProject();
    await ok(git.run("init", "-q", "-b", "master", "first"));
    const folder = join(git.folder, "first");
    await writeFile(join(folder, "Home.md"), "pushed");
    await writeFile(join(folder, "Mixed-case and blanks.md"), "mixed");
    await writeFile(join(folder, "photo.png"), Buffer.from(PICTURE, "base64"));
    await symlink("/etc/passwd", join(folder, "Link.md"));
    await mkdir(join(folder, "Folder.md"));
    await writeFile(join(folder, "Folder.md", "x"), "x");
    await writeFile(join(folder, "large.md"), Buffer.alloc(11 * 1024 * 1024, "a"));
    await ok(git.in("first", "add", "."));
    await ok(
      git.in("first", "update-index", "--add", "--cacheinfo", `160000,${"1".repeat(40)},Module.md`),
    );
    await ok(git.in("first", "commit", "-q", "-m", "wiki"));
    const reader = await newUser();
    expect(
      (await git.in("first", "push", "-q", toAddress(reader, repo), "master")).exitCode,
    ).not.toBe(0);
    expect(existsSync(toFolder(repo))).toBe(false);
    await ok(git.in("first", "push", "-q", toAddress(mira, repo), "master"));
    const { json: pages } = await by(mira, "GET", `${wiki}/pages`);
    expect(pages.map(({ sub_url: name }: { sub_url: string }) => name)).toEqual([
      "Home",
      "Mixed-case%20and%20blanks.md",
      "large",
    ]);
    const read = async (name: string) => by(mira, "GET", `${wiki}/page/${name}`);
    expect(decode((await read("Home")).json.content_base64)).toBe("pushed");
    expect(decode((await read("Mixed-case%20and%20blanks.md")).json.content_base64)).toBe("mixed");
    expect((await read("large")).json.content_base64).toBe("");
    for (const name of ["Link", "Folder", "Module"]) expect((await read(name)).status).toBe(404);
    const picture = await by(mira, "GET", `${wiki}/raw/photo.png`);
    expect(picture.headers.get("content-type")).toBe("image/png");
    expect((await by(mira, "GET", `${wiki}/raw/Link.md`)).status).toBe(404);

    await write("By API");
    await ok(git.run("clone", "-q", toAddress(mira, repo), "second"));
    expect(await ok(git.in("second", "log", "--format=%s"))).toBe('Add "By API"\nwiki\n');
    const pull = await git.in("second", "push", "-q", "origin", "HEAD:refs/for/main");
    expect(pull.errors).toContain("a wiki has no pull requests");
  });

  test("it moves, is counted and is deleted with its repository, and a fork has none", async () => {
    const { mira, repo, write } = await newProject();
    const size = async (name: string) => (await by(mira, "GET", `/repos/${name}`)).json.size;
    const before = await size(repo);
    await write("Home", Array.from({ length: 20_000 }, (_, index) => index * 7919).join(" "));
    expect(await size(repo)).toBeGreaterThan(before);
    const nora = await newUser();
    const fork = await by(nora, "POST", `/repos/${repo}/forks`, {});
    expect((await by(nora, "GET", `/repos/${fork.json.full_name}/wiki/pages`)).status).toBe(404);
    expect((await by(mira, "PATCH", `/repos/${repo}`, { name: "oven" })).status).toBe(200);
    const moved = `${mira}/oven`;
    expect((await by(mira, "GET", `/repos/${moved}/wiki/page/Home`)).status).toBe(200);
    // Git follows the former name.
    await ok(git.run("clone", "-q", toAddress(mira, repo), "moved"));
    await ok(git.in("moved", "commit", "-q", "--allow-empty", "-m", "more"));
    await ok(git.in("moved", "push", "-q", "origin", "main"));
    expect(existsSync(toFolder(moved))).toBe(true);
    expect((await by(mira, "DELETE", `/repos/${moved}`)).status).toBe(204);
    expect(existsSync(toFolder(moved))).toBe(false);
  });

  test("hooks, chat messages and workflows learn of a page that was created, edited and deleted, but not of a push", async () => {
    const { mira, repo, wiki, write } = await newProject();
    const hook = (type: string) =>
      by(mira, "POST", `/repos/${repo}/hooks`, {
        type,
        config: { url: `${receiver.url}/${type}`, content_type: "json", channel: "#news" },
        events: ["wiki"],
        active: true,
      });
    expect([(await hook("gitea")).status, (await hook("slack")).status]).toEqual([201, 201]);
    await write("Home page", "text", "why not");
    await by(mira, "PATCH", `${wiki}/page/Home-page`, { content_base64: encode("b") });
    await by(mira, "DELETE", `${wiki}/page/Home-page`);
    const sent = await receiver.waitFor(6);
    const events = sent
      .filter(({ path }) => path === "/gitea")
      .map(({ headers, body }) => [headers["x-gitea-event"], JSON.parse(body)] as const);
    expect(
      events.map(([event, { action, page, comment, sender, repository }]) => [
        ...[event, action, page, comment],
        ...[sender.login, repository.full_name],
      ]),
    ).toEqual([
      ["wiki", "created", "Home-page", "why not", mira, repo],
      ["wiki", "edited", "Home-page", 'Update "Home-page"', mira, repo],
      ["wiki", "deleted", "Home-page", "", mira, repo],
    ]);
    const texts = sent.filter(({ path }) => path === "/slack").map(({ body }) => body);
    expect(texts.some((text) => text.includes("New wiki page 'Home-page' (why not) by"))).toBe(
      true,
    );
  });

  test("a changed page starts the workflows of the event gollum", async () => {
    const mira = await newUser();
    const repository = createWorkflowRepository({ daemon, people, git }, mira, "works");
    await repository.create();
    const on = (events: string) =>
      `on: ${events}\njobs: { a: { runs-on: works, steps: [{ run: "true" }] } }\n`;
    await repository.push({ "wiki.yml": on("gollum"), "push.yml": on("push") });
    await repository.waitForRuns(1);
    const page = { title: "Home", content_base64: encode("x") };
    expect((await by(mira, "POST", `/repos/${mira}/works/wiki/new`, page)).status).toBe(201);
    await repository.waitForRuns(2);
    const runs = await repository.runs();
    expect(runs.map(({ event }) => event).toSorted()).toEqual(["gollum", "push"]);
  });
});
