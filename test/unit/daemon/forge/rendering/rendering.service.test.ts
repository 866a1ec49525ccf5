import { describe, expect, test } from "vitest";
import type { ThreadOutcome } from "../../../../../daemon/jobs/thread-pool.ts";
import {
  createRendering,
  type RenderingDeps,
} from "../../../../../daemon/forge/rendering/rendering.service.ts";
import type { Rendered, RenderInput } from "../../../../../daemon/forge/rendering/renderer.ts";

function make(deps: Partial<RenderingDeps> & { outcome?: ThreadOutcome<Rendered> } = {}) {
  const here: RenderInput[] = [];
  const elsewhere: { input: RenderInput; budgetMs: number }[] = [];
  const asked: (readonly string[])[] = [];
  const bugs: unknown[] = [];
  const rendering = createRendering({
    createRenderer: async () => ({
      render: async (input) => {
        here.push(input);
        return { kind: "rendered", html: `here ${input.text.length}` };
      },
    }),
    threads: {
      run: async (input, { budgetMs }) => {
        elsewhere.push({ input, budgetMs });
        return deps.outcome ?? { kind: "done", value: { kind: "rendered", html: "elsewhere" } };
      },
      close: async () => {},
    },
    findMentionable: async (names) => {
      asked.push(names);
      return names.filter((name) => name === "mira");
    },
    publicUrl: () => "https://a.example",
    reportBug: (error) => bugs.push(error),
    ...deps,
  });
  const render = (
    text: string,
    more: { mode?: string; filePath?: string; isWiki?: boolean; askedBy?: string } = {},
  ) =>
    rendering.render({
      text,
      mode: "gfm",
      context: "",
      filePath: "",
      isWiki: false,
      askedBy: "mira",
      ...more,
    });
  return { render, here, elsewhere, asked, bugs };
}

describe("rendering", () => {
  test("small texts here, large ones and AsciiDoc elsewhere, with time in proportion", async () => {
    const { render, here, elsewhere } = make();
    expect(await render("x".repeat(64 * 1024))).toMatchObject({ html: "here 65536" });
    expect(await render("x".repeat(64 * 1024 + 1))).toMatchObject({ html: "elsewhere" });
    await render("x".repeat(1024 * 1024 + 1));
    await render("x", { mode: "file", filePath: "a.adoc" });
    await render("x", { mode: "gfm", filePath: "a.adoc" });
    expect(here).toHaveLength(2);
    expect(elsewhere.map(({ budgetMs }) => budgetMs)).toEqual([2_000, 4_000, 3_000]);
  });

  test("looks up who may be mentioned, but not for mode markdown", async () => {
    const { render, here, asked } = make();
    await render("hi @Mira and @other and @mira");
    await render("hi @Mira", { mode: "markdown" });
    await render("nobody");
    expect(asked).toEqual([["mira", "other"]]);
    expect(here.map(({ mentionable }) => mentionable)).toEqual([["mira"], [], []]);
  });

  test("asks for no more names than 200", async () => {
    const { render, asked } = make();
    await render(Array.from({ length: 300 }, (_, n) => `@u${n}`).join(" "));
    expect(asked[0]).toHaveLength(200);
  });

  test("wiki wins over the mode, an unknown mode is told", async () => {
    const { render, here } = make();
    await render("a", { mode: "nonsense", isWiki: true });
    expect(here[0]?.mode).toBe("wiki");
    expect(await render("a", { mode: "nonsense" })).toEqual({
      kind: "unknown_mode",
      mode: "nonsense",
    });
    expect(await render("a", { mode: "toString" })).toEqual({
      kind: "unknown_mode",
      mode: "toString",
    });
  });

  test("the same question is answered from memory, another is not", async () => {
    const { render, here } = make();
    await render("a");
    await render("a");
    await render("a", { mode: "comment" });
    await render("a", { filePath: "x/y.md" });
    expect(here).toHaveLength(3);
  });

  test("too slow and too hungry texts pass a limit, a full queue is refused", async () => {
    const large = "x".repeat(70_000);
    expect(await make({ outcome: { kind: "timed_out" } }).render(large)).toEqual({
      kind: "over_limit",
      message: "rendering the text takes too long",
    });
    expect(await make({ outcome: { kind: "out_of_memory" } }).render(large)).toEqual({
      kind: "over_limit",
      message: "rendering the text takes too much memory",
    });
    await expect(make({ outcome: { kind: "busy" } }).render(large)).rejects.toMatchObject({
      code: "unavailable",
      data: { retryAfterSeconds: 5 },
    });
  });

  test("nobody has more than four large texts under way", async () => {
    const ends: (() => void)[] = [];
    const { render } = make({
      threads: {
        run: () =>
          new Promise((resolve) => {
            ends.push(() => resolve({ kind: "done", value: { kind: "rendered", html: "" } }));
          }),
        close: async () => {},
      },
    });
    const large = (by: string, of: number) => render(`${of}${"x".repeat(70_000)}`, { askedBy: by });
    const under = [1, 2, 3, 4].map((of) => large("mira", of));
    await expect(large("mira", 5)).rejects.toMatchObject({
      code: "rate_limited",
      data: { retryAfterSeconds: 5 },
    });
    expect(await render("small")).toMatchObject({ kind: "rendered" });
    const others = large("nora", 6);
    ends[0]?.();
    await under[0];
    const again = large("mira", 7);
    await expect.poll(() => ends.length).toBe(6);
    for (const end of ends) end();
    await Promise.all([...under, others, again]);
  });

  test("a failure of the engine is reported, and the text is shown as it was written", async () => {
    const error = new Error("engine");
    const failing = make({ createRenderer: async () => ({ render: () => Promise.reject(error) }) });
    expect(await failing.render("<b>")).toEqual({ kind: "rendered", html: "&lt;b&gt;" });
    expect(failing.bugs).toEqual([error]);
    const dead = make({ outcome: { kind: "failed", error } });
    expect(await dead.render("<".repeat(70_000))).toMatchObject({ kind: "rendered" });
    expect(dead.bugs).toEqual([error]);
  });
});
