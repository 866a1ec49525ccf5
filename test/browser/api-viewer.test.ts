import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findChromium, launchChromium, watchPages } from "../support/browser.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { skipUnless } from "../support/skip.ts";

const executable = findChromium();
const withChromium = skipUnless(executable, "Chromium is not installed");

let daemon: TestDaemon;
let browser: Browser;

withChromium.describe("the reference of the APIs", () => {
  beforeAll(async () => {
    daemon = await startTestDaemon();
    browser = await launchChromium(executable ?? "");
  }, 180_000);
  afterAll(async () => {
    await browser?.close();
    await daemon[Symbol.asyncDispose]();
  });

  test("leads from the list of APIs to an operation that is tried out, without leaving the daemon", async () => {
    await using context = await browser.newContext();
    const events = watchPages(context);
    const page = await context.newPage();
    await page.goto(`${daemon.url}/docs`);
    await page.getByRole("link", { name: "croft forge API" }).click();
    // The viewer draws only the part of a long list that is in view.
    await page.getByPlaceholder("Filter by tag").fill("version", { timeout: 150_000 });
    await page.locator(".opblock-tag[data-tag='version']").click();
    const operation = page.locator(".opblock", {
      has: page.locator("[data-path='/api/v1/version']"),
    });
    await operation.locator(".opblock-summary-control").click();
    await operation.getByText("Example Value").first().waitFor();
    await operation.getByRole("button", { name: "Try it out" }).click();
    await operation.getByRole("button", { name: "Execute" }).click();
    await operation.locator(".live-responses-table").waitFor();
    expect(
      await operation.locator("tr.response .response-col_status").first().innerText(),
    ).toContain("200");
    expect(events.problems).toEqual([]);
    expect(events.requests.filter((url) => !url.startsWith(`${daemon.url}/`))).toEqual([]);
    expect(events.requests).toContain(`${daemon.url}/api/v1/version`);
  }, 180_000);

  test("shows the vault's operations with the bodies of their refusals, and sends no cookie of the pages", async () => {
    await using context = await browser.newContext();
    const events = watchPages(context);
    await context.addCookies([{ name: "croft_try", value: "1", url: daemon.url }]);
    const page = await context.newPage();
    await page.goto(`${daemon.url}/docs/vault`);
    await page.locator(".opblock-tag[data-tag='auth/account']").click({ timeout: 150_000 });
    const operation = page.locator(".opblock", { has: page.locator("[data-path='/api/auth/me']") });
    await operation.locator(".opblock-summary-control").click();
    await operation.getByRole("button", { name: "Try it out" }).click();
    const sent = page.waitForRequest(`${daemon.url}/api/auth/me`);
    await operation.getByRole("button", { name: "Execute" }).click();
    expect((await (await sent).allHeaders())["cookie"]).toBeUndefined();
    await operation.locator(".live-responses-table").waitFor();
    expect(await operation.locator("tr.response[data-code='401']").first().innerText()).toContain(
      "Unauthorized",
    );
    expect(events.requests.filter((url) => !url.startsWith(`${daemon.url}/`))).toEqual([]);
  }, 180_000);

  test("without JavaScript leads to the document itself", async () => {
    await using context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${daemon.url}/docs/forge`);
    await page.locator("noscript").waitFor({ state: "attached" });
    const answer = await context.request.get(`${daemon.url}/openapi/forge.json`);
    expect((await answer.json()).openapi).toBe("3.1.0");
  }, 180_000);
});
