import stringWidth from "string-width";
import { describe, expect, test } from "vitest";
import { createContext } from "../../../cli/context.ts";
import { type CommonFlags, noFlags } from "../../../cli/flags.ts";
import { toBar } from "../../../cli/output/progress.ts";
import { neverStopping } from "../../../cli/report.ts";
import { fakeSystem } from "../support/run-cli.ts";

async function transfer(
  flags: Partial<CommonFlags>,
  options: { terminal: boolean; env?: Record<string, string> },
) {
  let now = 1_000_000;
  const system = fakeSystem({ home: "/nowhere", now: () => now, ...options });
  const cli = createContext(system, neverStopping);
  cli.useFlags({ ...noFlags, ...flags });
  const one = (await cli.progress()).begin("a.bin", 1000);
  for (let bytes = 0; bytes <= 1000; bytes += 10) {
    one.update(bytes);
    now += 20;
  }
  one.end("done");
  return system.written.err();
}

describe("progress", () => {
  test("is a bar on a terminal, at most ten frames a second, gone at the end", async () => {
    const err = await transfer({}, { terminal: true });
    const frames = err.split("\r\u001b[2K").slice(1);
    expect(frames.at(-1)).toBe("");
    expect(frames.length).toBeLessThanOrEqual(22);
    expect(frames[10]).toContain("a.bin");
  });

  test.each([
    ["in a pipe", {}, { terminal: false }],
    ["with --quiet", { quiet: true }, { terminal: true }],
    ["with machine output", { json: true }, { terminal: true }],
    ["on a dumb terminal", {}, { terminal: true, env: { TERM: "dumb" } }],
    ["with --progress none", { progress: "none" }, { terminal: true }],
  ] as const)("is nothing %s", async (_when, flags, options) => {
    expect(await transfer(flags, options)).toBe("");
  });

  test("is a JSON document a line with --progress json, the last one the outcome", async () => {
    const err = await transfer({ progress: "json" }, { terminal: false });
    const events = err
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { event: string });
    expect(events[0]).toEqual({ event: "progress", item: "a.bin", bytes: 0, total: 1000 });
    expect(events.at(-1)).toEqual({ event: "done", item: "a.bin", bytes: 1000, total: 1000 });
  });
});

test.each([20, 40, 80, 200])("a bar is narrower than a terminal of %i cells", (columns) => {
  for (const total of [undefined, 10_000_000]) {
    const line = toBar({ name: "日本語 ".repeat(20), done: 4_000_000, total, ms: 2000, columns });
    expect(stringWidth(line)).toBeLessThan(columns);
  }
});

test("a bar tells share, amount, rate and time left", () => {
  const line = toBar({
    name: "a.bin",
    done: 512 * 1024,
    total: 1024 * 1024,
    ms: 1000,
    columns: 100,
  });
  expect(line).toMatch(
    /^a\.bin {2}\[=+> +\] {2} 50% {2}512\.0 KiB\/1\.0 MiB {2}512\.0 KiB\/s {2}1 s left$/,
  );
});
