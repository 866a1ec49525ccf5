import { readFileSync } from "node:fs";
import { chromium, type Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allowedElements } from "../../daemon/rendering/html/policy.ts";
import { createSanitizer } from "../../daemon/rendering/html/sanitize.ts";
import type { RenderMode } from "../../daemon/rendering/document.ts";
import { createRenderer } from "../../daemon/rendering/renderer.ts";
import { findChromium } from "../support/browser.ts";
import { skipUnless } from "../support/skip.ts";
import { canary, corpus } from "./xss-corpus.ts";

const root = "http://localhost:3000/";
const renderer = createRenderer({ secret: "0f1e2d3c4b5a69788796a5b4c3d2e1f0:", decorates: true });
const executable = findChromium();
const withChromium = skipUnless(executable, "Chromium is not installed");

const pageScript = readFileSync(new URL("./xss-page.js", import.meta.url), "utf8");

/** The results of `poke` and `report` in the page. */
interface Poked {
  readonly complaints: readonly string[];
  readonly vectors: number;
}
interface Report {
  readonly hits: number;
  readonly intact: readonly (boolean | string)[];
  readonly ids: readonly string[];
}

interface Vector {
  readonly name: string;
  readonly text: string;
  readonly html: string;
}

/** Every text of the corpus in one mode; the ones that are files only in mode `file`. */
async function renderCorpus(mode: RenderMode): Promise<Vector[]> {
  const vectors: Vector[] = [];
  for (const [group, texts] of Object.entries(corpus))
    for (const [index, written] of texts.entries()) {
      const [, name, content] = /^FILE:([^:]+):([\s\S]*)$/.exec(written) ?? [];
      if ((mode === "file") !== (name !== undefined)) continue;
      const text = content ?? written;
      const input = {
        text,
        mode,
        root,
        context: "/o/r/src/branch/main",
        filePath: name ?? "",
        mentionable: ["user"],
      };
      const rendered = await renderer.render(input);
      if (rendered.kind !== "rendered") throw new Error(`${group} ${index}: ${rendered.kind}`);
      vectors.push({ name: `${mode} ${group} ${index}`, text, html: rendered.html });
    }
  return vectors;
}

const modes: readonly RenderMode[] = ["markdown", "gfm", "comment", "wiki", "file"];

test("the corpus has enough vectors", () => {
  expect(Object.values(corpus).flat().length).toBeGreaterThanOrEqual(450);
  expect(new Set(Object.values(corpus).flat()).size).toBe(Object.values(corpus).flat().length);
});

describe("rendered HTML is a fixed point of the sanitizer", () => {
  const again = createSanitizer({ kind: "rendered" });
  test.each(modes)("rendered HTML is a fixed point of the sanitizer: %s", async (mode) => {
    for (const { name, html } of await renderCorpus(mode))
      expect(again(html, mode === "markdown" ? "html" : "xhtml"), name).toBe(html);
  });
});

withChromium.describe("in a real browser", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: executable ?? "",
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
      ],
    });
  });
  afterAll(() => browser?.close());

  /** Loads vectors as one document, triggers its events, and returns the effects. */
  const show = async (vectors: readonly Vector[], how: "document" | "fragment") => {
    const context = await browser.newContext();
    const page = await context.newPage();
    const asked: string[] = [];
    const problems: string[] = [];
    page.on("dialog", (dialog) => {
      problems.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    context.on("page", (other) => problems.push(`opened ${other.url()}`));
    page.on("framenavigated", (frame) => {
      if (frame.url() !== `${root}page`) problems.push(`navigated to ${frame.url()}`);
    });
    const body = vectors
      .map(({ html }, index) => `<div class="vector" data-index="${index}">${html}</div>`)
      .join("\n");
    await context.route("**/*", async (route) => {
      const request = route.request();
      if (request.url() === `${root}page`) {
        await route.fulfill({
          contentType: "text/html; charset=utf-8",
          body: `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><body><script>${pageScript}</script>${how === "document" ? body : ""}</body>`,
        });
        return;
      }
      asked.push(`${request.resourceType()} ${request.url()}`);
      await route.abort();
    });
    await page.goto(`${root}page`);
    if (how === "fragment") await page.evaluate(`showFragment(${JSON.stringify(body)})`);
    const poked = await page.evaluate<Poked>(`poke(${JSON.stringify(allowedElements)})`);
    await page.waitForTimeout(150);
    const report = await page.evaluate<Report>("report()");
    await context.close();
    return { asked, problems, ...poked, ...report };
  };

  test("the same texts do run scripts and load files without the sanitizer", async () => {
    const texts = [
      ...(corpus["handlers"] ?? []).slice(0, 5),
      ...(corpus["styles"] ?? []).slice(0, 2),
    ];
    const result = await show(
      texts.map((text, index) => ({ name: `control ${index}`, text, html: text })),
      "document",
    );
    expect(result.hits).toBeGreaterThanOrEqual(5);
    expect(result.asked.some((line) => line.includes(new URL(canary).host))).toBe(true);
    expect(result.complaints.length).toBeGreaterThanOrEqual(5);
  });

  for (const how of ["document", "fragment"] as const)
    for (const mode of modes)
      test(`nothing runs, nothing is loaded but images: ${mode}, as a ${how}`, async () => {
        const vectors = await renderCorpus(mode);
        const result = await show(vectors, how);
        expect(result.vectors).toBe(vectors.length);
        expect(result.hits).toBe(0);
        expect(result.problems).toEqual([]);
        expect(result.complaints).toEqual([]);
        expect(result.asked.filter((line) => line.includes(new URL(canary).host))).toEqual([]);
        expect(
          result.asked.filter(
            (line) => !/^(?:image|media) http:\/\/(?:localhost:3000\/|x\.y\/)/.test(line),
          ),
        ).toEqual([]);
        expect(result.intact).toEqual([true, true, true, true, true, true, true, `${root}page`]);
        const unprefixed = result.ids.filter((id) => !/^(?:fn(?:ref)?:)?user-content-/.test(id));
        if (mode !== "markdown") expect(unprefixed).toEqual([]);
      });
});
