import { execFile } from "node:child_process";
import { createWriteStream } from "node:fs";
import { open } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { PASSWORD } from "./daemon.ts";
import { residentMiB } from "./measure.ts";

// Requests of a vault user in the benchmarks, and their baselines.

const run = promisify(execFile);

/** Registers a user and signs in. Returns the value of the header `Authorization`. */
export async function registerUser(url: string, handle: string): Promise<string> {
  const account = { handle, email: `${handle}@example.org`, password: PASSWORD };
  await call(`${url}/api/auth/register`, "POST", account);
  return signIn(url, account.email);
}

/** Signs in. Returns the value of the header `Authorization`. */
export async function signIn(url: string, email: string): Promise<string> {
  const body = { email, password: PASSWORD };
  const { access_token } = await call<{ access_token: string }>(
    `${url}/api/auth/login`,
    "POST",
    body,
  );
  return `Bearer ${access_token}`;
}

/** Opens the page of uploads, and signs in on the way. */
export async function openUploadPage(page: Page, url: string, email: string): Promise<void> {
  await page.goto(`${url}/vault/add`);
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Drop files or folders").waitFor();
}

/** Seconds that curl takes. */
export async function curl(args: readonly string[]): Promise<number> {
  const { stdout } = await run("curl", [
    "-sS",
    "--fail",
    "-A",
    "curl",
    "-H",
    "Accept-Language;",
    "-w",
    "%{time_total}",
    ...args,
  ]);
  return Number(stdout);
}

export async function call<T = unknown>(
  url: string,
  method: string,
  body?: object,
  bearer?: string,
): Promise<T> {
  const answer = await fetch(url, {
    method,
    headers: {
      // The token is bound to these: curl sends the same.
      "User-Agent": "curl",
      "Accept-Language": "",
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...(bearer === undefined ? {} : { Authorization: bearer }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

/** Seconds that a plain program takes to write the same file and sync it. */
export async function copyDurably(from: string, to: string): Promise<number> {
  const startedAt = performance.now();
  const source = await open(from);
  await pipeline(
    source.createReadStream({ highWaterMark: 64 * 1024 }),
    createWriteStream(to, { flush: true }),
  );
  return (performance.now() - startedAt) / 1000;
}

/** The highest resident memory until it is stopped. */
export function watchMemory(pid: number): { stop(): Promise<number> } {
  let highest = 0;
  const timer = setInterval(() => {
    void residentMiB(pid).then((mib) => {
      highest = Math.max(highest, mib);
    });
  }, 50);
  return {
    async stop() {
      clearInterval(timer);
      return Math.max(highest, await residentMiB(pid));
    },
  };
}
