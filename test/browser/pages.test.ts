import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findChromium, launchChromium } from "../support/browser.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { takeArtifactJob } from "../support/forge/artifact-job.ts";
import { createForgePeople } from "../support/forge/forge-people.ts";
import { createGitClient } from "../support/forge/git-client.ts";
import { createWorkflowRepository } from "../support/forge/workflow-repository.ts";
import { assertLooks, assertShown } from "../support/page-looks.ts";
import { skipUnless } from "../support/skip.ts";
import { corpus } from "./xss-corpus.ts";

const executable = findChromium();
const withChromium = skipUnless(executable, "Chromium is not installed");

/** HTML that would run a script or load a picture, as a name. */
const HOSTILE = `"'><script>alert(1)</script><img alt=x src=x onerror=alert(1)>&lt;b&gt;`;
/** The same as the name of a branch, which has no spaces. */
const HOSTILE_REF = `x"><img/src=x/onerror=alert(1)>'&amp;`;
const HOSTILE_ARTIFACT = `' onerror=alert(1) &lt;script&gt;alert(1)&lt;`;

let daemon: TestDaemon;
let browser: Browser;
let run: { readonly id: number; readonly job: number };
const people = createForgePeople(() => daemon);

withChromium.describe("the pages in a real browser", () => {
  beforeAll(async () => {
    daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
    browser = await launchChromium(executable ?? "");
    await people.newUser("mira");
    await makeRepository();
    await makePull();
    run = await makeRun();
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await daemon[Symbol.asyncDispose]();
  });

  test("pages break no rule of axe and fit, wide in light colours and narrow in dark ones", async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    for (const path of ["/", "/mira", "/club", "/mira/notes", "/user/recover_account?code=x"])
      await assertLooks(page, daemon.url + path);
    await assertLooks(page, `${daemon.url}/mira/none`, 404);
    await signIn(page);
    // Further pages are those of every-page.test.ts; these show texts and states that its repository lacks.
    for (const path of [
      "/mira/notes/issues/1",
      "/mira/notes/issues?state=closed",
      "/mira/notes/src/branch/main/README.md",
      "/mira/notes/src/branch/main/docs/long.txt",
      "/mira/notes/src/branch/main/docs/bytes",
      "/mira/notes/src/branch/main/docs/code.ts",
      "/mira/tea/pulls/1",
      `/mira/notes/actions/runs/${run.id}`,
      `/mira/notes/actions/runs/${run.id}/jobs/${run.job}`,
      "/notifications?all=true",
    ])
      await assertLooks(page, daemon.url + path);
    await assertRefusals(page);
    await context.close();
  }, 300_000);

  test("a person signs in, comments and signs out without JavaScript", async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${daemon.url}/mira/notes/issues/1`);
    await page.getByRole("link", { name: "Sign in" }).first().click();
    await fillSignIn(page);
    await page.getByLabel("Comment, in Markdown").fill("Written *in a browser*");
    await page.getByRole("button", { name: "Comment" }).click();
    await page.getByText("Written in a browser").waitFor();
    expect(page.url()).toContain("#issuecomment-");
    await page.getByRole("button", { name: "Star", exact: true }).click();
    await page.getByRole("button", { name: "Unstar" }).waitFor();
    expect(page.url()).toMatch(/\/mira\/notes\/issues\/1\?page=1$/);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("link", { name: "Sign in" }).waitFor();
    await context.close();
  });

  test("a pull request is reviewed and merged without JavaScript", async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${daemon.url}/mira/tea/pulls/1`);
    await page.getByRole("link", { name: "Sign in" }).first().click();
    await fillSignIn(page);
    await page.getByText("Why green?").waitFor();
    await page.getByLabel("Review, in Markdown").fill("Mine");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("approve your own pull is not allowed").waitFor();
    await page.getByRole("link", { name: "Changes (1)" }).click();
    await page.locator(".diff .lines").getByRole("link", { name: "1", exact: true }).click();
    await page.getByRole("link", { name: "Suggest a change" }).click();
    await page.getByLabel("Comment on line 1, in Markdown").fill("```suggestion\nblack\n```");
    await page.getByRole("button", { name: "Comment", exact: true }).click();
    await page.getByRole("button", { name: "Apply suggestion" }).click();
    await page.waitForURL(/\/mira\/tea\/pulls\/1$/);
    // The commit of the suggestion is compared with the base first.
    const merge = page.getByRole("button", { name: "Merge as one commit" });
    await expect
      .poll(async () => {
        await page.reload();
        return merge.count();
      })
      .toBe(1);
    await merge.click();
    await page.getByText("merged by mira").waitFor();
    await context.close();
  });

  test("tables scroll on a phone instead of breaking their words, and numbers follow titles of any script", async () => {
    const row = `|${" Column |".repeat(9)}`;
    await people.by("mira", "POST", "/repos/mira/notes/issues", {
      title: "البوابة تصر",
      body: `${row}\n|${"---|".repeat(9)}\n${row}\n`,
    });
    const context = await browser.newContext({ viewport: { width: 390, height: 900 } });
    const page = await context.newPage();
    const failed: string[] = [];
    page.on("response", (response) => {
      if (response.status() >= 400) failed.push(response.url());
    });
    await page.goto(`${daemon.url}/mira/notes/issues/3`);
    await assertShown(page, "an issue with a wide table");
    const seen = await page.evaluate(() => {
      const head = document.createRange();
      head.selectNodeContents(document.querySelector("th")!);
      const leftOf = (selector: string) =>
        document.querySelector(selector)!.getBoundingClientRect().left;
      return { lines: head.getClientRects().length, ordered: leftOf("h2 bdi") < leftOf("h2 span") };
    });
    expect(seen).toEqual({ lines: 1, ordered: true });
    expect(failed).toEqual([]);
    await context.close();
  });

  test("pictures of a README in the repository are loaded, and an SVG with a script is saved", async () => {
    const context = await browser.newContext();
    const problems = watch(context);
    const page = await context.newPage();
    await page.goto(`${daemon.url}/mira/pictures`);
    for (const alt of ["dot", "drawing"]) {
      const picture = page.getByAltText(alt);
      const width = () => picture.evaluate((image: HTMLImageElement) => image.naturalWidth);
      await expect.poll(width).toBeGreaterThan(0);
    }
    await assertLooks(page, `${daemon.url}/mira/pictures/src/branch/main/drawing.svg`);
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "Raw", exact: true }).click();
    expect((await download).suggestedFilename()).toBe("drawing.svg");
    expect(problems).toEqual([]);
    await context.close();
  });

  test("code is coloured, and the number of a line stands beside it", async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${daemon.url}/mira/notes/src/branch/main/docs/code.ts#L4`);
    const colourOf = (text: string) =>
      page
        .locator(".markup span", { hasText: new RegExp(`^${text}$`) })
        .first()
        .evaluate((element) => getComputedStyle(element).color);
    const colours = await Promise.all(["const", '"42"', "answer"].map(colourOf));
    expect(new Set(colours).size).toBe(3);
    const top = async (selector: string) => (await page.locator(selector).boundingBox())?.y ?? 0;
    const code = await page.getByText("const", { exact: true }).boundingBox();
    expect(Math.abs((await top("#L4")) - (code?.y ?? 0))).toBeLessThan(3);
    expect(await page.locator(".lines a").count()).toBe(5);
    await page.goto(`${daemon.url}/mira/notes/issues/1`);
    expect(await colourOf("const")).toBe(colours[0]);
    await context.close();
  });

  test("no text of the corpus runs a script, loads from elsewhere or leaves the page", async () => {
    const texts = Object.values(corpus)
      .flat()
      .map((text) => text.replace(/^FILE:[^:]+:/, ""))
      .filter((text) => text.trim() !== "" && !text.includes("\0"));
    const path = "/repos/mira/notes/issues";
    const { number } = (await people.by("mira", "POST", path, { title: "<script>x</script>" }))
      .json;
    // Several in one comment, apart from each other, so that the pages stay few.
    for (let at = 0; at < texts.length; at += 5)
      await people.by("mira", "POST", `${path}/${number}/comments`, {
        body: texts.slice(at, at + 5).join("\n\n---\n\n"),
      });
    const context = await browser.newContext();
    const problems = watch(context);
    const page = await context.newPage();
    let pages = 0;
    for (let next: string | null = `/mira/notes/issues/${number}`; next !== null; pages += 1) {
      const address = new URL(next, daemon.url).href;
      await page.goto(address);
      expect(page.url()).toBe(address);
      expect(await page.locator("script:not(head > script)").count()).toBe(0);
      const link = page.locator('a[rel="next"]');
      next =
        (await link.count()) === 0
          ? null
          : await link.evaluate(({ href }: HTMLAnchorElement) => href);
    }
    expect(pages).toBeGreaterThan(2);
    expect(problems).toEqual([]);
    await context.close();
  }, 180_000);

  test("names of branches, artifacts, jobs and activities run nothing", async () => {
    const paths = await makeHostileNames();
    const context = await browser.newContext();
    const problems = watch(context);
    const page = await context.newPage();
    const active = page.locator(
      "script:not(head > script), iframe, object, embed, base, main img:not(.markup img, h1 img), [onerror], [onclick], a[href^='javascript:' i]",
    );
    let shown = "";
    for (const path of paths) {
      await page.goto(`${daemon.url}${path}`);
      expect(await active.count(), path).toBe(0);
      await assertShown(page, path);
      shown += await page.locator("main").innerText();
    }
    for (const text of [HOSTILE, HOSTILE_REF, HOSTILE_ARTIFACT, "Artifacts", "Recent activity"])
      expect(shown).toContain(text);
    expect(shown).not.toContain("\u202e");
    expect(problems).toEqual([]);
    await context.close();
  }, 180_000);
});

/** Makes objects whose names and texts are HTML, wherever a page shows one. Returns the paths of those pages. */
async function makeHostileNames(): Promise<readonly string[]> {
  await using git = await createGitClient();
  const runner = `runner ${HOSTILE}`;
  const repository = createWorkflowRepository({ daemon, people, git }, "mira", "hostile", runner);
  await repository.create();
  const { by } = people;
  const path = "/repos/mira/hostile";
  const text = JSON.stringify(HOSTILE);
  const steps = `[{ name: ${text}, run: make }]`;
  await repository.push(
    {
      "ci.yml": `name: ${text}\nrun-name: ${text}\non: push\njobs:\n  build: { name: ${text}, runs-on: hostile, steps: ${steps} }\n`,
    },
    HOSTILE,
  );
  for (const ref of [`refs/heads/${HOSTILE_REF}`, `refs/tags/${HOSTILE_REF}`])
    expect(await git.in("hostile", "push", "-q", "origin", `HEAD:${ref}`)).toMatchObject({
      exitCode: 0,
    });
  await repository.waitForRuns(2);
  const job = await takeArtifactJob(daemon, repository);
  // The service refuses angle brackets, which no file name has on Windows.
  for (const name of [HOSTILE_ARTIFACT, "a\u202egpj.exe"])
    expect((await job.upload(name, "bytes")).json).toMatchObject({ ok: true });
  await job.summarize(0, HOSTILE);
  await job.endLog(HOSTILE, `\u001b]0;title\u0007${HOSTILE}`);
  await job.end("FAILURE");
  await by("mira", "PATCH", path, { description: HOSTILE });
  const short = HOSTILE.slice(0, 30);
  const label = await by("mira", "POST", `${path}/labels`, { name: short, color: "ff8800" });
  const milestone = await by("mira", "POST", `${path}/milestones`, { title: short });
  const issue = {
    title: HOSTILE,
    body: HOSTILE,
    labels: [label.json.id],
    milestone: milestone.json.id,
  };
  expect((await by("mira", "POST", `${path}/issues`, issue)).status).toBe(201);
  await by("mira", "POST", `${path}/issues/1/comments`, { body: HOSTILE });
  await by("mira", "PATCH", `${path}/issues/1`, { state: "closed" });
  const home = "/mira/hostile";
  const runs = await repository.runs();
  const jobs = await Promise.all(
    runs.map(async ({ id }) => (await repository.jobs(id)).map((each) => `${id}/jobs/${each.id}`)),
  );
  return [
    "/mira",
    home,
    `${home}/branches`,
    `${home}/commits/branch/main`,
    `${home}/src/branch/${encodeURIComponent(HOSTILE_REF)}`,
    `${home}/issues?state=closed`,
    `${home}/issues/1`,
    `${home}/actions`,
    ...runs.map(({ id }) => `${home}/actions/runs/${id}`),
    ...jobs.flat().map((each) => `${home}/actions/runs/${each}`),
  ];
}

/** Records the forbidden actions of a page: dialogs, windows, and responses of other servers. */
function watch(context: BrowserContext): string[] {
  const problems: string[] = [];
  context.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  context.on("weberror", (error) => problems.push(error.error().message));
  context.on("response", (response) => {
    const { host } = new URL(response.url());
    if (host !== new URL(daemon.url).host) problems.push(`loaded ${response.url()}`);
  });
  return problems;
}

async function makeRepository(): Promise<void> {
  const { api, by } = people;
  const text =
    "# Notes\n\n- [x] done\n\n```ts\nconst a = 1;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
  const repository = { name: "notes", auto_init: true, description: "Things to keep" };
  await people.api("POST", "/admin/users/mira/repos", repository);
  await by("mira", "POST", "/repos/mira/notes/labels", { name: "bug", color: "ff8800" });
  await by("mira", "POST", "/repos/mira/notes/milestones", { title: "1.0" });
  await by("mira", "POST", "/repos/mira/notes/issues", {
    title: "The gate squeaks",
    body: text,
    milestone: 1,
    assignees: ["mira"],
  });
  await by("mira", "POST", "/repos/mira/notes/issues/1/labels", { labels: ["bug"] });
  await by("mira", "POST", "/repos/mira/notes/issues/1/comments", { body: text });
  await by("mira", "POST", "/repos/mira/notes/issues/1/reactions", { content: "heart" });
  await makePictures();
  await api("POST", "/admin/users/mira/repos", { name: "empty" });
  await api("POST", "/admin/users/mira/orgs", { username: "club", description: "A club" });
  const files = [
    ["docs/long.txt", "a very long line ".repeat(200)],
    ["docs/bytes", "\0\u0001\u0002"],
    ["docs/code.ts", '// A comment\n/* of\n   three lines */\nconst answer = "42";\nanswer;\n'],
    ["docs/file with a rather long name that must break somewhere on a narrow screen.txt", "x"],
  ].map(([path, text]) => ({
    operation: "create",
    path,
    content: Buffer.from(text ?? "").toString("base64"),
  }));
  await by("mira", "POST", "/repos/mira/notes/contents", { files });
  await people.newUser("nora");
  await by("nora", "POST", "/repos/mira/notes/issues", { title: "For the inbox" });
  await daemon.request("/api/packages/mira/generic/box/1/lid", {
    method: "PUT",
    token: people.tokenOf("mira"),
    body: "bytes",
  });
}

/** Runs a workflow of one job with a log and a failure, for its pages. */
async function makeRun(): Promise<{ readonly id: number; readonly job: number }> {
  await using git = await createGitClient();
  const repository = createWorkflowRepository({ daemon, people, git }, "mira", "notes");
  const workflow =
    "on: push\njobs:\n  build: { runs-on: notes, steps: [{ run: make }] }\n  later: { runs-on: none, steps: [{ run: x }] }\n";
  const content = Buffer.from(workflow).toString("base64");
  await people.by("mira", "POST", "/repos/mira/notes/contents/.gitea/workflows/ci.yml", {
    content,
    message: "Build",
  });
  const { id } = await repository.waitForRuns(1);
  const job = await takeArtifactJob(daemon, repository);
  await job.upload("report", "bytes");
  await job.summarize(0, "# Summary\n\n- made");
  await job.endLog("make: nothing to be done");
  await job.end("FAILURE");
  const build = (await repository.jobs(id)).find(({ name }) => name === "build");
  return { id, job: build?.id ?? 0 };
}

/** A pull request with a review that has a comment on a line. */
async function makePull(): Promise<void> {
  await people.api("POST", "/admin/users/mira/repos", { name: "tea", auto_init: true });
  const by = (method: string, path: string, body: object) =>
    people.by("mira", method, `/repos/mira/tea/${path}`, body);
  const content = Buffer.from("green\n").toString("base64");
  await by("POST", "contents/tea.txt", { content, new_branch: "topic" });
  const opened = { head: "topic", base: "main", title: "Add <b>tea</b>", body: "It is **green**." };
  expect((await by("POST", "pulls", opened)).status).toBe(201);
  await by("POST", "pulls/1/reviews", {
    event: "COMMENT",
    body: "Which *tea*?",
    comments: [{ path: "tea.txt", body: "Why green?", new_position: 1 }],
  });
}

async function makePictures(): Promise<void> {
  await people.api("POST", "/admin/users/mira/repos", { name: "pictures" });
  const pixel =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const drawing =
    "<svg xmlns='http://www.w3.org/2000/svg' width='20' height='20'><script>alert(1)</script><rect width='20' height='20'/></svg>";
  const readme = "![dot](dot.png) ![drawing](drawing.svg)";
  for (const [path, content] of [
    ["README.md", Buffer.from(readme).toString("base64")],
    ["dot.png", pixel],
    ["drawing.svg", Buffer.from(drawing).toString("base64")],
  ])
    await people.by("mira", "POST", `/repos/mira/pictures/contents/${path}`, { content });
}

/** Pages with the text of a refusal, which a screen reader announces. */
async function assertRefusals(page: Page): Promise<void> {
  await page.goto(`${daemon.url}/user/settings/change_password`);
  await page.getByLabel("Current password").fill("user-password");
  await page.getByLabel("New password", { exact: true }).fill("one");
  await page.getByLabel("New password again").fill("two");
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByRole("alert").waitFor();
  await assertShown(page, "a refused change of the password");
}

async function signIn(page: Page): Promise<void> {
  await page.goto(`${daemon.url}/user/login`);
  await fillSignIn(page);
}

async function fillSignIn(page: Page): Promise<void> {
  await page.getByLabel("User name or e-mail address").fill("mira");
  await page.getByLabel("Password").fill("user-password");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
}
