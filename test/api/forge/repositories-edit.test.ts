import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { expectWireShape, omittedOfRepository } from "../../support/forge/forge-wire.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";
import { type Receiver, startReceiver } from "../../support/receiver.ts";

const omitted = [...omittedOfRepository, "repo_transfer"];

let daemon: TestDaemon;
let git: GitClient;
let receiver: Receiver;
const people = createForgePeople(() => daemon);
const { api } = people;
let mira: string;
let nora: string;

beforeAll(async () => {
  receiver = await startReceiver();
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  mira = people.tokenOf(await people.newUser("mira"));
  nora = people.tokenOf(await people.newUser("nora"));
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

const create = (name: string, fields: object = {}) =>
  api("POST", "/admin/users/mira/repos", { name, ...fields });
const edit = (name: string, fields: object, token = mira) =>
  api("PATCH", `/repos/mira/${name}`, fields, token);
const folderOf = (name: string) => join(daemon.home, "repositories/mira", `${name}.git`);
const urlOf = (name: string, token = mira) =>
  `${daemon.url.replace("://", `://x:${token}@`)}/mira/${name}.git`;

describe("editing", () => {
  test("an edit of a repository changes the fields of the request and keeps the others", async () => {
    await create("plain", { description: "before", auto_init: true });
    const answer = await edit("plain", { description: "after", website: "https://a.example/" });
    expect(answer.status).toBe(200);
    expectWireShape("Repository", answer.json, omitted);
    expect(answer.json).toMatchObject({
      name: "plain",
      description: "after",
      website: "https://a.example/",
      private: false,
      default_branch: "main",
    });
    const again = await edit("plain", { private: true, template: true });
    expect(again.json).toMatchObject({ private: true, template: true, description: "after" });
    expect((await api("GET", "/repos/mira/plain", undefined, nora)).status).toBe(404);
    const cleared = await edit("plain", { description: "", website: "", private: false });
    expect(cleared.json).toMatchObject({ description: "", website: "", private: false });
    expect((await edit("plain", {})).json).toEqual(cleared.json);
  });

  test("clones check out the edited default branch", async () => {
    await create("branches", { auto_init: true });
    await git.run("clone", "-q", urlOf("branches"), "branches");
    await git.in("branches", "push", "-q", "origin", "main:trunk");
    const answer = await edit("branches", { default_branch: "trunk" });
    expect(answer.json.default_branch).toBe("trunk");
    expect(await readFile(join(folderOf("branches"), "HEAD"), "utf8")).toBe(
      "ref: refs/heads/trunk\n",
    );
    const refs = await git.run("ls-remote", "--symref", urlOf("branches"), "HEAD");
    expect(refs.output).toContain("ref: refs/heads/trunk\tHEAD");
    const missing = await edit("branches", { default_branch: "nowhere" });
    expect([missing.status, missing.json.message]).toEqual([
      422,
      "branch does not exist [name: nowhere]",
    ]);
  });

  test("an empty repository accepts any default branch", async () => {
    await create("fresh");
    expect((await edit("fresh", { default_branch: "later" })).json.default_branch).toBe("later");
    expect(await readFile(join(folderOf("fresh"), "HEAD"), "utf8")).toBe("ref: refs/heads/later\n");
  });

  test.each<[string, object, string]>([
    ["a name with a slash", { name: "a/b" }, "[Name]: AlphaDashDot"],
    ["a name that is too long", { name: "a".repeat(101) }, "[Name]: MaxSize"],
    ["a reserved name", { name: ".." }, "name is reserved [name: ..]"],
    ["a reserved suffix", { name: "a.git" }, "name pattern is not allowed [pattern: *.git]"],
    ["two dots", { name: "a..b" }, "name is invalid [a..b]"],
    ["a branch that cannot be", { default_branch: "a..b" }, "[DefaultBranch]: GitRefName"],
    ["an invalid website", { website: "javascript:x" }, "[Website]: Url"],
    ["a long description", { description: "a".repeat(2049) }, "[Description]: MaxSize"],
    ["a flag that is a text", { private: "yes" }, "[]: a value has the wrong type"],
  ])(
    "an edit of a repository with %s is refused and changes nothing",
    async (_what, fields, message) => {
      const name = "steady";
      await create(name);
      const before = (await api("GET", `/repos/mira/${name}`)).json;
      const answer = await edit(name, { template: true, ...fields });
      expect(answer.status).toBe(422);
      expect(answer.json.message).toContain(message);
      expect((await api("GET", `/repos/mira/${name}`)).json).toEqual(before);
    },
  );

  test("an edit of a repository needs an administrator of it", async () => {
    await create("guarded");
    await create("hidden", { private: true });
    expect((await edit("guarded", { private: true }, nora)).status).toBe(403);
    expect((await edit("hidden", { private: false }, nora)).status).toBe(404);
    expect(
      (await edit("guarded", { description: "by an administrator" }, people.admin)).status,
    ).toBe(200);
    const reader = await daemon.request("/api/v1/users/mira/tokens", {
      basic: "mira:user-password",
      json: { name: "reader", scopes: ["read:repository"] },
    });
    expect((await edit("guarded", { private: true }, reader.json.sha1)).status).toBe(403);
  });
});

describe("renaming", () => {
  test("a renamed repository moves its files, and its former name redirects the API and git", async () => {
    await create("Old-Name", { auto_init: true });
    await git.run("clone", "-q", urlOf("old-name"), "work");
    const answer = await edit("old-name", { name: "New-Name" });
    expect(answer.json).toMatchObject({ name: "New-Name", full_name: "mira/New-Name" });
    expect(existsSync(folderOf("old-name"))).toBe(false);
    expect(existsSync(folderOf("new-name"))).toBe(true);

    const old = await api("GET", "/repos/mira/OLD-name");
    expect([old.status, old.headers.get("location")]).toEqual([307, "/api/v1/repos/mira/New-Name"]);
    const issues = await api("GET", "/repos/mira/old-name/issues");
    expect(issues.headers.get("location")).toMatch(/^\/api\/v1\/repos\/mira\/New-Name\/issues/);

    await git.in("work", "commit", "-q", "--allow-empty", "-m", "later");
    expect((await git.in("work", "push", "-q", "origin", "main")).exitCode).toBe(0);
    expect((await git.in("work", "pull", "-q")).exitCode).toBe(0);
    const { output } = await git.run("ls-remote", urlOf("new-name"), "main");
    expect(output).toContain((await git.in("work", "rev-parse", "HEAD")).output.trim());
  });

  test("a renamed repository sends an event to hooks", async () => {
    await api("POST", "/admin/hooks", {
      type: "gitea",
      active: true,
      events: ["repository"],
      config: { url: receiver.url, content_type: "json", is_system_webhook: "true" },
    });
    await create("heard");
    await edit("heard", { name: "told" });
    await edit("told", { description: "not a new name" });
    const [told] = await receiver.waitFor(1, ({ body }) => body.includes('"renamed"'));
    expect(JSON.parse(told?.body ?? "")).toMatchObject({
      action: "renamed",
      changes: { repository: { name: { from: "heard" } } },
      repository: { full_name: "mira/told" },
      sender: { login: "mira" },
    });
  });

  test("a rename that changes only the case moves no files and adds no redirect", async () => {
    await create("casing");
    expect((await edit("casing", { name: "CASING" })).json.full_name).toBe("mira/CASING");
    expect((await api("GET", "/repos/mira/casing")).json.name).toBe("CASING");
    expect(existsSync(folderOf("casing"))).toBe(true);
  });

  test("a rename to a taken name is refused, in rows and on disk", async () => {
    await create("one");
    await create("two");
    const answer = await edit("one", { name: "TWO" });
    expect([answer.status, answer.json.message]).toEqual([
      422,
      "repo name is already taken [name: TWO]",
    ]);
    await mkdir(folderOf("stray"));
    const stray = await edit("one", { name: "stray" });
    expect([stray.status, stray.json.message]).toEqual([
      422,
      "repository files already exist [uname: mira, name: stray]",
    ]);
    expect((await api("GET", "/repos/mira/one")).status).toBe(200);
  });

  test("names of repositories can be swapped in a cycle, and a former name may be reused", async () => {
    await create("first", { auto_init: true, description: "the first" });
    await edit("first", { name: "second" });
    await create("first", { description: "another" });
    expect((await api("GET", "/repos/mira/first")).json.description).toBe("another");
    await edit("first", { name: "third" });
    await edit("second", { name: "first" });
    expect((await api("GET", "/repos/mira/first")).json.description).toBe("the first");
    await edit("third", { name: "second" });
    expect((await api("GET", "/repos/mira/second")).json.description).toBe("another");
    expect((await api("GET", "/repos/mira/third")).headers.get("location")).toBe(
      "/api/v1/repos/mira/second",
    );
    expect((await git.run("ls-remote", "--exit-code", urlOf("first"), "main")).exitCode).toBe(0);
  });

  test("of two concurrent renames to one name, exactly one succeeds", async () => {
    await create("left");
    await create("right");
    const answers = await Promise.all(
      ["left", "right"].map((name) => edit(name, { name: "centre" })),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 422]);
    expect(existsSync(folderOf("centre"))).toBe(true);
  });

  test("a former name of a private repository is not found for strangers", async () => {
    await create("secret-plan", { private: true });
    await edit("secret-plan", { name: "secret-plan-2" });
    expect((await api("GET", "/repos/mira/secret-plan", undefined, nora)).status).toBe(404);
    expect((await daemon.request("/api/v1/repos/mira/secret-plan")).status).toBe(404);
    expect((await api("GET", "/repos/mira/secret-plan", undefined, mira)).status).toBe(307);
    const path = "/mira/secret-plan.git/info/refs?service=git-upload-pack";
    expect((await daemon.request(path)).status).toBe(401);
    expect((await daemon.request(path, { basic: `x:${nora}` })).status).toBe(404);
    expect((await daemon.request(path, { basic: `x:${mira}` })).status).toBe(307);
  });

  test("deleting a repository frees its former name", async () => {
    await create("short-lived");
    await edit("short-lived", { name: "shorter-lived" });
    await api("DELETE", "/repos/mira/shorter-lived");
    expect((await api("GET", "/repos/mira/short-lived")).status).toBe(404);
  });
});
