import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findChromium, launchChromium, watchPages } from "../support/browser.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { createForgePeople } from "../support/forge/forge-people.ts";
import { assertLooks } from "../support/page-looks.ts";
import { skipUnless } from "../support/skip.ts";

const executable = findChromium();
const withChromium = skipUnless(executable, "Chromium is not installed");
const HOSTILE = `"'><script>alert(1)</script><img src=x onerror=alert(1)>`;

let daemon: TestDaemon;
let browser: Browser;
let run: number;
const people = createForgePeople(() => daemon);
const { api, by } = people;

withChromium.describe("settings in a real browser", () => {
  beforeAll(async () => {
    daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
    browser = await launchChromium(executable ?? "");
    for (const name of ["mira", "nora"]) await people.newUser(name);
    await api("PATCH", "/admin/users/mira", { login_name: "mira", admin: true });
    await api("POST", "/admin/users/mira/repos", { name: "hut", auto_init: true });
    const path = "/repos/mira/hut";
    await by("mira", "PATCH", path, { description: HOSTILE });
    await by("mira", "PUT", `${path}/collaborators/nora`, { permission: "write" });
    await by("mira", "POST", `${path}/branch_protections`, {
      rule_name: "main",
      enable_push: true,
    });
    await by("mira", "POST", `${path}/tag_protections`, {
      name_pattern: "v*",
      whitelist_usernames: ["mira"],
    });
    const hook = { type: "gitea", config: { url: "http://127.0.0.1:9/", content_type: "json" } };
    await by("mira", "POST", `${path}/hooks`, { ...hook, name: HOSTILE, events: ["push"] });
    await by("mira", "POST", `${path}/hooks/1/tests`);
    await by("mira", "POST", `${path}/actions/variables/STAGE`, {
      value: HOSTILE,
      description: HOSTILE,
    });
    await by("mira", "PUT", `${path}/actions/secrets/KEY`, { data: "x", description: HOSTILE });
    const workflow = `on: workflow_dispatch
jobs:
  a: { runs-on: ubuntu-latest, steps: [{ run: "true" }] }
`;
    await by("mira", "POST", `${path}/contents/.gitea/workflows/ci.yml`, {
      content: Buffer.from(workflow).toString("base64"),
    });
    const started = await by("mira", "POST", `${path}/actions/workflows/ci.yml/dispatches`, {
      ref: "main",
    });
    expect(started.status).toBe(204);
    run = (await by("mira", "GET", `${path}/actions/runs`)).json.workflow_runs[0].id;
    await by("mira", "POST", "/orgs", { username: "guild" });
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await daemon[Symbol.asyncDispose]();
  });

  test("the pages break no rule of axe, fit, and run nothing of hostile names", async () => {
    await using context = await browser.newContext();
    const events = watchPages(context);
    const page = await signedIn(context, "mira");
    // Other pages have the same content as those of every-page.test.ts.
    for (const path of [
      ...["", "/collaboration", "/branches", "/tags", "/hooks", "/hooks/1?delivery=1"].map(
        (section) => `/mira/hut/settings${section}`,
      ),
      ...["secrets", "variables", "runners"].map((name) => `/mira/hut/settings/actions/${name}`),
      ...["hooks", "actions/secrets", "actions/runners"].map((level) => `/-/admin/${level}`),
      ...["/mira/hut/actions", `/mira/hut/actions/runs/${run}`, "/org/guild/teams/Owners"],
    ])
      await assertLooks(page, daemon.url + path);
    expect(events.requests.filter((url) => !url.startsWith(daemon.url))).toEqual([]);
    expect(events.problems).toEqual([]);
  }, 300_000);

  test("a person sets up a second factor and a token, and adds a collaborator, without JavaScript", async () => {
    await using context = await browser.newContext({ javaScriptEnabled: false });
    const page = await signedIn(context, "nora");
    await page.getByRole("link", { name: "Settings" }).click();
    await page.getByRole("link", { name: "Second factor" }).click();
    await page.getByRole("button", { name: "Set it up" }).click();
    const code = page.getByAltText("QR code with the secret");
    expect(await code.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBeGreaterThan(0);
    await page.goto(`${daemon.url}/user/settings/applications`);
    await page.getByLabel("Name").fill("ci");
    await page.locator("select[name=scope_repository]").selectOption("read:repository");
    await page.getByRole("button", { name: "Create token" }).click();
    await page.getByRole("region", { name: "Token ci" }).waitFor();
    await page.goto(`${daemon.url}/repo/create`);
    await page.getByLabel("Name").fill("shed");
    await page.getByRole("button", { name: "Create repository" }).click();
    await page.getByRole("link", { name: "Settings" }).last().click();
    await page.getByRole("link", { name: "Collaborators" }).click();
    await page.getByLabel("User name").fill("mira");
    await page.getByRole("button", { name: "Add collaborator" }).click();
    await page.getByRole("list", { name: "Collaborators" }).getByText("mira").first().waitFor();
  });
});

async function signedIn(context: BrowserContext, name: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${daemon.url}/user/login`);
  await page.getByLabel("User name or e-mail address").fill(name);
  await page.getByLabel("Password", { exact: true }).fill("user-password");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  return page;
}
