import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { findChromium, launchChromium, watchPages } from "../support/browser.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { createForgePeople } from "../support/forge/forge-people.ts";
import { assertLooks, assertPlain } from "../support/page-looks.ts";
import { skipUnless } from "../support/skip.ts";

const executable = findChromium();
const withChromium = skipUnless(executable, "Chromium is not installed");

let daemon: TestDaemon;
let browser: Browser;
const people = createForgePeople(() => daemon);
const { api, by } = people;
let paths: readonly string[];

withChromium.describe("every kind of page of the forge", () => {
  beforeAll(async () => {
    daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
    browser = await launchChromium(executable ?? "");
    for (const name of ["mira", "nora"]) await people.newUser(name);
    await api("PATCH", "/admin/users/mira", { login_name: "mira", admin: true });
    await api("POST", "/admin/users/mira/repos", { name: "hut", auto_init: true });
    await api("POST", "/admin/users/mira/repos", { name: "empty" });
    await by("mira", "POST", "/orgs", { username: "guild" });
    paths = await fill("/repos/mira/hut");
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await daemon[Symbol.asyncDispose]();
  });

  test("it breaks no rule of axe and fits, wide and narrow, in light and dark", async () => {
    const context = await browser.newContext({ bypassCSP: true });
    const events = watchPages(context);
    const page = await context.newPage();
    for (const path of ["/user/login", "/user/forgot_password"])
      await assertLooks(page, daemon.url + path);
    await signIn(page);
    for (const path of paths) await assertLooks(page, daemon.url + path);
    expect(events.problems).toEqual([]);
    expect(events.requests.filter((url) => !url.startsWith(daemon.url))).toEqual([]);
    await context.close();
  }, 600_000);

  // The rules of axe need the timers of the page, which stand still without scripts.
  test("it fits and asks no other server without the script", async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const events = watchPages(context);
    const page = await context.newPage();
    await signIn(page);
    for (const path of paths) await assertPlain(page, daemon.url + path);
    expect(events.requests.filter((url) => !url.startsWith(daemon.url))).toEqual([]);
    await context.close();
  }, 300_000);
});

async function signIn(page: Page): Promise<void> {
  await page.goto(`${daemon.url}/user/login`);
  await page.getByLabel("User name or e-mail address").fill("mira");
  await page.getByLabel("Password", { exact: true }).fill("user-password");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.waitForURL(`${daemon.url}/`);
}

/** Fills a repository with one of each thing. Returns the paths of the pages. */
async function fill(path: string): Promise<readonly string[]> {
  const write = (name: string, text: string, more: object = {}) =>
    by("mira", "POST", `${path}/contents/${name}`, {
      content: Buffer.from(text).toString("base64"),
      ...more,
    });
  await write("src/main.ts", "export const answer = 42;\n");
  await write("topic.txt", "a topic\n", { new_branch: "topic" });
  await write("merged.txt", "merged\n", { new_branch: "merged" });
  const workflow = `on:
  workflow_dispatch:
    inputs:
      stage: { description: Where, type: choice, options: [one, two], required: true }
      dry: { type: boolean }
      count: { type: number, default: 1 }
jobs:
  a: { runs-on: nowhere, steps: [{ run: "true" }] }
`;
  await write(".gitea/workflows/ci.yml", workflow);
  await by("mira", "POST", `${path}/actions/workflows/ci.yml/dispatches`, {
    ref: "main",
    inputs: { stage: "one" },
  });
  const [run] = (await by("mira", "GET", `${path}/actions/runs`)).json.workflow_runs;
  const [job] = (await by("mira", "GET", `${path}/actions/runs/${run.id}/jobs`)).json.jobs;
  await by("nora", "POST", `${path}/issues`, { title: "An issue", body: "- [ ] a task\n\n`code`" });
  await by("nora", "POST", `${path}/issues/1/comments`, { body: "A **comment**" });
  await by("mira", "POST", `${path}/labels`, { name: "bug", color: "#cc0000" });
  await by("mira", "POST", `${path}/milestones`, { title: "First" });
  for (const head of ["topic", "merged"])
    await by("mira", "POST", `${path}/pulls`, { head, base: "main", title: `Add ${head}` });
  await vi.waitFor(
    async () =>
      expect((await by("mira", "GET", `${path}/pulls/3`)).json).toMatchObject({ mergeable: true }),
    { timeout: 60_000, interval: 50 },
  );
  await by("mira", "POST", `${path}/pulls/3/merge`, { do: "squash" });
  await by("mira", "POST", `${path}/releases`, { tag_name: "v1", name: "One", body: "Notes" });
  await by("mira", "POST", `${path}/wiki/new`, {
    title: "Home",
    content_base64: Buffer.from("# Wiki\n").toString("base64"),
  });
  await by("nora", "POST", `${path}/pulls/2/reviews`, {
    event: "REQUEST_CHANGES",
    body: "Please *look*",
    comments: [{ path: "topic.txt", body: "```suggestion\nthe topic\n```", new_position: 1 }],
  });
  await daemon.request("/api/packages/mira/generic/box/1.0/box.tar.gz", {
    method: "PUT",
    token: people.tokenOf("mira"),
    body: "bytes",
  });
  const { json: threads } = await by("mira", "GET", "/notifications");
  const of = (home: string, names: readonly string[]) => names.map((name) => home + name);
  const settings = ["", "/avatar", "/hooks", "/actions/secrets", "/actions/variables"];
  return [
    ...["/", "/explore", "/mira", "/guild", "/repo/create", "/org/create", "/notifications"],
    ...threads.map(({ id }: { id: number }) => `/notifications/${id}`),
    ...["/issues", "/pulls", "/mira/empty", "/mira/-/packages", "/mira/-/packages/generic/box/1.0"],
    ...of("/explore", ["/repos", "/issues?q=an", "/code?q=answer", "/users", "/organizations"]),
    ...["/explore?q=hut", "/repo/migrate", "/user/settings/applications/oauth2"],
    ...of("/mira/hut", ["", "/src/branch/main/src/main.ts", "/blame/branch/main/src/main.ts"]),
    ...of("/mira/hut", ["/commits/branch/main", "/commit/main", "/branches", "/tags", "/forks"]),
    ...of("/mira/hut", ["/find/branch/main", "/search?q=answer", "/activity/contributors"]),
    ...of("/mira/hut", ["/_new/main/", "/_edit/main/README.md", "/_upload/main/"]),
    ...of("/mira/hut", ["/issues", "/issues/1", "/issues/new", "/labels", "/milestones"]),
    ...of("/mira/hut", ["/pulls", "/pulls/2", "/pulls/2/commits", "/pulls/2/files", "/pulls/3"]),
    ...of("/mira/hut", ["/pulls/2/files?on=1.R1", "/pulls/2/files?style=split", "/compare"]),
    ...of("/mira/hut", [
      "/compare/main...topic",
      "/releases",
      "/releases/new",
      "/releases/edit/v1",
      "/wiki",
      "/wiki?action=_new",
    ]),
    ...of("/mira/hut/actions", ["", "?workflow=ci.yml&ref=main", `/runs/${run.id}`]),
    `/mira/hut/actions/runs/${run.id}/jobs/${job.id}`,
    ...of("/mira/hut/settings", [...settings, "/collaboration", "/branches", "/tags", "/keys"]),
    ...of("/org/guild", ["/members", "/teams", "/teams/Owners", ...of("/settings", settings)]),
    ...of("/user/settings", [...settings, "/account", "/security", "/sessions", "/keys"]),
    ...of("/user/settings", ["/applications", "/actions/runners", "/change_password"]),
    ...of("/-/admin", ["/users", "/orgs", "/repos", "/actions/jobs", "/cron", "/system"]),
  ];
}
