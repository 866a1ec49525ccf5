import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { googleClient, startGoogleDriveServer } from "../stand-ins/google-drive-server.ts";
import { findChromium, launchChromium, watchPages } from "../support/browser.ts";
import { startTestDaemon } from "../support/daemon.ts";
import { skipUnless } from "../support/skip.ts";
import { createPerson } from "../support/vault/vault-person.ts";

const chromium = findChromium();
let browser: Browser;

beforeAll(async () => {
  if (chromium !== undefined) browser = await launchChromium(chromium);
});
afterAll(() => browser?.close());

/** Starts a daemon with a stand-in for Google, and a user who is about to connect it. */
async function begin() {
  const stack = new AsyncDisposableStack();
  const google = stack.use(await startGoogleDriveServer());
  const daemon = stack.use(
    await startTestDaemon({
      env: {
        CROFT_GOOGLE_CLIENT_ID: googleClient.id,
        CROFT_GOOGLE_CLIENT_SECRET: googleClient.secret,
        CROFT_GOOGLE_BASE_URL: google.origin,
      },
    }),
  );
  const mira = createPerson(daemon, "mira", "192.0.2.1");
  await mira.register();
  await mira.signIn();
  const name = encodeURIComponent(`<img src=x onerror="document.title='pwned'">`);
  const begun = await mira.request(`/api/cloud/authorize/google_drive?display_name=${name}`);
  return {
    google,
    daemon,
    mira,
    url: begun.json.authorization_url as string,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

skipUnless(chromium, "Chromium is not installed").describe(
  "connecting a storage in a browser",
  () => {
    test.each([true, false])(
      "a storage is connected from the consent page to the final page (scripts allowed: %s)",
      async (javaScriptEnabled) => {
        await using place = await begin();
        await using context = await browser.newContext({ javaScriptEnabled });
        const events = watchPages(context);
        const page = await context.newPage();
        await page.goto(place.url);
        await page.getByLabel("ben@example.org").check();
        await page.getByRole("button", { name: "Allow" }).click();
        await page.getByRole("heading", { name: "Connect Google Drive?" }).waitFor();
        expect(await page.locator("main").textContent()).toContain("ben@example.org");
        expect((await place.mira.request("/api/cloud/connections")).json.total).toBe(0);
        await page.getByRole("button", { name: "Connect" }).click();
        await page.getByRole("heading", { name: "Google Drive is connected" }).waitFor();

        const text = await page.locator("main").textContent();
        expect(text).toContain(`<img src=x onerror="document.title='pwned'">`);
        expect(text).toContain("croft account mira");
        expect(await page.title()).toBe("Google Drive is connected");
        expect(await page.locator("img, script, iframe").count()).toBe(0);
        expect(events.problems).toEqual([]);
        const origins = new Set(events.requests.map((address) => new URL(address).origin));
        expect(origins).toEqual(new Set([place.google.origin, new URL(place.daemon.url).origin]));
        const { items } = (await place.mira.request("/api/cloud/connections")).json;
        expect(items).toMatchObject([{ provider: "google_drive", status: "connected" }]);

        // Going back and forth, or reloading the page, does not connect a second time.
        await page.reload();
        await page.getByRole("heading", { name: "Google Drive is not connected" }).waitFor();
        expect((await place.mira.request("/api/cloud/connections")).json.total).toBe(1);
      },
    );

    test("a victim on the start page of an attacker reads whose account it is for, and nothing is stored", async () => {
      await using place = await begin();
      await using victim = await browser.newContext();
      const page = await victim.newPage();
      await page.goto(place.url);
      await page.getByLabel("ben@example.org").check();
      await page.getByRole("button", { name: "Allow" }).click();
      await page.getByRole("heading", { name: "Connect Google Drive?" }).waitFor();
      expect(await page.locator("main").textContent()).toMatch(
        /ben@example\.org is about to be connected to the croft account mira/,
      );
      await page.close();
      expect((await place.mira.request("/api/cloud/connections")).json.total).toBe(0);
    });

    test("a callback address that is opened in a second browser connects nothing", async () => {
      await using place = await begin();
      await using attacker = await browser.newContext();
      await using victim = await browser.newContext();
      const first = await attacker.newPage();
      await first.goto(place.url);
      const vendorUrl = first.url();
      expect(new URL(vendorUrl).origin).toBe(place.google.origin);
      const second = await victim.newPage();
      await second.goto(vendorUrl);
      await second.getByRole("button", { name: "Allow" }).click();
      await second.getByRole("heading", { name: "Google Drive is not connected" }).waitFor();
      expect(await second.locator("main").textContent()).toContain("another browser");
      expect((await place.mira.request("/api/cloud/connections")).json.total).toBe(0);
    });

    test("a user who denies the consent sees that nothing was connected", async () => {
      await using place = await begin();
      await using context = await browser.newContext();
      const page = await context.newPage();
      await page.goto(place.url);
      await page.getByRole("button", { name: "Deny" }).click();
      await page.getByRole("heading", { name: "Google Drive is not connected" }).waitFor();
      expect(await page.locator("main").textContent()).toContain("Access was not granted");
      expect((await place.mira.request("/api/cloud/connections")).json.total).toBe(0);
    });

    test("the page is readable without width and in the dark, and no other page may frame it", async () => {
      await using place = await begin();
      await using context = await browser.newContext({
        colorScheme: "dark",
        viewport: { width: 320, height: 640 },
      });
      const page = await context.newPage();
      const callback = `${place.daemon.url}/api/cloud/authorize/google_drive/callback?state=none&error=${encodeURIComponent("<script>alert(1)</script>")}`;
      const response = await page.goto(callback);
      expect(response?.status()).toBe(400);
      expect(response?.headers()).toMatchObject({
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
      });
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(320);
      expect(await page.evaluate("getComputedStyle(document.body).backgroundColor")).toBe(
        "rgb(20, 23, 26)",
      );
      expect(await page.content()).not.toContain("alert(1)");
    });
  },
);
