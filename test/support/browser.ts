import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium, type Browser, type BrowserContext } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

/** Returns the path of Chromium, or undefined when it is not installed. */
export function findChromium(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return folders
    .flatMap((folder) => NAMES.map((name) => join(folder, name)))
    .find((path) => existsSync(path));
}

/** Starts headless Chromium. Root and containers have no sandbox of the kernel for it. */
export function launchChromium(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

/** Events that a strict page must not cause. */
export interface PageEvents {
  /** Every requested address, the page's own included. */
  readonly requests: string[];
  /** Errors of scripts, and complaints of the browser such as a violated policy. */
  readonly problems: string[];
}

/** Records the requests and errors of every page of a context. */
export function watchPages(context: BrowserContext): PageEvents {
  const events: PageEvents = { requests: [], problems: [] };
  context.on("request", (request) => events.requests.push(request.url()));
  context.on("console", (line) => {
    if (line.type() === "error") events.problems.push(line.text());
  });
  context.on("weberror", (error) => events.problems.push(error.error().message));
  return events;
}
