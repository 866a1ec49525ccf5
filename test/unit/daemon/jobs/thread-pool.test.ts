import { Worker } from "node:worker_threads";
import { afterEach, describe, expect, test } from "vitest";
import { createThreadPool, type ThreadPool } from "../../../../daemon/jobs/thread-pool.ts";
import { skipUnless } from "../../../support/skip.ts";

const canTell = skipUnless(
  "cpuUsage" in Worker.prototype,
  "this Node does not tell what its threads have worked",
);

const pools: ThreadPool<string, string>[] = [];
afterEach(async () => {
  for (const pool of pools.splice(0)) await pool.close();
});

function makePool(
  options: { threadsMax?: number; queueMax?: number; workerUrl?: URL } = {},
): ThreadPool<string, string> {
  const pool = createThreadPool<string, string>({
    workerUrl: new URL("./endless.worker.ts", import.meta.url),
    workerData: undefined,
    threadsMax: 1,
    queueMax: 10,
    idleMs: 60_000,
    resourceLimits: { maxOldGenerationSizeMb: 32 },
    ...options,
  });
  pools.push(pool);
  return pool;
}

const LONG = { budgetMs: 60_000 };

describe("a pool of threads", () => {
  test("does each piece of work and answers in its place", async () => {
    const pool = makePool({ threadsMax: 2 });
    const outcomes = await Promise.all(["a", "b", "c", "d"].map((input) => pool.run(input, LONG)));
    expect(outcomes).toEqual(
      ["a", "b", "c", "d"].map((input) => ({ kind: "done", value: `did ${input}` })),
    );
  });

  test("ends a thread whose work takes too long, and goes on with another", async () => {
    const pool = makePool();
    const stuck = pool.run("for ever", { budgetMs: 50 });
    const next = pool.run("next", LONG);
    expect(await stuck).toEqual({ kind: "timed_out" });
    expect(await next).toEqual({ kind: "done", value: "did next" });
  });

  canTell.test("a thread that gets no processor is given the time it needs", async () => {
    const pool = makePool();
    expect(await pool.run("rest", { budgetMs: 500 })).toEqual({ kind: "done", value: "did rest" });
  });

  test("outlives work that throws, takes all memory or ends its thread", async () => {
    const pool = makePool();
    expect(await pool.run("throw", LONG)).toMatchObject({
      kind: "failed",
      error: { name: "TypeError", message: "as told" },
    });
    expect(await pool.run("memory", LONG)).toEqual({ kind: "out_of_memory" });
    expect(await pool.run("exit", LONG)).toMatchObject({ kind: "failed" });
    expect(await pool.run("after", LONG)).toEqual({ kind: "done", value: "did after" });
  });

  test("says so when too much is waiting", async () => {
    const pool = makePool({ queueMax: 1 });
    const first = pool.run("first", LONG);
    expect(await pool.run("second", LONG)).toEqual({ kind: "busy" });
    expect(await first).toMatchObject({ kind: "done" });
  });

  test("answers work under way and waiting when it is closed", async () => {
    const pool = makePool();
    const stuck = pool.run("for ever", LONG);
    const waiting = pool.run("waiting", LONG);
    await pool.close();
    expect(await stuck).toMatchObject({ kind: "failed" });
    expect(await waiting).toMatchObject({ kind: "failed" });
    expect(await pool.run("late", LONG)).toMatchObject({ kind: "failed" });
  });

  test("does not wait for ever for a thread that cannot start", async () => {
    const pool = makePool({ workerUrl: new URL("./not-there.worker.ts", import.meta.url) });
    expect(await pool.run("a", LONG)).toMatchObject({ kind: "failed" });
  });
});
