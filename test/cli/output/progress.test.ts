import { stripVTControlCharacters } from "node:util";
import stringWidth from "string-width";
import xterm from "@xterm/headless";
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
  test("progress is a bar on a terminal, at most ten frames a second, erased at the end", async () => {
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
  ] as const)("is not shown %s", async (_when, flags, options) => {
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

describe("several transfers", () => {
  async function several(flags: Partial<CommonFlags>, rows = 24) {
    let now = 1_000_000;
    const terminal = new xterm.Terminal({ cols: 60, rows, allowProposedApi: true });
    const system = fakeSystem({ home: "/nowhere", now: () => now, terminal: true, columns: 60 });
    Object.assign(system.stdout, { rows });
    const cli = createContext(system, neverStopping);
    cli.useFlags({ ...noFlags, ...flags });
    const progress = await cli.progress();
    let drawnUntil = 0;
    return {
      progress,
      cli,
      wait: (ms: number) => (now += ms),
      async screen() {
        const text = system.written.err();
        await new Promise<void>((resolve) =>
          terminal.write(text.slice(drawnUntil).replaceAll("\n", "\r\n"), resolve),
        );
        drawnUntil = text.length;
        const { active } = terminal.buffer;
        return Array.from({ length: active.length }, (_, row) =>
          (active.getLine(row)?.translateToString(true) ?? "").trimEnd(),
        ).filter((row) => row !== "");
      },
      text: () => system.written.err(),
      narrow(columns: number) {
        terminal.resize(columns, rows);
        Object.assign(system.stdout, { columns });
      },
    };
  }

  test("leave nothing behind on a terminal that is made narrower meanwhile", async () => {
    const { progress, cli, wait, screen, narrow } = await several({});
    cli.io.note("a note");
    const both = [progress.begin("one.bin", 1000), progress.begin("two.bin", 1000)];
    wait(1000);
    for (const one of both) one.update(500);
    wait(1000);
    both[0]?.update(500);
    expect(await screen()).toHaveLength(4);
    narrow(40);
    // The terminal has wrapped both bars.
    expect(await screen()).toHaveLength(6);
    wait(1000);
    both[0]?.update(600);
    expect(await screen()).toEqual([
      "a note",
      expect.stringMatching(/ 60%/),
      expect.stringMatching(/ 50%/),
      expect.stringMatching(/^0 done, 2 under way/),
    ]);
    progress.finish();
    expect(await screen()).toEqual(["a note"]);
  });

  test("show totals and the remaining time once all files have been found", async () => {
    const { progress, wait, screen } = await several({});
    const lineOf = async () => (await screen()).at(-1);
    for (const bytes of [1_000_000, 3_000_000, null]) progress.expect(bytes);
    progress.leaveOut(null);
    const one = progress.begin("one.bin", 1_000_000);
    progress.begin("two.bin", 3_000_000);
    wait(1000);
    one.update(500_000);
    expect(await lineOf()).toMatch(/^0 of 2\+ done, 2 under way  488\.3 KiB  488\.3 KiB\/s$/);
    progress.expectNoMore();
    wait(1000);
    one.update(1_000_000);
    expect(await lineOf()).toMatch(/^0 of 2 done  976\.6 KiB\/3\.8 MiB  488\.3 KiB\/s  6 s left$/);
  });

  test("transfers have a line each and one for the total, below notes", async () => {
    const { progress, cli, wait, screen } = await several({});
    const one = progress.begin("docs/deep/a very long way down to/one.bin", 1000);
    const two = progress.begin("two.bin", 1000);
    wait(1000);
    one.update(500);
    wait(1000);
    two.update(250);
    expect(await screen()).toEqual([
      expect.stringMatching(/one\.bin .* 50% +500 B\/1000 B/),
      expect.stringMatching(/^two\.bin .* 25% +250 B\/1000 B/),
      "0 done, 2 under way  750 B  375 B/s",
    ]);
    cli.io.note("a note");
    wait(1000);
    one.end("done");
    expect(await screen()).toEqual([
      "a note",
      expect.stringMatching(/^two\.bin/),
      "1 done, 1 under way  750 B  250 B/s",
    ]);
    progress.waiting(30);
    two.end("failed");
    progress.finish();
    expect(await screen()).toEqual(["a note", "Rate limited by the server; waiting 30 s."]);
  });

  test("leave room for the ^C that a terminal writes behind them", async () => {
    const { progress, wait, screen, text } = await several({ color: false });
    const all = Array.from({ length: 2 }, (_, index) =>
      progress.begin(`${index}`.repeat(99), 1e12),
    );
    wait(1000);
    for (const one of all) one.update(123_456_789);
    const lines = text()
      .split("\n")
      .map((line) => stripVTControlCharacters(line).replace("\r", ""));
    for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(57);
    expect(await screen()).not.toEqual([]);
  });

  test("of more than fit are only counted", async () => {
    const { progress, wait, screen } = await several({}, 5);
    const all = Array.from({ length: 20 }, (_, index) => progress.begin(`${index}`, 10));
    wait(1000);
    for (const one of all) one.update(1);
    wait(1000);
    all[0]?.update(2);
    expect(await screen()).toHaveLength(4);
    wait(1000);
    for (const one of all) one.end("done");
    expect(await screen()).not.toEqual([]);
    progress.finish();
    expect(await screen()).toEqual([]);
  });

  test("are events of their own with --progress json", async () => {
    const { progress, text } = await several({ progress: "json" });
    const one = progress.begin("one", 10);
    const two = progress.begin("two", undefined);
    one.update(5);
    two.update(6);
    progress.waiting(9);
    two.end("failed");
    expect(text().trimEnd().split("\n")).toEqual([
      '{"event":"progress","item":"one","bytes":5,"total":10}',
      '{"event":"progress","item":"two","bytes":6,"total":null}',
      '{"event":"waiting","seconds":9}',
      '{"event":"failed","item":"two","bytes":6,"total":null}',
    ]);
  });
});

test.each([20, 40, 80, 200])("a bar is narrower than a terminal of %i cells", (columns) => {
  for (const total of [undefined, 10_000_000]) {
    const line = toBar({ name: "日本語 ".repeat(20), done: 4_000_000, total, ms: 2000, columns });
    expect(stringWidth(line)).toBeLessThan(columns);
  }
});

test("resumed bytes do not count for the transfer rate", () => {
  const line = toBar({ name: "a", done: 3_000, total: 4_000, from: 2_000, ms: 1000, columns: 80 });
  expect(line).toMatch(/ 75% {2}2\.9 KiB\/3\.9 KiB {2}1000 B\/s {2}1 s left$/);
});

test("a bar shows percentage, bytes, rate and remaining time", () => {
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
