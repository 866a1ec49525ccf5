import { readdir } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { runnerService, Result } from "../../../daemon/workflows/runner-messages.ts";
import { CliError } from "../../../cli/errors.ts";
import { runRunner } from "../../../cli/runner/runner.ts";
import type { RunnerClient } from "../../../cli/runner/protocol-client.ts";
import { temporaryHome } from "../support/run-cli.ts";

/** A task of a repository that the runner does not serve: it ends without a process. */
const task = {
  id: 7n,
  workflowPayload: Buffer.from("jobs: { a: { runs-on: host, steps: [{ run: x }] } }"),
  context: { repository: "noah/shed", job: "a", run_id: "3" },
};

/** Short waits pass at once; longer ones end with their signal alone. */
async function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  await setImmediate();
  if (milliseconds < 1_000) return;
  await new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
    if (signal?.aborted === true) reject(new Error("aborted"));
  });
}

/** A daemon that hands out one task, and a runner whose daemon is then away for some requests of its address. */
function createRunner(root: string, away: number) {
  const { method } = runnerService;
  const stop = new AbortController();
  const notes: string[] = [];
  const results: number[] = [];
  let queries = 0;
  let fetched = 0;
  const client = {
    declare: async () => create(method.declare.output, {}),
    fetchTask: async () => {
      fetched += 1;
      if (fetched === 1) return create(method.fetchTask.output, { task, tasksVersion: 2n });
      stop.abort();
      return create(method.fetchTask.output, { tasksVersion: 2n });
    },
    updateTask: async ({ state }: { state?: { result?: number } }) => {
      if (state?.result !== undefined) results.push(state.result);
      return create(method.updateTask.output, { state: { result: state?.result ?? 0 } });
    },
    updateLog: async ({ index = 0n, rows = [] }: { index?: bigint; rows?: readonly object[] }) =>
      create(method.updateLog.output, { ackIndex: index + BigInt(rows.length) }),
  } as unknown as RunnerClient;
  const run = runRunner({
    system: {
      env: {},
      platform: "linux",
      clock: () => 0,
      random: (bytes) => new Uint8Array(bytes),
      sleep,
    },
    client,
    url: async () => {
      queries += 1;
      if (queries > away) return "http://127.0.0.1:9";
      if (away === Number.POSITIVE_INFINITY && queries === 3) stop.abort();
      throw new CliError("daemon_unreachable", "the daemon is away");
    },
    certificates: undefined,
    version: "test",
    name: "r",
    labels: [{ name: "host", target: { kind: "host" } }],
    allow: ["mira"],
    isEphemeral: false,
    engine: undefined,
    node: ["node"],
    architecture: "x64",
    root,
    capacity: 1,
    finishWithinMs: 60_000,
    signal: stop.signal,
    note: (line) => notes.push(line),
  });
  return { run, notes, results, asked: () => queries };
}

test("a runner waits for a daemon that ends right after a hand-over, and runs the task then", async () => {
  await using home = await temporaryHome();
  const runner = createRunner(home.path, 2);
  await runner.run;
  expect(runner.asked()).toBe(3);
  expect(runner.notes).toEqual(
    expect.arrayContaining([
      "the daemon is away; trying again",
      "connected to the daemon again",
      "task 7: a of run 3 in noah/shed ended: failure",
    ]),
  );
  expect(runner.results.at(-1)).toBe(Result.failure);
});

test("a runner that stops while its daemon is away leaves the task to be handed over again", async () => {
  await using home = await temporaryHome();
  const runner = createRunner(home.path, Number.POSITIVE_INFINITY);
  await runner.run;
  expect(runner.results).toEqual([]);
  expect(runner.notes.join("\n")).not.toContain("task 7");
  expect(await readdir(home.path)).toEqual([]);
});
