import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findChromium, launchChromium, type PageEvents, watchPages } from "../support/browser.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { createForgePeople } from "../support/forge/forge-people.ts";
import { assertLooks, assertShown } from "../support/page-looks.ts";
import { skipUnless } from "../support/skip.ts";

const executable = findChromium();
const withChromium = skipUnless(executable, "Chromium is not installed");

/** HTML that would run a script or load a picture, as a name. */
const HOSTILE = `"'><script>alert(1)</script><img src=x onerror=alert(1)>`;
const SHORT = HOSTILE.slice(0, 48);

const FORM = `name: "Bug ${SHORT.replaceAll('"', '\\"')}"
about: Something does not work
labels: [bug]
body:
  - type: input
    id: version
    attributes: { label: Version }
    validations: { required: true }
  - type: checkboxes
    id: terms
    attributes: { label: Checks, options: [{ label: I searched, required: true }] }
  - type: textarea
    id: steps
    attributes: { label: Steps }
`;

let daemon: TestDaemon;
let browser: Browser;
const people = createForgePeople(() => daemon);
const { by } = people;

withChromium.describe("working with issues in a real browser", () => {
  beforeAll(async () => {
    daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
    browser = await launchChromium(executable ?? "");
    for (const name of ["mira", "nora"]) await people.newUser(name);
    await people.api("POST", "/admin/users/mira/repos", { name: "hut", auto_init: true });
    await by("mira", "PUT", "/repos/mira/hut/collaborators/nora", { permission: "write" });
    const path = "/repos/mira/hut";
    const content = Buffer.from(FORM).toString("base64");
    await by("mira", "POST", `${path}/contents/.gitea/ISSUE_TEMPLATE/bug.yml`, { content });
    for (const name of ["bug", SHORT.slice(0, 40)])
      await by("mira", "POST", `${path}/labels`, { name, color: "d73a4a", description: HOSTILE });
    await by("mira", "POST", `${path}/milestones`, {
      title: SHORT,
      description: "<script>alert(1)</script> **First**",
    });
    await by("mira", "POST", `${path}/issues`, {
      title: HOSTILE,
      body: "See <b onclick=alert(1)>this</b>, @nora",
    });
    await by("mira", "PATCH", `${path}/issues/1`, { milestone: 1 });
    await by("mira", "POST", `${path}/issues/1/labels`, { labels: [SHORT.slice(0, 40)] });
    await by("mira", "POST", `${path}/issues/1/comments`, { body: "# One\n\n- [ ] ask" });
    await by("mira", "POST", `${path}/issues/1/reactions`, { content: "heart" });
    await people.api("POST", "/admin/users/mira/repos", { name: "empty" });
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await daemon[Symbol.asyncDispose]();
  });

  test("the pages break no rule of axe, fit, and run nothing of hostile names", async () => {
    await using context = await browser.newContext();
    const events = watchPages(context);
    const page = await signedIn(context, "nora");
    await page.goto(`${daemon.url}/notifications`);
    const thread = await page.locator(".list a.heading").first().getAttribute("href");
    for (const path of [
      "/mira/hut/issues",
      "/mira/hut/issues?q=zzz&state=closed",
      "/mira/hut/issues/new/choose",
      "/mira/hut/issues/new?template=bug.yml",
      "/mira/hut/issues/new?template=&title=x&labels=bug",
      "/mira/empty/issues",
      "/mira/hut/labels",
      "/mira/hut/milestones",
      "/mira/hut/milestones/new",
      "/mira/hut/milestone/1",
      "/issues?type=mentioned",
      "/notifications?all=true",
      thread ?? "",
      "/mira/hut/issues/1",
    ])
      await assertLooks(page, daemon.url + path);
    expect(await page.locator("h2 bdi").first().textContent()).toBe(HOSTILE);
    assertQuiet(events);
  }, 300_000);

  test.each([
    ["with JavaScript", true],
    ["without JavaScript", false],
  ] as const)(
    "an invited person opens, comments, attaches, labels, ticks, edits, closes and answers: %s",
    async (_name, javaScriptEnabled) => {
      await using context = await browser.newContext({ javaScriptEnabled });
      const events = watchPages(context);
      const page = await signedIn(context, "nora");
      await page.goto(`${daemon.url}/mira/hut/issues`);
      await page.getByRole("link", { name: "New issue" }).click();
      await page.getByRole("link", { name: /^Bug/ }).click();
      await page.getByLabel("Title").fill("The gate squeaks");
      await page.getByLabel("Version").fill("1.2");
      await page.getByLabel("I searched").check();
      await page.getByLabel("Steps").fill("Push *it*");
      await page.getByRole("button", { name: "Preview" }).click();
      await page.getByRole("region", { name: "Preview" }).getByText("Push it").waitFor();
      await page.getByLabel("Attach files").setInputFiles(file("hinge.txt"));
      await page.getByRole("button", { name: "Open issue" }).click();
      await page.getByText("hinge.txt").waitFor();
      await page.getByText("Version").first().waitFor();

      await page.getByLabel("Comment, in Markdown").fill("Mine\n\n- [ ] oil\n- [ ] wait");
      await page.getByLabel("Attach files").setInputFiles([file("a.txt"), file("b.txt")]);
      await page.getByRole("button", { name: "Comment", exact: true }).click();
      await page.getByText("b.txt").waitFor();
      expect(page.url()).toContain("#issuecomment-");

      const card = page.locator("article.card").last();
      await card.getByLabel("Task 2").check();
      if (!javaScriptEnabled) await card.getByRole("button", { name: "Save ticked" }).click();
      await expect.poll(() => readComments(page)).toMatchObject([{ body: /- \[x\] wait$/ }]);

      await page.getByText("Edit", { exact: true }).last().click();
      await card.getByLabel("Text, in Markdown").fill("Edited **text**");
      await card.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByText("Edited text").waitFor();

      const labels = page.getByRole("region", { name: "Labels" });
      await labels.getByText("Change").click();
      expect(await labels.getByLabel("bug").isChecked()).toBe(true);
      await labels.getByLabel("bug").uncheck();
      await labels.getByRole("button", { name: "Set labels" }).click();
      await labels.getByText("None").waitFor();
      const milestone = page.getByRole("region", { name: "Milestone" });
      await milestone.getByText("Change").click();
      await milestone.getByRole("combobox").selectOption({ index: 1 });
      await milestone.getByRole("button", { name: "Set milestone" }).click();
      await milestone.getByRole("link", { name: /script/ }).waitFor();

      await page.getByText("React", { exact: true }).first().click();
      await page.getByRole("button", { name: "rocket" }).first().click();
      await page.locator("button.reaction[aria-pressed=true]").waitFor();
      await page.getByLabel("Comment, in Markdown").fill("Done, see #1");
      await page.getByRole("button", { name: "Close", exact: true }).click();
      await page.locator(".state", { hasText: "closed" }).waitFor();
      const reference = page.getByRole("link", { name: "#1" }).last();
      expect(await reference.getAttribute("title")).toBe(`${HOSTILE} (open)`);
      if (javaScriptEnabled) await assertShown(page, "a closed issue");

      await page.getByRole("link", { name: "Notifications" }).click();
      await page.getByRole("link", { name: "All", exact: true }).click();
      await page.locator(".list a.heading", { hasText: "script" }).click();
      await page.getByLabel("Reply, in Markdown").fill("Read");
      await page.getByRole("button", { name: "Reply" }).click();
      await page.locator("article.card", { hasText: "Read" }).last().waitFor();
      assertQuiet(events);
    },
    120_000,
  );

  test("the script has keys, keeps drafts, attaches what is pasted, and shows local times", async () => {
    await using context = await browser.newContext({
      timezoneId: "Asia/Tokyo",
      permissions: ["clipboard-read", "clipboard-write"],
    });
    const events = watchPages(context);
    const page = await signedIn(context, "nora");
    await page.goto(`${daemon.url}/mira/hut/issues`);
    await page.keyboard.press("/");
    expect(await page.evaluate("document.activeElement.name")).toBe("q");
    await page.evaluate("document.activeElement.blur()");
    await page.keyboard.press("?");
    await page.getByRole("heading", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { name: "Keys" }).waitFor({ state: "hidden" });
    // The dialog gives the focus back a moment after it has closed.
    await expect
      .poll(async () => {
        await page.keyboard.press("j");
        return page.evaluate("document.activeElement.closest('.list > li.at') !== null");
      })
      .toBe(true);
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/issues\/\d+$/);
    await page.keyboard.press("g");
    await page.keyboard.press("i");
    await page.waitForURL(/\/hut\/issues$/);
    await page.goto(`${daemon.url}/mira/empty/issues`);
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toContain("croft issue create");
    // A page without a list searches everything.
    await page.goto(`${daemon.url}/user/settings`);
    await page.keyboard.press("/");
    await page.waitForURL(`${daemon.url}/explore`);

    await page.goto(`${daemon.url}/mira/hut/issues/1`);
    const time = page.locator("article time").first();
    expect(await time.getAttribute("title")).toMatch(/\(\d{4}-\d\d-\d\d \d\d:\d\d UTC\)$/);
    const field = page.getByLabel("Comment, in Markdown");
    await field.fill("A draft");
    await page.reload();
    expect(await field.inputValue()).toBe("A draft");
    await page.evaluate(() => {
      const data = new DataTransfer();
      data.items.add(new File(["bytes"], "pasted.txt"));
      const area = document.querySelector("form[enctype] textarea");
      const options = { clipboardData: data, bubbles: true, cancelable: true };
      area?.dispatchEvent(new ClipboardEvent("paste", options));
    });
    await page.getByText("pasted.txt").waitFor();
    await field.press("Control+Enter");
    await page.getByRole("link", { name: "pasted.txt" }).waitFor();
    expect(await field.inputValue()).toBe("");

    // The session ends while the person writes: the draft is there after the next sign-in.
    await field.fill("Not lost");
    await context.clearCookies();
    await page.getByRole("button", { name: "Comment", exact: true }).click();
    await signIn(page, "nora");
    await page.goto(`${daemon.url}/mira/hut/issues/1`);
    expect(await field.inputValue()).toBe("Not lost");
    assertQuiet(events, /403|422/);
  }, 120_000);
});

const file = (name: string) => ({ name, mimeType: "text/plain", buffer: Buffer.from(name) });

async function signIn(page: Page, name: string): Promise<void> {
  await page.goto(`${daemon.url}/user/login`);
  await page.getByLabel("User name or e-mail address").fill(name);
  await page.getByLabel("Password", { exact: true }).fill("user-password");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
}

async function signedIn(context: BrowserContext, name: string): Promise<Page> {
  const page = await context.newPage();
  await signIn(page, name);
  return page;
}

/** The comments on the issue that a page shows. */
async function readComments(page: Page): Promise<unknown> {
  const number = /issues\/(\d+)/.exec(page.url())?.[1];
  return (await by("mira", "GET", `/repos/mira/hut/issues/${number}/comments`)).json;
}

/** Fails when a page loaded anything from elsewhere, or the browser complained. */
function assertQuiet({ requests, problems }: PageEvents, expected = /^$/): void {
  expect(requests.filter((url) => !url.startsWith(daemon.url))).toEqual([]);
  expect(problems.filter((text) => !expected.test(text))).toEqual([]);
}
