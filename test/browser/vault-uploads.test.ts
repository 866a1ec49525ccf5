import { randomBytes } from "node:crypto";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findChromium, launchChromium } from "../support/browser.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { skipUnless } from "../support/skip.ts";
import { createPerson, type VaultPerson } from "../support/vault/vault-person.ts";

const executable = findChromium();
const withChromium = skipUnless(executable, "Chromium is not installed");

const MIB = 1024 * 1024;
/** What the script sends in one request, and the time after which it tries again. */
const PART_BYTES = 8 * MIB;
const RETRY_MS = 5_000;

let daemon: TestDaemon;
let browser: Browser;
let folder: string;
let people = 0;

withChromium.describe("uploads of the vault's pages", () => {
  beforeAll(async () => {
    daemon = await startTestDaemon({
      env: {
        CROFT_RATE_LIMITS: "off",
        // The line to the daemon has a port of its own.
        CROFT_ALLOWED_HOSTS: "127.0.0.1",
        CROFT_MAX_UPLOAD_BYTES: String(21 * MIB),
        CROFT_DEFAULT_QUOTA_BYTES: String(24 * MIB),
      },
    });
    browser = await launchChromium(executable ?? "");
    folder = await mkdtemp(join(tmpdir(), "croft-page-uploads-"));
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await rm(folder, { recursive: true });
    await daemon[Symbol.asyncDispose]();
  });

  test("goes on with a document where lost connections and a reload ended it", async () => {
    const person = await register();
    const large = await makeFile("large.bin", 20 * MIB);
    await using line = await openLine(daemon.url);
    await using context = await browser.newContext();
    const page = await openPage(context, person, line.url);
    const offsets = watchOffsets(page);
    line.cutAfter(PART_BYTES + 3 * MIB);
    await page.setInputFiles("input[name=file]", large);
    await isInterrupted(page);
    line.cutAfter(2 * MIB);
    await page.clock.fastForward(RETRY_MS);
    await expect.poll(() => offsets).toHaveLength(3);
    await isInterrupted(page);
    line.cutAfter(Infinity);
    await page.reload();
    await page.getByText("1 of 1 uploaded").waitFor();
    const [first = -1, second = -1, third = -1, fourth = -1] = offsets;
    expect([first, second]).toEqual([0, PART_BYTES]);
    // What had arrived of a part is not sent again.
    expect(third).toBeGreaterThan(second);
    expect(fourth).toBeGreaterThanOrEqual(third);
    expect(await downloadOf(person, "large.bin")).toEqual(await readFile(large));
  }, 120_000);

  test("stops when it is paused, also while a part is hashed, and goes on when it is resumed", async () => {
    const person = await register();
    const large = await makeFile("paused.bin", 9 * MIB);
    await using context = await browser.newContext();
    const page = await openPage(context, person);
    const offsets = watchOffsets(page);
    let held: (() => void) | undefined;
    await page.route("**/upload-sessions/*", async (route) => {
      if (held === undefined && route.request().headers()["upload-offset"] !== undefined)
        await new Promise<void>((resolve) => {
          held = resolve;
        });
      // The page may have aborted it meanwhile.
      await route.continue().catch(() => undefined);
    });
    await page.evaluate(`{
      const read = Blob.prototype.arrayBuffer;
      Blob.prototype.arrayBuffer = function () {
        Blob.prototype.arrayBuffer = read;
        [...document.querySelectorAll("button")].find(({ textContent }) => textContent === "Pause").click();
        return read.call(this);
      };
    }`);
    await page.setInputFiles("input[name=file]", large);
    await page.getByText("paused", { exact: true }).waitFor();
    expect(offsets).toEqual([]);
    await page.getByRole("button", { name: "Resume" }).click();
    await expect.poll(() => held).toBeDefined();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("paused", { exact: true }).waitFor();
    held?.();
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByText("1 of 1 uploaded").waitFor();
    expect(offsets).toEqual([0, 0, PART_BYTES]);
    expect(await downloadOf(person, "paused.bin")).toEqual(await readFile(large));
  }, 120_000);

  test("shows the reasons of refused files while the others are uploaded", async () => {
    const person = await register();
    await using context = await browser.newContext();
    const page = await openPage(context, person);
    await page.setInputFiles("input[name=file]", await makeFile("fills.bin", 19 * MIB));
    await page.getByText("1 of 1 uploaded").waitFor();
    await page.setInputFiles(
      "input[name=file]",
      await Promise.all([
        makeFile("beyond-the-limit.bin", 22 * MIB),
        makeFile("beyond-the-quota.bin", 7 * MIB),
        makeFile("large-beyond-the-quota.bin", 9 * MIB),
        makeFile("small-one.bin", 1_000),
        makeFile("small-two.bin", 2_000),
      ]),
    );
    await page.getByText("3 of 6 uploaded, 3 refused").waitFor();
    const rows = (await page.locator(".uploads li").allTextContents()).join("\n");
    expect(rows).toMatch(/beyond-the-limit\.bin.*larger than/);
    expect(rows).toMatch(/\nbeyond-the-quota\.bin.*quota exceeded/i);
    expect(rows).toMatch(/large-beyond-the-quota\.bin.*quota exceeded/i);
    expect(await namesOf(person)).toEqual(["fills.bin", "small-one.bin", "small-two.bin"]);
    // A refused file is not tried again.
    await page.reload();
    await page.getByText("Drop files or folders").waitFor();
    expect(await page.locator(".uploads li").count()).toBe(0);
  }, 120_000);

  test("says what to do when the session ends in the middle of files, and loses none", async () => {
    const person = await register();
    const large = await makeFile("middle.bin", 17 * MIB);
    await using context = await browser.newContext();
    const page = await openPage(context, person);
    const offsets = watchOffsets(page);
    await page.route("**/upload-sessions/*", async (route) => {
      // The first part arrives; then the session ends elsewhere.
      if (route.request().headers()["upload-offset"] === String(PART_BYTES))
        await endSessions(person);
      await route.continue();
    });
    // The small ones wait until then.
    await page.route("**/documents/upload", async (route) => {
      await expect.poll(() => offsets.length, { timeout: 60_000 }).toBe(2);
      await endSessions(person);
      await route.continue();
    });
    const small = await Promise.all(["one", "two", "three"].map((name) => makeFile(name, 1_000)));
    await page.setInputFiles("input[name=file]", [large, ...small]);
    await page.getByText("0 of 4 uploaded").waitFor();
    // Those under way say it; the others wait for their turn.
    await expect
      .poll(() => page.getByText("Sign in again, then open this page: the files wait.").count())
      .toBe(3);
    await page.getByRole("button", { name: "Resume" }).waitFor();
    await page.unrouteAll();
    await fillSignIn(page, person, `${daemon.url}/vault/add`);
    await page.getByText("4 of 4 uploaded").waitFor();
    expect(offsets).toEqual([0, PART_BYTES, PART_BYTES, 2 * PART_BYTES]);
    expect(await downloadOf(person, "middle.bin")).toEqual(await readFile(large));
    expect(await namesOf(person)).toEqual(["middle.bin", "one", "three", "two"]);
  }, 120_000);

  test("waits for a server that a proxy answers for, and leaves the files of a tab to it until it is closed", async () => {
    const person = await register();
    const small = await makeFile("waits.bin", 1_000);
    await using context = await browser.newContext();
    const page = await openPage(context, person);
    await page.route("**/documents/upload", (route) =>
      route.fulfill({ status: 502, contentType: "text/html", body: "<h1>Bad Gateway</h1>" }),
    );
    await page.setInputFiles("input[name=file]", small);
    await page.getByText("The server does not answer; it goes on by itself.").waitFor();
    const other = await context.newPage();
    await other.goto(`${daemon.url}/vault/add`);
    await other.getByText("Drop files or folders").waitFor();
    expect(await other.locator(".uploads li").count()).toBe(0);
    await page.close();
    await other.getByText("1 of 1 uploaded").waitFor();
    expect(await namesOf(person)).toEqual(["waits.bin"]);
  }, 120_000);
});

/** Passes connections on to the daemon, and cuts one when it has sent a number of bytes. */
async function openLine(to: string): Promise<
  AsyncDisposable & {
    readonly url: string;
    /** Mends the line, and cuts it once the next `bytes` have passed: it stays down, as Chromium tries again by itself. */
    cutAfter(bytes: number): void;
  }
> {
  let left = Infinity;
  let isDown = false;
  const open = new Set<Socket>();
  const server = createServer((client) => {
    if (isDown) return client.destroy();
    const daemonSide = connect(Number(new URL(to).port), new URL(to).hostname);
    const cut = () => {
      client.destroy();
      daemonSide.destroy();
    };
    for (const socket of [client, daemonSide]) {
      open.add(socket);
      socket.on("error", cut).on("close", () => {
        open.delete(socket);
        cut();
      });
    }
    daemonSide.pipe(client);
    client.on("data", (chunk) => {
      left -= chunk.length;
      if (left >= 0) daemonSide.write(chunk);
      else {
        isDown = true;
        daemonSide.end();
        client.destroy();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cutAfter(bytes) {
      left = bytes;
      isDown = false;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function register(): Promise<VaultPerson> {
  people += 1;
  const person = createPerson(daemon, `mira-${people}`, `192.0.2.${people}`);
  expect((await person.register()).status).toBe(201);
  await person.signIn();
  return person;
}

async function makeFile(name: string, bytes: number): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, randomBytes(bytes));
  return path;
}

async function openPage(
  context: BrowserContext,
  person: VaultPerson,
  url = daemon.url,
): Promise<Page> {
  const page = await context.newPage();
  await page.clock.install();
  await fillSignIn(page, person, `${url}/vault/add`);
  return page;
}

async function fillSignIn(page: Page, person: VaultPerson, url: string): Promise<void> {
  await page.goto(url);
  await page.getByLabel("E-mail address").fill(person.email);
  await page.getByLabel("Password").fill(person.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Drop files or folders").waitFor();
}

/** Chromium sends a request again by itself where a connection that it has used before is cut: then some has arrived. */
const isInterrupted = (page: Page): Promise<void> =>
  page.getByText(/No connection|Some of it has arrived already/).waitFor();

/** The offsets of the parts that the page sends, as they begin. */
function watchOffsets(page: Page): number[] {
  const offsets: number[] = [];
  page.on("request", (request) => {
    const offset = request.headers()["upload-offset"];
    if (offset !== undefined) offsets.push(Number(offset));
  });
  return offsets;
}

/** Ends the sessions of the browser; the one of `person` stays. */
async function endSessions(person: VaultPerson): Promise<void> {
  const { json } = await person.request("/api/auth/sessions");
  for (const { id, current } of json.items)
    if (current !== true) await person.request(`/api/auth/sessions/${id}`, { method: "DELETE" });
}

async function namesOf(person: VaultPerson): Promise<string[]> {
  const { json } = await person.request("/api/documents");
  return json.items.map(({ filename }: { filename: string }) => filename).toSorted();
}

async function downloadOf(person: VaultPerson, name: string): Promise<Buffer> {
  const { json } = await person.request("/api/documents");
  const { id } = json.items.find(({ filename }: { filename: string }) => filename === name);
  const headers = {
    Authorization: `Bearer ${person.accessToken}`,
    "User-Agent": "croft-test",
    "X-Forwarded-For": "192.0.2.1",
  };
  const answer = await fetch(`${daemon.url}/api/documents/${id}/content`, { headers });
  expect(answer.status).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
}
