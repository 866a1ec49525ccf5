import type axe from "axe-core";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findChromium, launchChromium } from "../support/browser.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { prepareAxe } from "../support/page-looks.ts";
import { skipUnless } from "../support/skip.ts";
import { createPerson, type VaultPerson } from "../support/vault/vault-person.ts";

const executable = findChromium();
const withChromium = skipUnless(executable, "Chromium is not installed");

/** HTML that would run a script or load a picture, as a name. */
const HOSTILE = `"'><script>alert(1)<-script><img alt=x src=x onerror=alert(1)>&lt;b&gt;.txt`;
const LONG = `${"a very long name ".repeat(14)}.txt`;
const PDF = `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]>>endobj
trailer<</Root 1 0 R>>
`;
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><script>alert(1)</script><rect width="20" height="20"/></svg>`;

let daemon: TestDaemon;
let browser: Browser;
let mira: VaultPerson;
const ids: Record<string, string> = {};

withChromium.describe("the vault in a real browser", () => {
  beforeAll(async () => {
    daemon = await startTestDaemon({ env: { CROFT_RATE_LIMITS: "off" } });
    browser = await launchChromium(executable ?? "");
    mira = await newPerson("mira");
    await newPerson("nora");
    await mira.request("/api/topics", { json: { name: HOSTILE.slice(0, 80) } });
    for (const [name, type, content] of [
      ["Invoice.txt", "text/plain", "An invoice of the electricity company"],
      [
        "notes.md",
        "text/markdown",
        "# Notes\n\n- [x] done\n\n<script>alert(1)</script>\n\n![x](https://example.org/x.png)",
      ],
      ["table.csv", "text/csv", "name,amount\nrent,900\n"],
      ["code.py", "text/x-python", "def main():\n    print(1)\n"],
      ["page.html", "text/html", "<h1>Hi</h1><script>alert(1)</script>"],
      ["drawing.svg", "image/svg+xml", SVG],
      ["file.pdf", "application/pdf", PDF],
      [HOSTILE, "text/plain", HOSTILE],
      [`a\u202egpj.exe עברית.txt`, "text/plain", "\u202eright to left"],
      [LONG, "application/octet-stream", "\0\u0001"],
    ] as const)
      ids[name] = await upload(mira, name, content, type);
    ids["dot.png"] = await upload(mira, "dot.png", Buffer.from(PIXEL, "base64"), "image/png");
    const document = { document_id: ids["Invoice.txt"], recipient_handle: "nora" };
    await mira.request("/api/shares", { json: document });
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await daemon[Symbol.asyncDispose]();
  });

  test("the vault's pages break no rule of axe, fit, run nothing of a file and load nothing from elsewhere, wide in light colours and narrow in dark ones", async () => {
    await using context = await newContext();
    const problems = watch(context);
    const page = await context.newPage();
    for (const path of [
      "/vault/sign-in",
      "/vault/forgot-password",
      "/vault/new-password?token=x",
      "/vault/none",
    ])
      await assertAccessible(page, path);
    await signIn(page, mira);
    for (const path of [
      "/vault",
      "/vault?view=tiles&sort=name",
      "/vault?q=invoice",
      "/vault?q=nothingatall",
      "/vault?topic=-",
      ...Object.values(ids).map((id) => `/vault/d/${id}`),
      `/vault/d/${ids["Invoice.txt"]}/delete`,
      `/vault/d/${ids["Invoice.txt"]}/versions`,
      "/vault/trash",
      "/vault/shared",
      "/vault/links",
      "/vault/shared?by=me",
      "/vault/add",
      "/vault/c",
      "/vault/c/add",
      "/vault/c/add?kind=s3",
      "/vault/account",
    ])
      await assertAccessible(page, path);
    expect(problems).toEqual([]);
  }, 300_000);

  test("a person signs in, finds, files, shares and deletes a document without JavaScript", async () => {
    const id = await upload(mira, "letter.txt", "A letter about the garden fence", "text/plain");
    await using context = await newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${daemon.url}/vault/d/${id}`);
    await fillSignIn(page, mira);
    expect(page.url()).toBe(`${daemon.url}/vault/d/${id}`);
    await page.getByText("A letter about the garden fence").waitFor();
    await page.getByLabel("Topic to add").fill("Garden");
    await page.getByRole("button", { name: "Add the topic" }).click();
    await page.getByRole("link", { name: "Garden" }).first().waitFor();
    await page.getByText("Share with a person").click();
    await page.getByLabel("Handle or e-mail address of the person").fill("nobody");
    await page.getByRole("button", { name: "Share", exact: true }).click();
    expect(await page.getByRole("alert").textContent()).toBe(
      "There is no active user of this handle.",
    );
    // The refused form stays open with what was typed.
    const recipient = page.getByLabel("Handle or e-mail address of the person");
    expect(await recipient.inputValue()).toBe("nobody");
    await recipient.fill("nora");
    await page.getByRole("button", { name: "Share", exact: true }).click();
    await page.getByText("may look at it").waitFor();
    await page.getByRole("link", { name: "Documents" }).first().click();
    await page.getByLabel("Search names and texts").fill("fence");
    await page.getByRole("button", { name: "Search" }).click();
    await page.locator("mark", { hasText: "fence" }).waitFor();
    await page.getByLabel("Choose letter.txt").check();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "Delete 1 document?" }).waitFor();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByText("Nothing was found.").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
  });

  test("the pages of administrators break no rule of axe and fit", async () => {
    await using context = await newContext();
    const page = await context.newPage();
    const keeper = createPerson(daemon, "keeper", "203.0.113.1");
    const email = daemon.first?.vault.email ?? "";
    await signIn(page, { ...keeper, email, password: daemon.first?.password ?? "" });
    for (const part of ["", "/users", "/audit", "/ai", "/jobs"])
      await assertAccessible(page, `/vault/admin${part}`);
  }, 120_000);

  test("a picture is shown as a tile, and code is coloured", async () => {
    await using context = await newContext();
    const page = await context.newPage();
    await signIn(page, mira);
    await page.goto(`${daemon.url}/vault?view=tiles&sort=name`);
    const width = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((image: HTMLImageElement) => image.naturalWidth);
    await expect.poll(() => width(".thumbnail img")).toBe(1);
    await page.goto(`${daemon.url}/vault/d/${ids["drawing.svg"]}`);
    await expect.poll(() => width("img.picture")).toBe(20);
    await page.goto(`${daemon.url}/vault/d/${ids["code.py"]}`);
    expect(await page.locator(".markup .k, .markup .kd, .markup .kn").count()).toBeGreaterThan(0);
  });
});

const newContext = (options: BrowserContextOptions = {}): Promise<BrowserContext> =>
  browser.newContext(options);

/** Records dialogs, errors of scripts, and responses of other servers. */
function watch(context: BrowserContext): string[] {
  const problems: string[] = [];
  context.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  context.on("weberror", (error) => problems.push(error.error().message));
  context.on("response", (response) => {
    const { protocol, host } = new URL(response.url());
    const isOwn = host === new URL(daemon.url).host || !protocol.startsWith("http");
    if (!isOwn) problems.push(`loaded ${response.url()}`);
  });
  return problems;
}

async function newPerson(handle: string): Promise<VaultPerson> {
  const person = createPerson(daemon, handle, "203.0.113.1");
  await person.register();
  await person.signIn();
  return person;
}

async function upload(
  person: VaultPerson,
  name: string,
  content: string | Buffer<ArrayBuffer>,
  type: string,
): Promise<string> {
  const form = new FormData();
  form.append("filename", name);
  form.append("file", new Blob([content], { type }), name);
  const { json } = await person.request("/api/documents/upload", { method: "POST", body: form });
  return json.id as string;
}

async function signIn(page: Page, person: VaultPerson): Promise<void> {
  await page.goto(`${daemon.url}/vault/sign-in`);
  await fillSignIn(page, person);
}

async function fillSignIn(page: Page, { email, password }: VaultPerson): Promise<void> {
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
}

/** Loads a page once and looks at it twice: colours depend on the scheme only, and everything else on the width only. */
async function assertAccessible(page: Page, path: string): Promise<void> {
  await prepareAxe(page);
  await page.goto(`${daemon.url}${path}`);
  for (const [colorScheme, width] of [
    ["light", 1280],
    ["dark", 360],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    const found = await page.evaluate(async () => {
      const { axe: checker } = globalThis as unknown as { axe: typeof axe };
      const { violations } = await checker.run({
        exclude: [".markup input[type=checkbox]", "iframe"],
      });
      const { scrollWidth, clientWidth } = document.documentElement;
      return {
        violations: violations.map(
          ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`,
        ),
        overflow: scrollWidth - clientWidth,
      };
    });
    expect(found, `${path}, ${width} pixels`).toEqual({ violations: [], overflow: 0 });
  }
}
