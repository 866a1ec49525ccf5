import { afterEach, describe, expect, test } from "vitest";
import { createProcessPool } from "../../../../daemon/jobs/process-pool.ts";
import type { ThreadPool } from "../../../../daemon/jobs/thread-pool.ts";

const pools: ThreadPool<string, string>[] = [];
afterEach(async () => {
  for (const pool of pools.splice(0)) await pool.close();
});

function makePool(options: { scriptUrl?: URL; lengthMax?: number; idleBytesMax?: number } = {}) {
  const { lengthMax = 10, ...rest } = options;
  const pool = createProcessPool<string, string>({
    scriptUrl: new URL("./endless.process.ts", import.meta.url),
    program: [process.execPath],
    queue: { lengthMax, lengthPerCallerMax: 10, sizeMax: 1_000 },
    idleMs: 60_000,
    idleBytesMax: 1024 ** 3,
    ...rest,
  });
  pools.push(pool);
  return pool;
}

const LONG = { budgetMs: 60_000, caller: "ann", size: 1 };
const done = (value: string) => ({ kind: "done", value });

/** The id of the process that runs the jobs. */
async function pidOf(pool: ThreadPool<string, string>): Promise<number> {
  const outcome = await pool.run("pid", LONG);
  return outcome.kind === "done" ? Number(outcome.value) : Number.NaN;
}

describe("process pool", () => {
  test("runs every job in one process that is not this one", async () => {
    const pool = makePool();
    const outcomes = await Promise.all(["a", "b", "c"].map((input) => pool.run(input, LONG)));
    expect(outcomes).toEqual(["a", "b", "c"].map((input) => done(`did ${input}`)));
    const pid = await pidOf(pool);
    expect(pid).not.toBe(process.pid);
    expect(await pidOf(pool)).toBe(pid);
  });

  test("ends a job that exceeds its budget, and runs the next one in another process", async () => {
    const pool = makePool();
    const pid = await pidOf(pool);
    const stuck = pool.run("for ever", { ...LONG, budgetMs: 50 });
    const next = pool.run("pid", LONG);
    expect(await stuck).toEqual({ kind: "timed_out" });
    expect(await next).not.toEqual(done(String(pid)));
  });

  test.each(["memory", "buffers"])(
    "ends a job that takes too much memory as %s, and its process with it",
    async (kind) => {
      const pool = makePool();
      const pid = await pidOf(pool);
      expect(await pool.run(kind, LONG)).toEqual({ kind: "out_of_memory" });
      expect(await pidOf(pool)).not.toBe(pid);
    },
  );

  test("keeps the process after a job that throws, and passes the error on", async () => {
    const pool = makePool();
    const pid = await pidOf(pool);
    expect(await pool.run("throw", LONG)).toMatchObject({
      kind: "failed",
      error: { name: "TypeError", message: "as told" },
    });
    expect(await pidOf(pool)).toBe(pid);
  });

  test("runs the next job in another process when one leaves too much memory", async () => {
    const pool = makePool({ idleBytesMax: 1 });
    const pid = await pidOf(pool);
    expect(await pidOf(pool)).not.toBe(pid);
  });

  test("settles the job of a process that was killed", async () => {
    const pool = makePool();
    const pid = await pidOf(pool);
    const running = pool.run("for ever", LONG);
    process.kill(pid, "SIGKILL");
    expect(await running).toEqual({ kind: "out_of_memory" });
    expect(await pool.run("next", LONG)).toEqual(done("did next"));
  });

  test("survives a stop signal to the whole process group", async () => {
    const pool = makePool();
    const pid = await pidOf(pool);
    const running = pool.run("rest", LONG);
    process.kill(pid, "SIGTERM");
    process.kill(pid, "SIGINT");
    expect(await running).toEqual(done("did rest"));
  });

  test("settles each job when the program or its script is missing", async () => {
    const pool = createProcessPool<string, string>({
      scriptUrl: new URL("./endless.process.ts", import.meta.url),
      program: ["/no/such/program"],
      queue: { lengthMax: 10, lengthPerCallerMax: 10, sizeMax: 10 },
      idleMs: 60_000,
      idleBytesMax: 1024 ** 3,
    });
    pools.push(pool);
    const kinds = await Promise.all([pool.run("a", LONG), pool.run("b", LONG)]);
    for (const { kind } of kinds) expect(["not_started", "failed"]).toContain(kind);
    const absent = makePool({ scriptUrl: new URL("./absent.process.ts", import.meta.url) });
    expect(await absent.run("a", LONG)).toMatchObject({ kind: "failed" });
  });

  test("refuses a job when the queue is full", async () => {
    const pool = makePool({ lengthMax: 1 });
    const first = pool.run("a", LONG);
    const second = pool.run("b", LONG);
    expect(await pool.run("c", LONG)).toEqual({ kind: "queue_full" });
    expect(await Promise.all([first, second])).toEqual([done("did a"), done("did b")]);
  });

  test("ends the process, running and waiting jobs when it is closed", async () => {
    const pool = makePool();
    const pid = await pidOf(pool);
    const running = pool.run("for ever", LONG);
    const waiting = pool.run("next", LONG);
    await pool.close();
    expect(await running).toMatchObject({ kind: "failed" });
    expect(await waiting).toMatchObject({ kind: "not_started" });
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
    expect(await pool.run("later", LONG)).toMatchObject({ kind: "not_started" });
  });
});
