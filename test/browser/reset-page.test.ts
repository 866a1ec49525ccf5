import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createOauthPage } from "../../daemon/vault/pages/oauth-pages.tsx";
import { createResetPage } from "../../daemon/vault/pages/reset-page.tsx";
import { findChromium, launchChromium, watchPages } from "../support/browser.ts";
import { skipUnless } from "../support/skip.ts";

const chromium = findChromium();
let browser: Browser;

beforeAll(async () => {
  if (chromium !== undefined) browser = await launchChromium(chromium);
});
afterAll(() => browser?.close());

interface Confirmation {
  readonly status: number;
  readonly body: unknown;
}

/** Serves the page and an API with given responses; records the requests. */
async function serve(confirm: Confirmation, base = "") {
  const sent: unknown[] = [];
  const paths: string[] = [];
  const page = await createResetPage('croft & <b>"friends"</b>');
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "", "http://x");
    paths.push(pathname);
    if (request.method === "GET" && pathname === `${base}/password-reset/confirm`) {
      response.writeHead(200, page.headers).end(page.html);
      return;
    }
    if (request.method !== "POST" || pathname !== `${base}/api/auth/password-reset/confirm`) {
      response.writeHead(404).end();
      return;
    }
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      sent.push({ ...JSON.parse(body), cookie: request.headers.cookie });
      response
        .writeHead(confirm.status, { "Content-Type": "application/json" })
        .end(JSON.stringify(confirm.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    sent,
    paths,
    origin,
    url: `${origin}${base}/password-reset/confirm?token=the.reset.token`,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

const updated: Confirmation = {
  status: 200,
  body: { message: "Password updated. Please sign in." },
};
const GOOD = "Correct-Horse-7";

/** The contrast of two colours as WCAG counts it: 4.5 is enough for text. */
function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = (color.match(/[\d.]+/g) ?? []).slice(0, 3).map((text) => {
    const part = Number(text) / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

async function fill(page: Page, password: string, again = password): Promise<void> {
  await page.getByLabel("New password", { exact: true }).fill(password);
  await page.getByLabel("New password again").fill(again);
  await page.getByRole("button", { name: "Set password" }).click();
}

const withChromium = skipUnless(chromium, "Chromium is not installed");

withChromium.describe("the page of a reset link", () => {
  test("hands the password and the token over, once they agree with the rules", async () => {
    await using server = await serve(updated);
    await using context = await browser.newContext();
    const events = watchPages(context);
    const page = await context.newPage();
    await page.goto(server.url);

    await fill(page, "weak");
    const alert = page.getByRole("alert");
    expect(await alert.textContent()).toBe("This password does not meet all rules yet.");
    await fill(page, GOOD, `${GOOD}x`);
    expect(await alert.textContent()).toBe("The two passwords differ.");
    expect(server.sent).toEqual([]);
    await fill(page, GOOD);
    const done = page.getByRole("status");
    await done.waitFor();
    expect(await done.textContent()).toBe("Password updated. Please sign in.");
    expect(await page.getByLabel("New password again").isVisible()).toBe(false);
    expect(server.sent).toEqual([
      { token: "the.reset.token", new_password: GOOD, cookie: undefined },
    ]);
    expect(events.problems).toEqual([]);
    expect(events.requests.filter((url) => !url.startsWith(server.origin))).toEqual([]);
  });

  test("shows which rules are met while one types", async () => {
    await using server = await serve(updated);
    await using context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(server.url);
    const met = () => page.locator('#rules li[data-met="yes"]').allTextContents();
    expect(await page.locator("#rules li").count()).toBe(5);
    expect(await met()).toEqual([]);
    await page.getByLabel("New password", { exact: true }).fill("abc-1");
    expect(await met()).toEqual([
      "a lower-case letter, met",
      "a digit, met",
      "a special character, met",
    ]);
    await page.getByLabel("New password", { exact: true }).fill(GOOD);
    expect(await met()).toHaveLength(5);
  });

  test.each([
    [
      { status: 400, body: { detail: "Invalid or expired reset link" } },
      "Invalid or expired reset link",
    ],
    [
      { status: 422, body: { detail: "This password has appeared in a data breach." } },
      "This password has appeared in a data breach.",
    ],
    [
      { status: 422, body: { detail: [{ loc: ["body"], msg: "Too long", type: "x" }] } },
      "Too long",
    ],
    [
      { status: 429, body: { detail: "<img src=x onerror=alert(1)>" } },
      "<img src=x onerror=alert(1)>",
    ],
  ])("repeats the API's refusal as text, and lets one try again", async (confirmation, text) => {
    await using server = await serve(confirmation);
    await using context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(server.url);
    await fill(page, GOOD);
    await page.getByText(text).waitFor();
    expect(await page.getByRole("alert").textContent()).toBe(text);
    expect(await page.getByRole("button", { name: "Set password" }).isEnabled()).toBe(true);
    expect(await page.locator("img").count()).toBe(0);
  });

  test("takes the token out of the address bar, and sends it nowhere as a referrer", async () => {
    await using server = await serve(updated);
    await using context = await browser.newContext();
    const page = await context.newPage();
    const response = await page.goto(server.url);
    expect(page.url()).toBe(`${server.origin}/password-reset/confirm`);
    expect(response?.headers()).toMatchObject({
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
      "x-frame-options": "DENY",
    });
    expect(await page.content()).not.toContain("the.reset.token");
    await page.reload();
    expect(await page.getByRole("alert").textContent()).toContain("incomplete");
    expect(await page.getByRole("button", { name: "Set password" }).isDisabled()).toBe(true);
  });

  test("runs no script but its own, and quotes the name of the server as text", async () => {
    await using server = await serve(updated);
    await using context = await browser.newContext();
    const events = watchPages(context);
    const page = await context.newPage();
    await page.goto(server.url);
    expect(await page.getByRole("heading").textContent()).toBe(
      'Choose a password for croft & <b>"friends"</b>',
    );
    const attacks = [
      `const script = document.createElement("script");
       script.setAttribute("src", "${server.origin}/leak.js");
       document.body.append(script);`,
      `const button = document.createElement("button");
       button.setAttribute("onclick", "document.title = 'pwned'");
       document.body.append(button);
       button.click();`,
      `document.body.innerHTML = '<svg onload="document.title = &quot;pwned&quot;">';`,
      `const image = document.createElement("img");
       image.src = "${server.origin}/leak.png";
       document.body.append(image);`,
    ];
    // Some are refused with an error, some silently.
    for (const attack of attacks) await page.evaluate(`{ ${attack} }`).catch(() => undefined);
    expect(await page.title()).not.toBe("pwned");
    await expect
      .poll(() => events.problems.some((text) => text.includes("Content Security Policy")))
      .toBe(true);
    expect(server.paths.some((path) => path.startsWith("/leak"))).toBe(false);
  });

  test("works below a folder of another server's address", async () => {
    await using server = await serve(updated, "/vault");
    await using context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(server.url);
    await fill(page, GOOD);
    await page.getByText("Password updated.").waitFor();
    expect(server.sent).toHaveLength(1);
  });

  test("the reset page works by keyboard and with a screen reader", async () => {
    await using server = await serve(updated);
    await using context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(server.url);
    const focused: string[] = [];
    for (let press = 0; press < 4; press += 1) {
      await page.keyboard.press("Tab");
      focused.push(await page.evaluate<string>("document.activeElement.id"));
    }
    expect(focused).toEqual(["password", "again", "show", "send"]);
    expect(await page.locator("html").getAttribute("lang")).toBe("en");
    expect(await page.getByRole("checkbox", { name: "Show passwords" }).count()).toBe(1);
    await page.getByRole("checkbox").check();
    expect(await page.getByLabel("New password", { exact: true }).getAttribute("type")).toBe(
      "text",
    );
    await page.getByLabel("New password", { exact: true }).fill("weak");
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement.id")).toBe("password");
    expect(
      await page.getByLabel("New password", { exact: true }).getAttribute("aria-invalid"),
    ).toBe("true");
  });

  test.each(["light", "dark"] as const)("is readable in %s", async (colorScheme) => {
    await using server = await serve(updated);
    await using context = await browser.newContext({ colorScheme });
    const page = await context.newPage();
    await page.goto(server.url);
    await page.getByRole("button", { name: "Set password" }).waitFor();
    const colors = await page.evaluate<Record<string, string>>(`({
      back: getComputedStyle(document.body).backgroundColor,
      heading: getComputedStyle(document.querySelector("h1")).color,
      rule: getComputedStyle(document.querySelector("li")).color,
      alert: getComputedStyle(document.querySelector("[role=alert]")).color,
      status: getComputedStyle(document.querySelector("[role=status]")).color,
      button: getComputedStyle(document.querySelector("button")).color,
      buttonBack: getComputedStyle(document.querySelector("button")).backgroundColor,
    })`);
    const { back = "", button = "", buttonBack = "", ...texts } = colors;
    expect(back).toBe(colorScheme === "light" ? "rgb(255, 255, 255)" : "rgb(20, 23, 26)");
    expect(contrast(button, buttonBack)).toBeGreaterThan(4.5);
    const faint = Object.entries(texts).filter(([, color]) => contrast(color, back) <= 4.5);
    expect(faint).toEqual([]);
  });

  test("fits a width of 320 pixels", async () => {
    await using server = await serve(updated);
    await using context = await browser.newContext({ viewport: { width: 320, height: 640 } });
    const page = await context.newPage();
    await page.goto(server.url);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(320);
  });

  test("the reset page without scripts shows the next step, and sends no password", async () => {
    await using server = await serve(updated);
    await using context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(server.url);
    expect(await page.locator("noscript, p").first().textContent()).toContain("JavaScript");
    expect(await page.getByRole("button", { name: "Set password" }).isDisabled()).toBe(true);
  });
});

withChromium.describe("the page to come back to from a provider", () => {
  test("shows the next step, escapes names, and loads nothing", async () => {
    await using context = await browser.newContext();
    const events = watchPages(context);
    const page = await context.newPage();
    const { html, headers } = await createOauthPage({
      kind: "connected",
      providerName: "Dropbox",
      displayName: "<script>alert(1)</script>",
      handle: "ann",
    });
    expect(headers["Content-Security-Policy"]).toContain("script-src 'none'");
    await page.route("https://vault.example/**", (route) =>
      route.fulfill({ status: 200, headers, body: html }),
    );
    await page.goto("https://vault.example/return");
    expect(await page.getByRole("heading").textContent()).toBe("Dropbox is connected");
    expect(await page.locator("main").textContent()).toContain("<script>alert(1)</script>");
    expect(await page.locator("script").count()).toBe(0);
    expect(events.requests).toEqual(["https://vault.example/return"]);
    expect(events.problems).toEqual([]);
  });
});
