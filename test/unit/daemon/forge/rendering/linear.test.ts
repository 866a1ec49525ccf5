import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MARKS_MAX, TEXT_BYTES_MAX } from "../../../../../daemon/forge/rendering/limits.ts";
import { floods, longRuns } from "../../../../support/floods.ts";
import { createStepCounter, type StepCounter } from "../../../../support/steps.ts";
import { plainRenderer, root } from "./support.ts";

const renderFlood = (text: string) =>
  plainRenderer.render({
    text,
    mode: "comment",
    root,
    context: "/o/r",
    filePath: "",
    mentionable: ["a"],
  });

describe("hostile text costs steps in proportion to its length", () => {
  let steps: StepCounter;
  beforeAll(async () => {
    // The renderer and what it parses with, but nothing of the test's own.
    steps = await createStepCounter((url) =>
      /\/daemon\/forge\/|\/node_modules\/(?!\.?vite)/.test(url),
    );
  });
  afterAll(() => steps[Symbol.asyncDispose]());

  test.each(Object.entries(floods))("%s", async (_name, flood) => {
    await renderFlood(flood(200));
    const short = await steps.count(() => renderFlood(flood(2_000)));
    const long = await steps.count(() => renderFlood(flood(8_000)));
    // Four times as long: what were quadratic would take sixteen times the steps.
    expect(long).toBeLessThan(5 * short);
  });
});

// What regular expressions do is not counted in steps. One that starts anew at every character would not end in time.
test.each(Object.entries(longRuns))("%s comes to an end", async (_name, run) => {
  expect(["rendered", "over_limit"]).toContain((await renderFlood(run(200_000))).kind);
});

describe("what passes a documented limit is refused", () => {
  const kindOf = async (text: string, filePath = "a.md") =>
    (
      await plainRenderer.render({
        text,
        mode: "file",
        root,
        context: "",
        filePath,
        mentionable: [],
      })
    ).kind;

  test("in bytes, in marks, in lines, in depth", async () => {
    expect(await kindOf("x".repeat(TEXT_BYTES_MAX))).toBe("rendered");
    expect(await kindOf("x".repeat(TEXT_BYTES_MAX + 1))).toBe("over_limit");
    expect(await kindOf("é".repeat(TEXT_BYTES_MAX / 2 + 1))).toBe("over_limit");
    expect(await kindOf("[".repeat(MARKS_MAX + 1))).toBe("over_limit");
    expect(await kindOf("\n".repeat(60_001))).toBe("over_limit");
    expect(await kindOf("<b>".repeat(401))).toBe("over_limit");
    expect(await kindOf("<b>".repeat(300))).toBe("rendered");
  });

  test("in HTML: a long address that is named many times", async () => {
    expect(
      await kindOf(`[a]: http://a.example/${"x".repeat(200_000)}\n\n${"[a] ".repeat(20_000)}`),
    ).toBe("over_limit");
  });

  test("in levels that a library goes down one call for each", async () => {
    for (const count of [500, 25_000])
      expect(await kindOf("> ".repeat(count), "a.adoc")).toBe("over_limit");
  });

  test("a file that is not parsed as text may have as many lines as it likes", async () => {
    expect(await kindOf("a\n".repeat(100_000), "a.txt")).toBe("rendered");
    expect(await kindOf("a,b\n".repeat(100_000), "a.csv")).toBe("rendered");
  });
});
