import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomBytes } from "node:crypto";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findChromium, launchChromium, watchPages } from "../support/browser.ts";
import { skipUnless } from "../support/skip.ts";
import {
  connectFolder,
  type FolderDaemon,
  startFolderDaemon,
} from "../support/vault/local-folders.ts";

const executable = findChromium();
const withChromium = skipUnless(executable, "Chromium is not installed");

let folders: FolderDaemon;
let browser: Browser;
let files: string;

withChromium.describe("the script of the vault's pages", () => {
  beforeAll(async () => {
    folders = await startFolderDaemon();
    browser = await launchChromium(executable ?? "");
    files = await mkdtemp(join(tmpdir(), "croft-uploads-"));
    for (const [name, bytes] of [
      ["one.bin", 100],
      ["large.bin", 9 * 1024 * 1024],
      ["empty.bin", 0],
    ] as const)
      await writeFile(join(files, name), randomBytes(bytes));
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await rm(files, { recursive: true });
    await folders.stop();
  });

  test("files that are dropped on an empty list of documents are uploaded", async () => {
    await using context = await browser.newContext();
    const page = await signedIn(context);
    await page.goto(`${folders.daemon.url}/vault`);
    await page.getByText("You can drop files and folders anywhere on this page.").waitFor();
    const drop = (names: readonly string[]) =>
      page.evaluate((dropped) => {
        const dataTransfer = new DataTransfer();
        for (const name of dropped) dataTransfer.items.add(new File([name], name));
        dispatchEvent(new DragEvent("drop", { dataTransfer, cancelable: true }));
      }, names);
    await drop([]);
    await page.getByText("These are no files.").waitFor();
    await drop(["one.txt", "two.txt"]);
    await page.waitForURL("**/vault/add");
    await page.getByText("2 of 2 uploaded").waitFor();
    const { json } = await folders.mira.request("/api/documents");
    expect(json.total).toBe(2);
    for (const { id } of json.items)
      await folders.mira.request(`/api/documents/${id}`, { method: "DELETE" });
  }, 60_000);

  test("uploads several documents, shows the reason of a refused one, and moves by keys in the list", async () => {
    await using context = await browser.newContext();
    const events = watchPages(context);
    const page = await signedIn(context);
    await page.goto(`${folders.daemon.url}/vault/add`);
    await page.setInputFiles("input[name=file]", [
      join(files, "one.bin"),
      join(files, "empty.bin"),
    ]);
    await page.getByText("2 of 2 uploaded").waitFor();
    await page.setInputFiles("input[name=file]", {
      name: `${"n".repeat(300)}.txt`,
      mimeType: "text/plain",
      buffer: Buffer.from("x"),
    });
    await page.getByText("At most 255 characters").waitFor();
    await page.getByText("2 of 3 uploaded, 1 refused").waitFor();
    await page.goto(`${folders.daemon.url}/vault?sort=name`);
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await page.keyboard.press("j");
    await page.getByText("1 chosen").waitFor();
    expect(await page.locator("[data-row].at").textContent()).toContain("one.bin");
    await page.getByLabel("All").check();
    await page.getByText("2 chosen").waitFor();
    await page.keyboard.press("?");
    await page.getByRole("heading", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    expect(await page.evaluate("document.activeElement.name")).toBe("q");
    await page.locator("[data-row].at a[data-open]").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "one.bin" }).waitFor();
    const isOwn = (url: string) => url.startsWith(folders.daemon.url);
    expect(events.requests.filter((url) => !isOwn(url))).toEqual([]);
    // The refused upload is the one response that is an error.
    expect(events.problems.filter((text) => !text.includes("422"))).toEqual([]);
  });

  test("goes on with an upload into a storage where a lost connection and a reload ended it", async () => {
    const { base, folder } = await connectFolder(folders, folders.mira, "disk");
    await using context = await browser.newContext();
    const page = await signedIn(context);
    const offsets: string[] = [];
    let lost = 0;
    await page.route("**/uploads/*", async (route) => {
      const offset = route.request().headers()["upload-offset"];
      if (offset === undefined) return route.continue();
      offsets.push(offset);
      // The second part is lost until the page is open again.
      if (offset !== "0" && lost === 0) {
        lost += 1;
        return route.abort("connectionreset");
      }
      return route.continue();
    });
    await page.goto(`${folders.daemon.url}/vault/c/${base.split("/").at(-1)}`);
    await page.setInputFiles("input[name=file]", join(files, "large.bin"));
    await page.getByText("No connection; it goes on by itself.").waitFor();
    await page.reload();
    await page.getByText("1 of 1 uploaded").waitFor();
    expect(offsets).toEqual(["0", String(8 * 1024 * 1024), String(8 * 1024 * 1024)]);
    expect(await readFile(join(folder, "large.bin"))).toEqual(
      await readFile(join(files, "large.bin")),
    );
    await page.reload();
    await page.getByText("Drop files or folders").waitFor();
    expect(await page.locator(".uploads li").count()).toBe(0);
  });

  test("pauses and resumes, and an ended session leaves the files waiting for the next sign-in", async () => {
    await using context = await browser.newContext();
    const page = await signedIn(context);
    await page.goto(`${folders.daemon.url}/vault/add`);
    await context.clearCookies();
    await page.setInputFiles("input[name=file]", {
      name: "waits.txt",
      mimeType: "text/plain",
      buffer: Buffer.from("waits"),
    });
    await page.getByText("Sign in again, then open this page: the files wait.").waitFor();
    await page.getByRole("button", { name: "Resume" }).waitFor();
    await fillSignIn(page, `${folders.daemon.url}/vault/add`);
    await page.getByText("1 of 1 uploaded").waitFor();
    const { json } = await folders.mira.request("/api/documents?q=waits");
    expect(json.total).toBe(1);
  });
});

async function signedIn(context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  await fillSignIn(page, `${folders.daemon.url}/vault`);
  return page;
}

async function fillSignIn(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await page.getByLabel("E-mail address").fill(folders.mira.email);
  await page.getByLabel("Password").fill(folders.mira.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
}
