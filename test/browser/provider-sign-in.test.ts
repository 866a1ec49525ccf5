import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startOpenidProvider } from "../stand-ins/openid-provider.ts";
import { findChromium, launchChromium, watchPages } from "../support/browser.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { skipUnless } from "../support/skip.ts";

const executable = findChromium();
const withChromium = skipUnless(executable, "Chromium is not installed");

withChromium.describe("a sign-in by a provider in a real browser", () => {
  let browser: Browser;
  let daemon: TestDaemon;
  let provider: Awaited<ReturnType<typeof startOpenidProvider>>;

  beforeAll(async () => {
    // Another site than the daemon, whose cookies of sessions do not come along from there.
    provider = await startOpenidProvider("croft", "localhost");
    daemon = await startTestDaemon({
      env: {
        CROFT_OIDC_ISSUER: provider.url(),
        CROFT_OIDC_CLIENT_ID: "croft",
        CROFT_OIDC_CLIENT_SECRET: provider.secret,
        CROFT_OIDC_NAME: "Example ID",
        CROFT_OIDC_CREATE_ACCOUNTS: "true",
      },
    });
    browser = await launchChromium(executable ?? "");
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await daemon[Symbol.asyncDispose]();
    await provider.close();
  });

  test.each([
    ["/user/login?redirect_to=/user/settings", "/user/settings"],
    ["/vault/sign-in?to=/vault/account", "/vault/account"],
  ])("the button on %s leads through another site and back, signed in", async (from, to) => {
    provider.answer({
      claims: { email: "mira@example.org", email_verified: true, preferred_username: "mira" },
    });
    await using context = await browser.newContext();
    const events = watchPages(context);
    const page = await context.newPage();
    await page.goto(daemon.url + from);
    await page.getByRole("button", { name: "Sign in with Example ID" }).click();
    await page.waitForURL(daemon.url + to);
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    expect(events.problems).toEqual([]);
    const cookies = await context.cookies(daemon.url + to);
    expect(cookies.find(({ name }) => /session$/.test(name))).toMatchObject({
      httpOnly: true,
      sameSite: "Strict",
    });
  });
});
