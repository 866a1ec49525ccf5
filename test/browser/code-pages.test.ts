import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findChromium, launchChromium, watchPages } from "../support/browser.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { createForgePeople } from "../support/forge/forge-people.ts";
import { assertLooks } from "../support/page-looks.ts";
import { skipUnless } from "../support/skip.ts";
import { HOSTILE_BRANCH, HOSTILE_FILE, makeCodeRepository } from "./code-repository.ts";

const executable = findChromium();
const withChromium = skipUnless(executable, "Chromium is not installed");

let daemon: TestDaemon;
let browser: Browser;
const people = createForgePeople(() => daemon);
const home = "/mira/tea";
const branch = HOSTILE_BRANCH.split("/").map(encodeURIComponent).join("/");
const file = `names/${encodeURIComponent(HOSTILE_FILE)}`;

const paths = [
  "",
  "/src/branch/main/docs",
  "/src/branch/main/names",
  "/src/branch/main/src/main.ts",
  "/src/branch/main/docs/guide.md",
  "/src/branch/main/docs/guide.md?display=source",
  "/src/branch/main/docs/table.csv",
  "/src/branch/main/docs/note.ipynb",
  "/src/branch/main/docs/dot.png",
  "/src/branch/main/docs/sound.mp3",
  "/src/branch/main/docs/paper.pdf",
  "/src/branch/main/docs/bytes",
  "/src/branch/main/link",
  "/src/branch/main/broken",
  "/src/branch/main/large.bin",
  "/src/branch/main/long%20line.txt",
  `/src/branch/main/${file}`,
  "/src/branch/main/names/%EF%BF%BD%EF%BF%BD",
  `/src/branch/${branch}`,
  "/commits/branch/main",
  "/commits/branch/main/src/main.ts",
  "/commit/main",
  "/commit/main?style=split&whitespace=ignore-all",
  "/blame/branch/main/src/main.ts",
  `/blame/branch/${branch}/${file}`,
  "/find/branch/main?q=main",
  "/search?q=value",
  "/compare/main...topic",
  "/_edit/main/src/main.ts",
  `/_edit/${branch}/${file}`,
  "/_delete/main/README.md",
];

withChromium.describe("the pages of code in a real browser", () => {
  beforeAll(async () => {
    daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
    browser = await launchChromium(executable ?? "");
    await people.newUser("mira");
    await makeCodeRepository(daemon, people);
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await daemon[Symbol.asyncDispose]();
  });

  test("they break no rule of axe, fit, and run nothing of hostile names", async () => {
    const context = await browser.newContext();
    const events = watchPages(context);
    const page = await context.newPage();
    const dialogs: string[] = [];
    page.on("dialog", (dialog) => {
      dialogs.push(page.url());
      void dialog.dismiss();
    });
    await signIn(page);
    for (const path of paths) await assertLooks(page, daemon.url + home + path);
    expect(dialogs).toEqual([]);
    expect(events.problems).toEqual([]);
    expect(events.requests.filter((url) => !url.startsWith(daemon.url))).toEqual([]);
    await context.close();
  }, 300_000);

  test("a person changes a file on a new branch, and compares and deletes it, without JavaScript", async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await signIn(page);
    await page.goto(`${daemon.url}${home}/src/branch/main/src/main.ts`);
    await page.getByRole("link", { name: "Edit" }).click();
    await page.getByLabel("Text").fill("export const changed = true;\n");
    await page.getByLabel("Message").fill("Change it all");
    await page.getByLabel("Commit to a new branch and open a pull request").check();
    await page.getByRole("button", { name: "Preview" }).click();
    await page.getByRole("region", { name: "Preview" }).getByText("changed").waitFor();
    expect(await page.getByLabel("Message").inputValue()).toBe("Change it all");
    await page.getByRole("button", { name: "Commit", exact: true }).click();
    await page.getByRole("heading", { name: "Change it all" }).waitFor();
    expect(page.url()).toMatch(/\/mira\/tea\/pulls\/\d+$/);
    await page.goto(`${daemon.url}${home}/branches`);
    await page.getByText("1 ahead, 0 behind").waitFor();
    await page.goto(`${daemon.url}${home}/src/branch/main`);
    await page.getByText("branch main").click();
    await page.getByRole("link", { name: "topic", exact: true }).click();
    await page.getByRole("link", { name: "topic.txt" }).click();
    await page.getByRole("link", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Delete the file" }).click();
    await page.waitForURL(`**${home}/src/branch/topic`);
    expect(await page.getByRole("link", { name: "topic.txt", exact: true }).count()).toBe(0);
    await context.close();
  });

  test("lines are marked by the address, extended with Shift, and kept by the permanent address", async () => {
    const page = await browser.newPage();
    await page.goto(`${daemon.url}${home}/src/branch/main/src/main.ts#L3-L5`);
    const marked = () => page.locator(".lines a.marked").allTextContents();
    await expect.poll(marked).toEqual(["3", "4", "5"]);
    await page.locator("#L7").click({ modifiers: ["Shift"] });
    await expect.poll(marked).toEqual(["3", "4", "5", "6", "7"]);
    await page.keyboard.press("y");
    await page.waitForURL(/\/src\/commit\/[0-9a-f]{40}\/src\/main\.ts#L3-L7$/);
    await page.goto(`${daemon.url}${home}/find/branch/main`);
    await page.getByLabel("Words of the path").fill("guide docs");
    const shown = () => page.locator("#found li:visible").allTextContents();
    await expect
      .poll(async () => (await shown()).map((text) => text.trim()))
      .toEqual(["docs/guide.md"]);
    await page.close();
  });
});

async function signIn(page: Page): Promise<void> {
  await page.goto(`${daemon.url}/user/login`);
  await page.getByLabel("User name or e-mail address").fill("mira");
  await page.getByLabel("Password").fill("user-password");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
}
