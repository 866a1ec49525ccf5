import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findChromium, launchChromium, watchPages } from "../support/browser.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { createForgePeople } from "../support/forge/forge-people.ts";
import { skipUnless } from "../support/skip.ts";

const executable = findChromium();
const withChromium = skipUnless(executable, "Chromium is not installed");

let daemon: TestDaemon;
let browser: Browser;
const people = createForgePeople(() => daemon);
const { by } = people;

async function signedIn(context: BrowserContext, name: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${daemon.url}/user/login`);
  await page.getByLabel("User name or e-mail address").fill(name);
  await page.getByLabel("Password", { exact: true }).fill("user-password");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  return page;
}

/** A pull request whose base requires the check `ci`, which is running, and how the check ends. */
async function newPull() {
  const repo = await people.newRepository("mira", { auto_init: true });
  const path = `/repos/mira/${repo}`;
  const content = Buffer.from("topic").toString("base64");
  const made = await by("mira", "POST", `${path}/contents/a`, { content, new_branch: "topic" });
  await by("mira", "POST", `${path}/branch_protections`, {
    rule_name: "main",
    enable_status_check: true,
    status_check_contexts: ["ci"],
  });
  await by("mira", "POST", `${path}/pulls`, { head: "topic", base: "main", title: "It" });
  await expect
    .poll(async () => (await by("mira", "GET", `${path}/pulls/1`)).json.mergeable)
    .toBe(true);
  const report = (state: string) =>
    by("mira", "POST", `${path}/statuses/${made.json.commit.sha}`, { context: "ci", state });
  await report("pending");
  return { home: `/mira/${repo}/pulls/1`, report };
}

withChromium.describe("the pages of pull requests in a real browser", () => {
  beforeAll(async () => {
    daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
    browser = await launchChromium(executable ?? "");
    await people.newUser("mira");
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await daemon[Symbol.asyncDispose]();
  });

  test("the box for the merge shows its buttons when the checks have succeeded, without a reload by hand", async () => {
    const { home, report } = await newPull();
    await using context = await browser.newContext();
    const events = watchPages(context);
    const page = await signedIn(context, "mira");
    await page.goto(daemon.url + home);
    await page.getByText("The check ci has not succeeded.").waitFor();
    await report("success");
    await page.getByText("It can be merged into main.").waitFor();
    await page.getByRole("button", { name: "Merge", exact: true }).waitFor();
    // Nothing is asked for any more.
    expect(await page.locator("[data-follow]").count()).toBe(0);
    expect(events.problems).toEqual([]);
    expect(events.requests.filter((url) => !url.startsWith(daemon.url))).toEqual([]);
  });

  test("a page on which a person is writing is not loaded again before they leave the form", async () => {
    const { home, report } = await newPull();
    await using context = await browser.newContext();
    const page = await signedIn(context, "mira");
    await page.goto(daemon.url + home);
    const comment = page.getByLabel("Review, in Markdown");
    await comment.fill("Half a sen");
    const states = () => page.waitForResponse((response) => response.url().includes("/state?"));
    await report("success");
    await states();
    await states();
    expect(await page.getByText("The check ci has not succeeded.").isVisible()).toBe(true);
    await comment.blur();
    await page.getByText("It can be merged into main.").waitFor();
    expect(await comment.inputValue()).toBe("Half a sen");
  });

  test("without the script the page is loaded by its reader", async () => {
    const { home, report } = await newPull();
    await using context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(daemon.url + home);
    await report("success");
    await page.reload();
    await page.locator("dd", { hasText: "ci" }).getByText("success").waitFor();
  });
});
