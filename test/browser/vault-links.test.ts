import { readFile } from "node:fs/promises";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findChromium, launchChromium, watchPages } from "../support/browser.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { skipUnless } from "../support/skip.ts";
import { createPerson, type VaultPerson } from "../support/vault/vault-person.ts";

const executable = findChromium();
const withChromium = skipUnless(executable, "Chromium is not installed");

const HOSTILE = `"><img src=x onerror=alert(1)>.txt`;
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

let daemon: TestDaemon;
let browser: Browser;
let owner: VaultPerson;

withChromium.describe("links in a real browser", () => {
  beforeAll(async () => {
    daemon = await startTestDaemon();
    browser = await launchChromium(executable ?? "");
    owner = createPerson(daemon, "mira", "198.51.100.1");
    await owner.register();
    expect(await owner.signIn()).toMatchObject({ status: 200 });
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await daemon[Symbol.asyncDispose]();
  });

  test.each([
    ["light", 1280],
    ["dark", 360],
  ] as const)(
    "pages of links work without script and break no rule of axe: %s, %i pixels wide",
    async (colorScheme, width) => {
      await using context = await browser.newContext({
        baseURL: daemon.url,
        colorScheme,
        viewport: { width, height: 800 },
        // Axe needs scripts; the pages have none.
        acceptDownloads: true,
      });
      const events = watchPages(context);
      const page = await context.newPage();

      const picture = await linkTo({
        document_id: await upload("dot.png", Buffer.from(PIXEL, "base64"), "image/png"),
      });
      await page.goto(picture);
      expect(
        await page.locator("main img").evaluate((img) => (img as HTMLImageElement).width),
      ).toBe(1);
      await assertAccessible(page);

      const text = {
        document_id: await upload(HOSTILE, Buffer.from("<b>hello</b>"), "text/plain"),
      };
      await page.goto(await linkTo({ ...text, password: "open sesame" }));
      await assertAccessible(page);
      await page.getByLabel("Password").fill("wrong");
      await page.getByRole("button", { name: "Open" }).click();
      expect(await page.getByRole("alert").innerText()).toBe("The password is wrong.");
      await page.getByLabel("Password").fill("open sesame");
      await page.getByRole("button", { name: "Open" }).click();
      await page.getByText("<b>hello</b>").waitFor();
      expect(await page.locator("h1").innerText()).toBe(HOSTILE);
      await assertAccessible(page);
      const downloading = page.waitForEvent("download");
      await page.getByRole("link", { name: "Download" }).click();
      const path = await (await downloading).path();
      expect(await readFile(path, "utf8")).toBe("<b>hello</b>");

      const once = await linkTo({ ...text, max_downloads: 1 });
      await page.goto(once);
      const last = page.waitForEvent("download");
      await page.getByRole("link", { name: "Download" }).click();
      await (await last).path();
      await page.reload();
      await page.getByText("All downloads of this link are used").waitFor();
      await assertAccessible(page);

      await page.goto(await linkTo({ kind: "upload", message: "Send the scans.", max_files: 3 }));
      await page.getByText("Send the scans.").waitFor();
      await assertAccessible(page);
      await page.getByLabel("Files").setInputFiles([
        { name: "a.txt", mimeType: "text/plain", buffer: Buffer.from("a") },
        { name: "b.txt", mimeType: "text/plain", buffer: Buffer.from("b") },
      ]);
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByText("2 files have arrived.").waitFor();
      await assertAccessible(page);

      expect(events.requests.filter((address) => !address.startsWith(daemon.url))).toEqual([]);
      // A browser notes each response with an error status, of the wrong password and the used link.
      expect(events.problems.filter((text) => !text.startsWith("Failed to load resource"))).toEqual(
        [],
      );
    },
    60_000,
  );
});

async function upload(name: string, bytes: Buffer<ArrayBuffer>, type: string): Promise<string> {
  const body = new FormData();
  body.set("filename", name);
  body.set("file", new File([bytes], name, { type }));
  const answer = await owner.request("/api/documents/upload", { method: "POST", body });
  expect(answer).toMatchObject({ status: 201 });
  return answer.json.id;
}

async function linkTo(json: Readonly<Record<string, unknown>>): Promise<string> {
  const answer = await owner.request("/api/links", { json });
  expect(answer).toMatchObject({ status: 201 });
  return new URL(answer.json.url).pathname;
}

/** Asserts that a page breaks no rule of axe and does not scroll sideways. */
async function assertAccessible(page: Page): Promise<void> {
  const shot = process.env["CROFT_TEST_SCREENSHOTS"];
  if (shot !== undefined)
    await page.screenshot({ path: `${shot}/${Date.now()}.png`, fullPage: true });
  await page.evaluate(axe.source);
  const broken = await page.evaluate(async () => {
    const { axe: checker } = globalThis as unknown as { axe: typeof axe };
    const { violations } = await checker.run();
    return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
  });
  expect(broken).toEqual([]);
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  expect(overflow).toBe(0);
}
