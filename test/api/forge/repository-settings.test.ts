import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestDaemon, type TestDaemon } from "../../support/daemon.ts";
import { createForgePeople } from "../../support/forge/forge-people.ts";
import { expectWireShape, omittedOfRepository } from "../../support/forge/forge-wire.ts";
import { createGitClient, type GitClient } from "../../support/forge/git-client.ts";

let daemon: TestDaemon;
const people = createForgePeople(() => daemon);
let git: GitClient;
let mira: string;

beforeAll(async () => {
  daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
  git = await createGitClient();
  mira = await people.newUser();
});
afterAll(async () => {
  await git[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const omitted = [...omittedOfRepository, "repo_transfer"];
const newPath = async (fields: object = {}) =>
  `/repos/${mira}/${await people.newRepository(mira, fields)}`;
const edit = (path: string, fields: object) => people.by(mira, "PATCH", path, fields);

/** With the path as it is: fetch resolves dots before it sends. */
const sendAsIs = (method: string, path: string) =>
  new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    const { hostname, port } = new URL(daemon.url);
    const headers = { authorization: `token ${people.tokenOf(mira)}` };
    const asked = request({ hostname, port, method, path: `/api/v1${path}`, headers }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      answer.on("end", () => resolve({ status: answer.statusCode, text }));
    });
    asked.on("error", reject).end();
  });

describe("dots in addresses", () => {
  test.each(["..", "%2e%2E", ".%2e", "../", "./..", "../../.."])(
    "the hook id %s is not found and does not name the repository",
    async (name) => {
      const path = await newPath();
      expect(await sendAsIs("DELETE", `${path}/hooks/${name}`)).toEqual({
        status: 404,
        text: "404 page not found\n",
      });
      expect((await people.by(mira, "GET", `${path}?ref=/../`)).status).toBe(200);
    },
  );
});

describe("settings of a repository", () => {
  test("settings of a repository are stored and shown, and the others stay unchanged", async () => {
    const path = await newPath();
    const before = (await people.by(mira, "GET", path)).json;
    const set = {
      has_code: true,
      has_wiki: false,
      has_projects: false,
      has_releases: false,
      has_packages: false,
      has_actions: false,
      ignore_whitespace_conflicts: true,
      allow_rebase: false,
      allow_squash_merge: false,
      allow_manual_merge: true,
      default_delete_branch_after_merge: true,
      default_merge_style: "rebase",
      default_allow_maintainer_edit: false,
    };
    const answer = await edit(path, set);
    expect(answer.status).toBe(200);
    expectWireShape("Repository", answer.json, omitted);
    expect(answer.json).toEqual({ ...before, ...set, updated_at: answer.json.updated_at });
    expect((await people.by(mira, "GET", path)).json).toEqual(answer.json);
    expect((await edit(path, { has_wiki: null, has_unheard_of: true })).json).toEqual(answer.json);
    const back = await edit(path, { has_wiki: true, default_merge_style: "squash" });
    expect(back.json).toMatchObject({ has_wiki: true, default_merge_style: "squash" });
  });

  test("an unknown style of merging is refused and nothing is stored", async () => {
    const path = await newPath();
    for (const fields of [
      { default_merge_style: "octopus" },
      { default_update_style: "squash" },
      { default_merge_style: "Merge", allow_rebase: false },
    ])
      expect((await edit(path, fields)).status, JSON.stringify(fields)).toBe(422);
    expect((await people.by(mira, "GET", path)).json).toMatchObject({
      default_merge_style: "merge",
      default_update_style: "merge",
      allow_rebase: true,
    });
    const styled = { default_merge_style: "fast-forward-only", default_update_style: "rebase" };
    expect((await edit(path, styled)).json).toMatchObject(styled);
  });

  test("the mode of projects applies only together with enabling them", async () => {
    const path = await newPath();
    expect((await edit(path, { projects_mode: "repo" })).json.projects_mode).toBe("all");
    const set = await edit(path, { has_projects: true, projects_mode: "repo" });
    expect(set.json.projects_mode).toBe("repo");
    const off = await edit(path, { has_projects: false });
    expect(off.json).toMatchObject({ has_projects: false, projects_mode: "repo" });
  });

  test("pull requests are on with all styles of merging, and turned off they take their settings along", async () => {
    const path = await newPath();
    const on = {
      has_pull_requests: true,
      allow_merge_commits: true,
      allow_rebase: true,
      allow_manual_merge: false,
    };
    const off = {
      has_pull_requests: false,
      allow_merge_commits: false,
      allow_rebase: false,
      allow_manual_merge: true,
    };
    expect((await people.by(mira, "GET", path)).json).toMatchObject(on);
    await edit(path, { allow_rebase: false });
    expect((await edit(path, { has_pull_requests: false })).json).toMatchObject(off);
    expect((await edit(path, { has_pull_requests: true })).json).toMatchObject(on);
    expect((await people.by(mira, "GET", `${path}/pulls`)).status).toBe(404);
  });

  test("a repository may have an external tracker and wiki", async () => {
    const path = await newPath();
    const outside = await edit(path, {
      has_issues: true,
      external_tracker: {
        external_tracker_url: "https://bugs.example/",
        external_tracker_format: "https://bugs.example/{user}/{repo}/{index}",
        external_tracker_style: "numeric",
      },
      has_wiki: true,
      external_wiki: { external_wiki_url: "https://wiki.example/" },
    });
    expect(outside.json).toMatchObject({
      has_issues: true,
      external_tracker: {
        external_tracker_url: "https://bugs.example/",
        external_tracker_format: "https://bugs.example/{user}/{repo}/{index}",
        external_tracker_style: "numeric",
        external_tracker_regexp_pattern: "",
      },
      has_wiki: true,
      external_wiki: { external_wiki_url: "https://wiki.example/" },
    });
    expect(outside.json).not.toHaveProperty("internal_tracker");
    const inside = await edit(path, {
      has_issues: true,
      internal_tracker: { enable_time_tracker: true },
      has_wiki: true,
    });
    expect(inside.json).toMatchObject({
      internal_tracker: {
        enable_time_tracker: true,
        allow_only_contributors_to_track_time: false,
        enable_issue_dependencies: false,
      },
    });
    expect(inside.json).not.toHaveProperty("external_tracker");
    expect(inside.json).not.toHaveProperty("external_wiki");
  });

  test.each<[string, object, string]>([
    [
      "a tracker without an address",
      { has_issues: true, external_tracker: {} },
      "External tracker URL not valid",
    ],
    [
      "a tracker whose pages have a part that is not known",
      {
        has_issues: true,
        external_tracker: {
          external_tracker_url: "https://bugs.example",
          external_tracker_format: "https://bugs.example/{number}",
        },
      },
      "External tracker URL format not valid",
    ],
    [
      "a wiki without an address",
      { has_wiki: true, external_wiki: { external_wiki_url: "wiki" } },
      "Invalid external wiki URL",
    ],
    ["a flag that is a text", { has_wiki: "no" }, "[]: a value has the wrong type"],
    ["a tracker that is a text", { external_tracker: "x" }, "[]: a value has the wrong type"],
  ])("the setting %s is refused and changes nothing", async (_what, fields, message) => {
    const path = await newPath();
    const before = (await people.by(mira, "GET", path)).json;
    const answer = await edit(path, { description: "new", ...fields });
    expect(answer.status).toBe(422);
    expect(answer.json.message).toContain(message);
    expect((await people.by(mira, "GET", path)).json).toEqual(before);
  });

  test("disabled issues cannot be listed, read, opened or commented on", async () => {
    const path = await newPath();
    await people.by(mira, "POST", `${path}/issues`, { title: "before" });
    const off = await edit(path, { has_issues: false });
    expect(off.json.has_issues).toBe(false);
    expect(off.json).not.toHaveProperty("internal_tracker");
    for (const [method, rest, json] of [
      ["GET", "/issues/1", undefined],
      ["POST", "/issues", { title: "after" }],
      ["POST", "/issues/1/comments", { body: "after" }],
      ["GET", "/issues/1/subscriptions/check", undefined],
    ] as const)
      expect((await people.by(mira, method, path + rest, json)).status, rest).toBe(404);
    expect((await people.by(mira, "GET", `${path}/issues`)).json).toEqual([]);
    await edit(path, { has_pull_requests: false });
    expect((await people.by(mira, "GET", `${path}/issues`)).status).toBe(404);
    await edit(path, { has_issues: true });
    expect((await people.by(mira, "GET", `${path}/issues`)).json).toHaveLength(1);
  });
});

describe("an archived repository", () => {
  test("an archived repository shows the flag and its time", async () => {
    const path = await newPath();
    const answer = await edit(path, { archived: true });
    expect(answer.json.archived).toBe(true);
    expect(Date.parse(answer.json.archived_at)).toBeGreaterThan(Date.parse("2020-01-01T00:00:00Z"));
    expect((await edit(path, { archived: true })).json).toEqual(answer.json);
    const back = await edit(path, { archived: false });
    expect(back.json).toMatchObject({ archived: false, archived_at: "1970-01-01T00:00:00Z" });
  });

  test("an archived repository refuses issues and comments", async () => {
    const path = await newPath();
    await people.by(mira, "POST", `${path}/issues`, { title: "before" });
    await edit(path, { archived: true });
    const opened = await people.by(mira, "POST", `${path}/issues`, { title: "after" });
    expect([opened.status, opened.json.message]).toEqual([
      423,
      `${path.slice("/repos/".length)} is archived`,
    ]);
    expect(opened.json.url).toBe(`${daemon.url}/api/swagger`);
    const commented = await people.by(mira, "POST", `${path}/issues/1/comments`, { body: "after" });
    expect(commented.status).toBe(423);
    expect((await people.by(mira, "GET", `${path}/issues`)).json).toHaveLength(1);
  });

  test("an archived repository can be cloned, but refuses pushes", async () => {
    const path = await newPath({ auto_init: true });
    await edit(path, { archived: true });
    const url = `${daemon.url.replace("://", `://x:${people.tokenOf(mira)}@`)}/${path.slice("/repos/".length)}.git`;
    expect((await git.run("clone", "-q", url, "archived")).exitCode).toBe(0);
    await git.in("archived", "commit", "-q", "--allow-empty", "-m", "later");
    expect((await git.in("archived", "push", "-q", "origin", "main")).exitCode).not.toBe(0);
    await edit(path, { archived: false });
    expect((await git.in("archived", "push", "-q", "origin", "main")).exitCode).toBe(0);
  });
});
