import { afterEach, describe, expect, test } from "vitest";
import type { JobOptions, ThreadOutcome } from "../../../../daemon/jobs/thread-pool.ts";
import type { Rendered, RenderInput } from "../../../../daemon/rendering/document.ts";
import {
  createRendering,
  createRenderingThreads,
  type Rendering,
  type RenderingDeps,
} from "../../../../daemon/rendering/rendering.service.ts";
import { floods } from "../../../support/floods.ts";

function createHarness(outcome?: ThreadOutcome<Rendered>) {
  const jobs: { readonly input: RenderInput; readonly options: JobOptions }[] = [];
  const lookups: (readonly string[])[] = [];
  const bugs: unknown[] = [];
  const deps: RenderingDeps = {
    threads: {
      run: async (input, options) => {
        jobs.push({ input, options });
        return outcome ?? { kind: "done", value: { kind: "rendered", html: "html" } };
      },
      close: async () => {},
    },
    findMentionable: async (names) => {
      lookups.push(names);
      return names.filter((name) => name === "mira");
    },
    publicUrl: () => "https://a.example",
    reportBug: (error) => bugs.push(error),
  };
  return { render: toRender(createRendering(deps)), jobs, lookups, bugs };
}

const toRender =
  (rendering: Rendering) =>
  (
    text: string,
    more: {
      mode?: string;
      filePath?: string;
      isWiki?: boolean;
      language?: string;
      caller?: string;
    } = {},
  ) =>
    rendering.render({
      text,
      mode: "gfm",
      context: "",
      filePath: "",
      isWiki: false,
      caller: "mira",
      ...more,
    });

describe("rendering service", () => {
  test("the rendering service renders texts of every length in a thread, with a budget by length", async () => {
    const { render, jobs } = createHarness();
    for (const length of [1, 64 * 1024, 1024 * 1024]) await render("x".repeat(length));
    await render("x", { mode: "file", filePath: "a.adoc", caller: "nora" });
    await render("x".repeat(512 * 1024), { language: "ts", caller: "otto" });
    expect(jobs.map(({ options }) => options)).toEqual([
      { budgetMs: 1_001, caller: "mira", size: 1 },
      { budgetMs: 1_125, caller: "mira", size: 64 * 1024 },
      { budgetMs: 3_000, caller: "mira", size: 1024 * 1024 },
      { budgetMs: 3_000, caller: "nora", size: 1 },
      { budgetMs: 3_000, caller: "otto", size: 512 * 1024 },
    ]);
  });

  test("the rendering service looks up mentioned names once each, except in mode markdown", async () => {
    const { render, jobs, lookups } = createHarness();
    await render("hi @Mira and @other and @mira");
    await render("hi @Mira", { mode: "markdown" });
    await render("no names");
    expect(lookups).toEqual([["mira", "other"]]);
    expect(jobs.map(({ input }) => input.mentionable)).toEqual([["mira"], [], []]);
  });

  test("the rendering service looks up at most 200 names of the first 2,000 at signs", async () => {
    const { render, lookups } = createHarness();
    await render(Array.from({ length: 300 }, (_, n) => `@u${n}`).join(" "));
    expect(lookups[0]).toHaveLength(200);
    await render(`${"@a ".repeat(1_999)}@b @c`);
    expect(lookups[1]).toEqual(["a", "b"]);
  });

  test("the rendering service prefers the wiki flag to the mode, and returns unknown modes", async () => {
    const { render, jobs } = createHarness();
    await render("a", { mode: "nonsense", isWiki: true });
    expect(jobs[0]?.input.mode).toBe("wiki");
    for (const mode of ["nonsense", "toString", "code"])
      expect(await render("a", { mode })).toEqual({ kind: "unknown_mode", mode });
  });

  test("the rendering service renders code by its text and language alone, without names", async () => {
    const { render, jobs, lookups } = createHarness();
    await render("// @mira", { language: "ts", mode: "comment", filePath: "a.ts" });
    await render("// @mira", { language: "ts", filePath: "b.ts" });
    await render("// @mira", { language: "" });
    expect(jobs.map(({ input }) => [input.mode, input.language, input.filePath])).toEqual([
      ["code", "ts", ""],
      ["code", "", ""],
    ]);
    expect(lookups).toEqual([]);
  });

  test("the rendering service caches HTML by text, mode and context", async () => {
    const { render, jobs } = createHarness();
    await render("a");
    await render("a", { caller: "nora" });
    await render("a", { mode: "comment" });
    await render("a", { filePath: "x/y.md" });
    expect(jobs).toHaveLength(3);
  });

  test("the rendering service caches the code of the largest files, and no other text of that length", async () => {
    const html = "<".repeat(6 * 1024 * 1024);
    const { render, jobs } = createHarness({ kind: "done", value: { kind: "rendered", html } });
    const code = (letter: string) => render(letter.repeat(512 * 1024), { language: "ts" });
    for (const letter of ["a", "a", "b", "a"]) await code(letter);
    expect(jobs.length).toBe(2);
    // All of them have a bound: the one that was used last goes last.
    for (const letter of ["c", "d", "e", "a"]) await code(letter);
    expect(jobs.length).toBe(5);
    for (const text of ["a", "a"]) await render(text.repeat(512 * 1024));
    expect(jobs.length).toBe(7);
  });

  test("returns a text that exceeds its budget as over the limit and does not cache it", async () => {
    const slow = createHarness({ kind: "timed_out" });
    for (const _ of [1, 2])
      expect(await slow.render("a")).toEqual({
        kind: "over_limit",
        message: "rendering the text takes too long",
      });
    expect(slow.jobs).toHaveLength(2);
    expect(await createHarness({ kind: "out_of_memory" }).render("a")).toEqual({
      kind: "over_limit",
      message: "rendering the text takes too much memory",
    });
  });

  test("refuses a text with Retry-After when the queue is full", async () => {
    await expect(createHarness({ kind: "queue_full" }).render("a")).rejects.toMatchObject({
      code: "unavailable",
      data: { retryAfterSeconds: 5 },
    });
  });

  test("refuses a text with Retry-After when no thread can start", async () => {
    const error = new Error("EMFILE");
    const { render, bugs } = createHarness({ kind: "not_started", error });
    await expect(render("a")).rejects.toMatchObject({
      code: "unavailable",
      data: { retryAfterSeconds: 5 },
    });
    expect(bugs).toEqual([error]);
  });

  test("reports a failed renderer and returns the text escaped, but does not cache it", async () => {
    const error = new Error("engine");
    const failing = createHarness({ kind: "failed", error });
    for (const _ of [1, 2])
      expect(await failing.render("<b>")).toEqual({ kind: "rendered", html: "&lt;b&gt;" });
    expect(failing.bugs).toEqual([error, error]);
  });
});

describe("rendering threads", () => {
  const renderings: Rendering[] = [];
  afterEach(async () => {
    for (const rendering of renderings.splice(0)) await rendering.close();
  });

  const start = () => {
    const rendering = createRendering({
      threads: createRenderingThreads((bytes) => new Uint8Array(bytes)),
      findMentionable: async () => [],
      publicUrl: () => "https://a.example",
      reportBug: (error) => {
        throw error;
      },
    });
    renderings.push(rendering);
    return toRender(rendering);
  };

  test("rendering threads accept 32 waiting texts of one caller and refuse the rest", async () => {
    const render = start();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 60 }, (_, n) => render(`text ${n}`)),
    );
    const refused = outcomes.filter(({ status }) => status === "rejected");
    expect(refused).toHaveLength(60 - 32);
    expect(await render("later")).toMatchObject({ kind: "rendered" });
  });

  test("rendering threads render the text of one caller before the backlog of another", async () => {
    const render = start();
    const done: string[] = [];
    const hostile = floods["images"] ?? (() => "");
    const backlog = Array.from({ length: 16 }, async (_, n) => {
      await render(`${n} ${hostile(20_000)}`, { caller: "mallory" });
      done.push("mallory");
    });
    await render("small", { caller: "mira" });
    done.push("mira");
    await Promise.all(backlog);
    expect(done.indexOf("mira")).toBeLessThan(3);
  });
});
