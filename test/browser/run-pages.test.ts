import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findChromium, launchChromium, watchPages } from "../support/browser.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { createForgePeople } from "../support/forge/forge-people.ts";
import { callRunner, fetchTask, registerRunner } from "../support/forge/runner-client.ts";
import { skipUnless } from "../support/skip.ts";

const executable = findChromium();
const withChromium = skipUnless(executable, "Chromium is not installed");

let daemon: TestDaemon;
let browser: Browser;
const people = createForgePeople(() => daemon);

withChromium.describe("the pages of runs in a real browser", () => {
  beforeAll(async () => {
    daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
    browser = await launchChromium(executable ?? "");
    await people.newUser("mira");
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await daemon[Symbol.asyncDispose]();
  });

  test("the log of a job follows while it runs, folds its groups, and the page loads again at the end", async () => {
    const repo = await people.newRepository("mira", { auto_init: true });
    const path = `/repos/mira/${repo}`;
    const { json } = await people.by("mira", "POST", `${path}/actions/runners/registration-token`);
    const labels = ["here"];
    const runner = await registerRunner(daemon, json.token, { name: "runner", labels });
    const workflow = "on: push\njobs: { a: { runs-on: here, steps: [{ run: echo }] } }\n";
    await people.by("mira", "POST", `${path}/contents/.gitea/workflows/ci.yml`, {
      content: Buffer.from(workflow).toString("base64"),
    });
    let taskId = "";
    await expect
      .poll(
        async () => {
          const { task } = await fetchTask(daemon, runner);
          taskId ||= String(task?.id ?? "");
          return taskId;
        },
        { timeout: 60_000 },
      )
      .not.toBe("");
    const write = (index: number, texts: readonly string[]) => {
      const rows = texts.map((content) => ({ time: "2026-01-01T00:00:00Z", content }));
      return callRunner(daemon, "UpdateLog", { taskId, index, rows }, runner);
    };
    await write(0, ["begin", "::group::Install", "fetched"]);
    const [run] = (await people.by("mira", "GET", `${path}/actions/runs`)).json.workflow_runs;
    const [job] = (await people.by("mira", "GET", `${path}/actions/runs/${run.id}/jobs`)).json.jobs;

    const context = await browser.newContext();
    const events = watchPages(context);
    const page = await context.newPage();
    await page.goto(`${daemon.url}/mira/${repo}/actions/runs/${run.id}/jobs/${job.id}`);
    const group = page.locator("details", { hasText: "Install" });
    expect(await group.locator("pre").isVisible()).toBe(false);
    await write(3, ["installed", "::endgroup::", "after", "::group::<b>Test</b>", "passed"]);
    await page.getByText("<b>Test</b>").waitFor();
    expect(await group.locator("pre").first().textContent()).toMatch(/fetched\n.* installed$/);
    expect(await page.locator("pre", { hasText: "after" }).isVisible()).toBe(true);
    expect(await page.locator("pre", { hasText: "passed" }).isVisible()).toBe(false);
    expect(await page.getByText("::group::").count()).toBe(0);
    await callRunner(daemon, "UpdateLog", { taskId, index: 8, rows: [], noMore: true }, runner);
    const state = { id: taskId, result: "RESULT_SUCCESS", stoppedAt: "2026-01-01T00:00:09Z" };
    await callRunner(daemon, "UpdateTask", { state }, runner);
    await page.locator("main").getByText("success", { exact: true }).waitFor();
    await page.getByRole("searchbox", { name: "Search the log" }).fill("INSTALL");
    await page.keyboard.press("Enter");
    await page.getByText("2 of").waitFor();
    expect(events.problems).toEqual([]);
    expect(events.requests.filter((url) => !url.startsWith(daemon.url))).toEqual([]);

    // Without the script, a link loads the page again.
    const plain = await browser.newContext({ javaScriptEnabled: false });
    const still = await plain.newPage();
    await still.goto(page.url().split("?")[0] ?? "");
    await still.locator("summary", { hasText: "<b>Test</b>" }).click();
    expect(await still.locator("pre", { hasText: "passed" }).isVisible()).toBe(true);
    await Promise.all([context.close(), plain.close()]);
  });
});
