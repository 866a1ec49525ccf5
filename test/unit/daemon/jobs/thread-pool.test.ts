import { Worker } from "node:worker_threads";
import { afterEach, describe, expect, test } from "vitest";
import { createThreadPool, type ThreadPool } from "../../../../daemon/jobs/thread-pool.ts";
import { skipUnless } from "../../../support/skip.ts";

const canTell = skipUnless(
  "cpuUsage" in Worker.prototype,
  "this Node does not measure the processor time of threads",
);

const pools: ThreadPool<string, string>[] = [];
afterEach(async () => {
  for (const pool of pools.splice(0)) await pool.close();
});

function makePool(
  options: {
    threadsMax?: number;
    runningPerCallerMax?: number;
    isAnonymous?: (caller: string) => boolean;
    lengthMax?: number;
    workerUrl?: URL;
    growthBytesMax?: number;
  } = {},
): ThreadPool<string, string> {
  const { lengthMax = 10, ...rest } = options;
  const pool = createThreadPool<string, string>({
    workerUrl: new URL("./endless.worker.ts", import.meta.url),
    workerData: undefined,
    threadsMax: 1,
    runningPerCallerMax: 10,
    queue: { lengthMax, lengthPerCallerMax: 10, sizeMax: 1_000 },
    idleMs: 60_000,
    resourceLimits: { maxOldGenerationSizeMb: 32 },
    ...rest,
  });
  pools.push(pool);
  return pool;
}

const LONG = { budgetMs: 60_000, caller: "ann", size: 1 };
const SHORT = { ...LONG, budgetMs: 50 };

describe("thread pool", () => {
  test("runs every job and settles each with its own result", async () => {
    const pool = makePool({ threadsMax: 2 });
    const outcomes = await Promise.all(["a", "b", "c", "d"].map((input) => pool.run(input, LONG)));
    expect(outcomes).toEqual(
      ["a", "b", "c", "d"].map((input) => ({ kind: "done", value: `did ${input}` })),
    );
  });

  test("terminates a thread that exceeds its budget and runs the next job on a new one", async () => {
    const pool = makePool();
    const stuck = pool.run("for ever", SHORT);
    const next = pool.run("next", LONG);
    expect(await stuck).toEqual({ kind: "timed_out" });
    expect(await next).toEqual({ kind: "done", value: "did next" });
  });

  canTell.test(
    "thread pool does not count wall-clock time in which a thread uses no processor",
    async () => {
      const pool = makePool();
      expect(await pool.run("rest", { ...LONG, budgetMs: 500 })).toEqual({
        kind: "done",
        value: "did rest",
      });
    },
  );

  test("lets a job use its budget where Node measures no processor time", async () => {
    const prototype = Worker.prototype as { cpuUsage?: unknown };
    const { cpuUsage } = prototype;
    delete prototype.cpuUsage;
    try {
      const pool = makePool();
      expect(await pool.run("rest", LONG)).toEqual({ kind: "done", value: "did rest" });
      expect(await pool.run("for ever", SHORT)).toEqual({ kind: "timed_out" });
    } finally {
      if (cpuUsage !== undefined) prototype.cpuUsage = cpuUsage;
    }
  });

  test("survives jobs that throw, exhaust their memory or exit", async () => {
    const pool = makePool();
    expect(await pool.run("throw", LONG)).toMatchObject({
      kind: "failed",
      error: { name: "TypeError", message: "as told" },
    });
    expect(await pool.run("memory", LONG)).toEqual({ kind: "out_of_memory" });
    expect(await pool.run("exit", LONG)).toMatchObject({ kind: "failed" });
    expect(await pool.run("after", LONG)).toEqual({ kind: "done", value: "did after" });
  });

  test("thread pool ends a job whose buffers outgrow the limit of memory", async () => {
    const pool = makePool({ growthBytesMax: 64 * 1024 * 1024 });
    expect(await pool.run("buffers", LONG)).toEqual({ kind: "out_of_memory" });
    expect(await pool.run("after", LONG)).toEqual({ kind: "done", value: "did after" });
  });

  test("refuses a job when the queue is full", async () => {
    const pool = makePool({ lengthMax: 1 });
    const first = pool.run("first", LONG);
    expect(await pool.run("second", LONG)).toEqual({ kind: "queue_full" });
    expect(await first).toMatchObject({ kind: "done" });
  });

  test("keeps a thread free for other callers while one caller has endless jobs", async () => {
    const pool = makePool({ threadsMax: 2, runningPerCallerMax: 1 });
    const mallory = [1, 2, 3].map(() => pool.run("for ever", { ...LONG, caller: "mallory" }));
    for (const input of ["a", "b", "c"])
      expect(await pool.run(input, LONG)).toEqual({ kind: "done", value: `did ${input}` });
    await pool.close();
    expect((await Promise.all(mallory)).map(({ kind }) => kind)).toEqual([
      "failed",
      "not_started",
      "not_started",
    ]);
  });

  test("keeps a thread free for accounts while many anonymous callers have endless jobs", async () => {
    const isAnonymous = (caller: string) => caller.startsWith("a:");
    const pool = makePool({ threadsMax: 2, runningPerCallerMax: 1, isAnonymous });
    for (const caller of ["a:1", "a:2", "a:3"]) void pool.run("for ever", { ...LONG, caller });
    const outcome = await pool.run("short", { ...LONG, caller: "u:1" });
    expect(outcome).toEqual({ kind: "done", value: "did short" });
  });

  test("refuses the newest job of many anonymous callers when an account needs a place", async () => {
    const isAnonymous = (caller: string) => caller.startsWith("a:");
    const pool = makePool({ threadsMax: 2, runningPerCallerMax: 1, isAnonymous, lengthMax: 3 });
    void pool.run("for ever", { ...LONG, caller: "a:1" });
    void pool.run("for ever", { ...LONG, caller: "u:1" });
    const [, , newest] = ["a:2", "a:3", "a:4"].map((caller) =>
      pool.run("waiting", { ...LONG, caller }),
    );
    const wanted = pool.run("wanted", { ...LONG, caller: "u:2" });
    expect(await newest).toEqual({ kind: "queue_full" });
    await pool.close();
    expect(await wanted).toMatchObject({ kind: "not_started" });
  });

  test("settles running and waiting jobs when it is closed", async () => {
    const pool = makePool();
    await pool.run("first", LONG);
    const stuck = pool.run("for ever", LONG);
    const waiting = pool.run("waiting", LONG);
    await pool.close();
    expect(await stuck).toMatchObject({ kind: "failed" });
    expect(await waiting).toMatchObject({ kind: "not_started" });
    expect(await pool.run("late", LONG)).toMatchObject({ kind: "not_started" });
  });

  test("thread pool does not start a job when no thread can start", async () => {
    const pool = makePool({ workerUrl: new URL("./not-there.worker.ts", import.meta.url) });
    expect(await pool.run("a", LONG)).toMatchObject({ kind: "not_started" });
  });

  test("settles each waiting job when the creation of a thread throws", async () => {
    const pool = makePool({ workerUrl: new URL("https://localhost/not-a-file.js"), threadsMax: 2 });
    const outcomes = await Promise.all(["a", "b"].map((input) => pool.run(input, LONG)));
    expect(outcomes.map(({ kind }) => kind)).toEqual(["not_started", "not_started"]);
  });
});
