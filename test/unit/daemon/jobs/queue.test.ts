import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  createJobQueue,
  type EnqueuedJob,
  type JobQueue,
  type JobQueueOptions,
  PAYLOAD_CHARACTERS_MAX,
} from "../../../../daemon/jobs/queue.ts";
import {
  type JobContext,
  type JobKind,
  PermanentJobError,
  PostponedJobError,
  RetryLaterError,
} from "../../../../daemon/jobs/job-kind.ts";
import { createSchedules, everyMs } from "../../../../daemon/jobs/schedule.ts";
import type { Log } from "../../../../daemon/utilities/logging.ts";
import type { Database } from "../../../../storage/engine/database.ts";
import { deleteDeadJobs, listJobs } from "../../../../storage/tables/common/jobs.ts";
import { countJobs } from "../../../support/storage/count-jobs.ts";
import { migrate, readMigrations } from "../../../../storage/engine/migrate.ts";
import { openSqlite } from "../../../../storage/engine/sqlite.ts";
import { openTestDatabase } from "../../../support/storage/database.ts";

let db: Database;
let now: number;
let logged: string[];
let queues: JobQueue[];

beforeEach(async () => {
  now = 1_000_000;
  logged = [];
  queues = [];
  db = await openTestDatabase({ clock: () => now });
});
afterEach(async () => {
  await Promise.all(queues.map((queue) => queue.stop(1000)));
  await db.close();
});

const note = (_facts: unknown, message?: string) => void logged.push(message ?? "");
const log: Log = {
  debug: note,
  info: note,
  warn: note,
  error: note,
  fatal: note,
  child: () => log,
  isLevelEnabled: () => true,
};

function makeQueue(changes: Partial<JobQueueOptions> = {}): JobQueue {
  const clock = () => now;
  const queue = createJobQueue({
    db,
    clock,
    random: () => 0,
    log,
    owner: "a",
    alone: true,
    ...changes,
  });
  queues.push(queue);
  return queue;
}

const add = (queue: JobQueue, job: Partial<EnqueuedJob> = {}) =>
  db.transaction((tx) => queue.enqueue(tx, { kind: "test", payload: null, ...job }));

/** A kind that records its payloads and runs a given function. */
function recording(
  act: (payload: unknown, context: JobContext) => Promise<void> | void = () => undefined,
) {
  const seen: unknown[] = [];
  const kind = (changes: Partial<JobKind> = {}): JobKind => ({
    kind: "test",
    run: async (payload, context) => {
      seen.push(payload);
      await act(payload, context);
    },
    ...changes,
  });
  return { seen, kind };
}

const fail = () => Promise.reject(new Error("no"));

describe("a job", () => {
  test("of an unknown kind runs once its code is loaded, and waits for a kind that nothing knows", async () => {
    const queue = makeQueue();
    const { seen, kind } = recording();
    const asked: string[] = [];
    queue.onUnknown(async (name) => {
      asked.push(name);
      if (name === "test") queue.register(kind());
    });
    await add(queue, { payload: 1 });
    await add(queue, { kind: "later", runAt: now + 1_000 });
    expect(await queue.runDue()).toBe(1);
    expect(seen).toEqual([1]);
    expect(asked).toEqual(["test"]);
    now += 1_000;
    expect(await queue.runDue()).toBe(0);
    expect(asked).toEqual(["test", "later"]);
    expect(await countJobs(db)).toMatchObject({ waiting: 1 });
  });

  test("of an unknown kind is abandoned by the code of its kind when it is cancelled", async () => {
    const queue = makeQueue();
    const abandoned: unknown[] = [];
    const { kind } = recording();
    queue.onUnknown(async () =>
      queue.register(kind({ onAbandoned: async (_tx, payload) => void abandoned.push(payload) })),
    );
    const id = await add(queue, { payload: 7 });
    expect(await queue.cancel(id, async () => undefined)).toBe("changed");
    expect(abandoned).toEqual([7]);
  });

  test("runs once, oldest first, and is deleted when it is done", async () => {
    const queue = makeQueue();
    const { seen, kind } = recording();
    queue.register(kind());
    await add(queue, { payload: { n: 1 } });
    await add(queue, { payload: { n: 2 } });
    expect(await queue.runDue()).toBe(2);
    expect(seen).toEqual([{ n: 1 }, { n: 2 }]);
    expect(await countJobs(db)).toEqual({ waiting: 0, running: 0, dead: 0 });
  });

  test("a job does not exist when its transaction is rolled back", async () => {
    const queue = makeQueue();
    const { seen, kind } = recording();
    queue.register(kind());
    const undone = db.transaction(async (tx) => {
      await queue.enqueue(tx, { kind: "test", payload: 1 });
      throw new Error("undo");
    });
    await expect(undone).rejects.toThrow("undo");
    expect(await queue.runDue()).toBe(0);
    expect(seen).toEqual([]);
  });

  test("waits for its time", async () => {
    const queue = makeQueue();
    const { seen, kind } = recording();
    queue.register(kind());
    await add(queue, { runAt: now + 10 });
    expect(await queue.runDue()).toBe(0);
    now += 10;
    expect(await queue.runDue()).toBe(1);
    expect(seen).toHaveLength(1);
  });

  test("a job of an unregistered kind waits", async () => {
    const queue = makeQueue();
    await add(queue, { kind: "unknown" });
    expect(await queue.runDue()).toBe(0);
    expect(await countJobs(db)).toMatchObject({ waiting: 1 });
  });

  test("a job with a payload that is too long is refused", async () => {
    const queue = makeQueue();
    await expect(add(queue, { payload: "x".repeat(PAYLOAD_CHARACTERS_MAX) })).rejects.toThrow(
      "too long",
    );
  });

  test("two kinds of one name are a mistake", () => {
    const queue = makeQueue();
    queue.register(recording().kind());
    expect(() => queue.register(recording().kind())).toThrow("called test");
  });
});

describe("a key", () => {
  test("makes waiting jobs one, with the last payload and the earliest time", async () => {
    const queue = makeQueue();
    const { seen, kind } = recording();
    queue.register(kind());
    const id = await add(queue, { key: "k", payload: 1, runAt: now });
    expect(await add(queue, { key: "k", payload: 2, runAt: now + 99 })).toBe(id);
    await add(queue, { key: "other", payload: 3 });
    expect(await queue.runDue()).toBe(2);
    expect(seen).toEqual([2, 3]);
  });

  test("runs a job that is enqueued while the first runs after it", async () => {
    const queue = makeQueue();
    const order: string[] = [];
    queue.register({
      kind: "test",
      concurrency: 5,
      run: async (payload) => {
        order.push(`begin ${String(payload)}`);
        if (payload === 1) {
          await add(queue, { key: "k", payload: 2 });
        }
        order.push(`end ${String(payload)}`);
      },
    });
    await add(queue, { key: "k", payload: 1 });
    await queue.runDue();
    expect(order).toEqual(["begin 1", "end 1", "begin 2", "end 2"]);
  });

  test("leaves one job when the first fails while the next waits", async () => {
    const queue = makeQueue();
    let tries = 0;
    queue.register({
      kind: "test",
      run: async () => {
        tries += 1;
        if (tries === 1) {
          await add(queue, { key: "k", payload: 2 });
          throw new Error("first");
        }
      },
    });
    await add(queue, { key: "k", payload: 1 });
    await queue.runDue();
    expect(tries).toBe(2);
    expect(await countJobs(db)).toEqual({ waiting: 0, running: 0, dead: 0 });
  });
});

describe("a failure", () => {
  test("a failure is retried after waits that double up to a bound, then the job is dead-lettered", async () => {
    const queue = makeQueue();
    const { seen, kind } = recording(fail);
    queue.register(kind({ attemptsMax: 5, retryFirstMs: 100, retryMaxMs: 300 }));
    await add(queue);
    const waits: number[] = [];
    for (let attempt = 1; attempt < 5; attempt++) {
      await queue.runDue();
      const [job] = await listJobs(db, { state: "waiting" }, { limit: 1, offset: 0 });
      waits.push((job?.runAt ?? 0) - now);
      now = job?.runAt ?? 0;
    }
    expect(waits).toEqual([100, 200, 300, 300]);
    await queue.runDue();
    expect(seen).toHaveLength(5);
    const [dead] = await listJobs(db, { state: "dead", kind: "test" }, { limit: 9, offset: 0 });
    expect(dead).toMatchObject({ attempts: 5, lastError: "no", payload: null });
    expect(logged.at(-1)).toBe("job failed, dead-lettered");
  });

  test("a failure has jitter that takes off up to half of the wait", async () => {
    const queue = makeQueue({ random: () => 0.9999 });
    queue.register(recording(fail).kind({ retryFirstMs: 1000 }));
    await add(queue);
    await queue.runDue();
    const [job] = await listJobs(db, {}, { limit: 1, offset: 0 });
    expect((job?.runAt ?? 0) - now).toBe(500);
  });

  test("a failure that is permanent dead-letters the job at once", async () => {
    const queue = makeQueue();
    const { seen, kind } = recording(() => Promise.reject(new PermanentJobError("never")));
    queue.register(kind());
    await add(queue);
    await queue.runDue();
    expect(seen).toHaveLength(1);
    expect(await countJobs(db)).toEqual({ waiting: 0, running: 0, dead: 1 });
  });

  test("retries a failure that names a time then, but not later than the kind's longest delay", async () => {
    const queue = makeQueue();
    const { seen, kind } = recording(() => Promise.reject(new RetryLaterError("wait", 90_000)));
    queue.register(kind({ retryFirstMs: 1_000, retryMaxMs: 60_000 }));
    await add(queue);
    await queue.runDue();
    now += 59_999;
    await queue.runDue();
    expect(seen).toHaveLength(1);
    now += 1;
    await queue.runDue();
    expect(seen).toHaveLength(2);
  });

  test("a postponed job runs at its time, and no attempt is counted however often it is", async () => {
    const queue = makeQueue();
    const { seen, kind } = recording(() => Promise.reject(new PostponedJobError("turn", 7_000)));
    queue.register(kind({ attemptsMax: 2 }));
    await add(queue);
    for (let round = 1; round <= 5; round += 1) {
      await queue.runDue();
      expect(seen).toHaveLength(round);
      now += 6_999;
      await queue.runDue();
      expect(seen).toHaveLength(round);
      now += 1;
    }
    expect(await countJobs(db)).toMatchObject({ waiting: 1, dead: 0 });
  });

  test("deletes dead-lettered jobs after the retention time", async () => {
    const queue = makeQueue();
    queue.register(recording(fail).kind({ attemptsMax: 1 }));
    await add(queue);
    await queue.runDue();
    expect(await deleteDeadJobs(db, now)).toBe(0);
    expect(await deleteDeadJobs(db, now + 1)).toBe(1);
  });
});

describe("concurrency", () => {
  test("concurrency is bounded for each kind, and kinds do not hold each other up", async () => {
    const queue = makeQueue({ pollMs: 5 });
    const gate = Promise.withResolvers<void>();
    const slow = recording(() => gate.promise);
    const quick = recording();
    queue.register(slow.kind({ concurrency: 2 }));
    const done = Promise.withResolvers<void>();
    queue.register(quick.kind({ kind: "quick", run: async () => done.resolve() }));
    for (let n = 0; n < 5; n++) {
      await add(queue);
    }
    await queue.start();
    await add(queue, { kind: "quick" });
    await done.promise;
    expect(slow.seen).toHaveLength(2);
    gate.resolve();
  });

  test("a thousand jobs and two processes: each job runs exactly once", async () => {
    const counts = new Map<unknown, number>();
    const count = (payload: unknown) => void counts.set(payload, (counts.get(payload) ?? 0) + 1);
    const first = makeQueue({ alone: false, owner: "a" });
    const second = makeQueue({ alone: false, owner: "b" });
    for (const queue of [first, second]) {
      queue.register(recording(count).kind({ concurrency: 20 }));
    }
    await db.transaction(async (tx) => {
      for (let n = 0; n < 1000; n++) {
        await first.enqueue(tx, { kind: "test", payload: n });
      }
    });
    const ran = await Promise.all([first.runDue(), second.runDue()]);
    expect(ran[0] + ran[1]).toBe(1000);
    expect(counts.size).toBe(1000);
    expect(new Set(counts.values())).toEqual(new Set([1]));
  });
});

describe("a sequence", () => {
  test("runs one job after the other in their order at two processes, beside other sequences", async () => {
    const begun: unknown[] = [];
    const gates = new Map<unknown, PromiseWithResolvers<void>>();
    const act = async (payload: unknown) => {
      begun.push(payload);
      await gates.get(payload)?.promise;
    };
    const first = makeQueue({ alone: false, owner: "a", pollMs: 5 });
    const second = makeQueue({ alone: false, owner: "b", pollMs: 5 });
    for (const queue of [first, second])
      queue.register(recording(act).kind({ concurrency: 5, inTurns: true }));
    for (const payload of ["a1", "a2", "a3", "b1", "b2"]) {
      gates.set(payload, Promise.withResolvers());
      await add(first, { payload, sequence: payload[0] ?? "", account: payload[0] ?? "" });
    }
    await Promise.all([first.start(), second.start()]);
    const open = (payload: string) => gates.get(payload)?.resolve();
    await expect.poll(() => begun.toSorted()).toEqual(["a1", "b1"]);
    open("b1");
    await expect.poll(() => begun.toSorted()).toEqual(["a1", "b1", "b2"]);
    open("a1");
    await expect.poll(() => begun).toHaveLength(4);
    expect(begun).toContain("a2");
    open("a2");
    await expect.poll(() => begun.at(-1)).toBe("a3");
    for (const { resolve } of gates.values()) resolve();
  });

  test("waits for a failed job that is retried, and for no dead one", async () => {
    const queue = makeQueue();
    let isBroken = true;
    const { seen, kind } = recording(() => (isBroken ? fail() : undefined));
    queue.register(kind({ attemptsMax: 2, retryFirstMs: 10 }));
    for (const payload of [1, 2]) await add(queue, { payload, sequence: "one" });
    await queue.runDue();
    expect(seen).toEqual([1]);
    now += 20;
    await queue.runDue();
    // The first is dead after its second attempt.
    expect(seen.slice(0, 3)).toEqual([1, 1, 2]);
    isBroken = false;
    now += 20;
    await queue.runDue();
    expect(seen).toEqual([1, 1, 2, 2]);
  });
});

describe("a started queue", () => {
  test("runs a job as soon as its transaction has committed, without waiting for the next poll", async () => {
    // On a file, for there a second connection reads the state before the commit.
    const folder = await mkdtemp(join(tmpdir(), "croft-jobs-"));
    const onDisk = openSqlite({ path: join(folder, "croft.db"), clock: () => now });
    await migrate(onDisk, readMigrations());
    const queue = makeQueue({ db: onDisk, pollMs: 3_600_000 });
    const ran = Promise.withResolvers<unknown>();
    queue.register(recording((payload) => ran.resolve(payload)).kind());
    await queue.start();
    await onDisk.transaction(async (tx) => {
      await queue.enqueue(tx, { kind: "test", payload: "soon" });
      // The poll that this started must not miss a job that is not committed yet.
      for (let n = 0; n < 200; n++) {
        await tx.get("SELECT 1");
      }
    });
    expect(await ran.promise).toBe("soon");
    await queue.stop(1000);
    await onDisk.close();
    await rm(folder, { recursive: true });
  });

  test("finds a job of another process at its next poll", async () => {
    const other = makeQueue({ owner: "b", alone: false });
    const queue = makeQueue({ pollMs: 5 });
    const ran = Promise.withResolvers<void>();
    queue.register(recording(() => ran.resolve()).kind());
    await queue.start();
    await add(other);
    await ran.promise;
  });

  test("gives running jobs back when it stops, without counting the try", async () => {
    const queue = makeQueue();
    const begun = Promise.withResolvers<void>();
    queue.register(
      recording(async (_payload, { signal }) => {
        begun.resolve();
        const aborted = Promise.withResolvers<void>();
        signal.addEventListener("abort", () => aborted.reject(new Error("stopped")));
        await aborted.promise;
      }).kind(),
    );
    await queue.start();
    await add(queue);
    await begun.promise;
    await queue.stop(60_000);
    const [job] = await listJobs(db, {}, { limit: 1, offset: 0 });
    expect(job).toMatchObject({ state: "waiting", attempts: 0, runAt: now, lastError: undefined });
  });

  test("releases a job that does not end in time, and its late end changes nothing", async () => {
    const queue = makeQueue();
    const begun = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    queue.register(
      recording(() => {
        begun.resolve();
        return gate.promise;
      }).kind(),
    );
    await queue.start();
    await add(queue);
    await begun.promise;
    await queue.stop(1);
    gate.resolve();
    await db.transaction(async () => undefined);
    expect(await countJobs(db)).toEqual({ waiting: 1, running: 0, dead: 0 });
  });

  test("waits for a job that stops when it is aborted", async () => {
    const queue = makeQueue();
    const begun = Promise.withResolvers<void>();
    queue.register(
      recording(async (_payload, { signal }) => {
        begun.resolve();
        const aborted = Promise.withResolvers<void>();
        signal.addEventListener("abort", () => aborted.resolve());
        await aborted.promise;
      }).kind(),
    );
    await queue.start();
    await add(queue);
    await begun.promise;
    await queue.stop(60_000);
    expect(await countJobs(db)).toEqual({ waiting: 0, running: 0, dead: 0 });
  });
});

describe("a crash", () => {
  /** A queue whose process ends in the middle of a job. */
  async function crashInTheMiddle(owner = "gone"): Promise<void> {
    const crashed = createJobQueue({
      db,
      clock: () => now,
      random: () => 0,
      log,
      owner,
      alone: false,
    });
    const begun = Promise.withResolvers<void>();
    const { promise: never } = Promise.withResolvers<void>();
    crashed.register({
      kind: "test",
      run: () => {
        begun.resolve();
        return never;
      },
    });
    void crashed.runDue();
    await begun.promise;
  }

  test("the next start of a sole daemon runs an interrupted job again at once", async () => {
    await add(makeQueue());
    await crashInTheMiddle();
    const queue = makeQueue({ owner: "b" });
    const ran = Promise.withResolvers<number>();
    queue.register(recording((_payload, { attempt }) => ran.resolve(attempt)).kind());
    await queue.start();
    expect(await ran.promise).toBe(2);
  });

  test("lets another process claim the job when the lease has expired, not before", async () => {
    await add(makeQueue());
    await crashInTheMiddle();
    const queue = makeQueue({ owner: "b", alone: false });
    queue.register(recording().kind());
    expect(await queue.runDue()).toBe(0);
    now += 60_000;
    expect(await queue.runDue()).toBe(1);
  });

  test("a crash by the job itself, again and again, dead-letters it", async () => {
    await add(makeQueue());
    for (let n = 0; n < 8; n++) {
      await crashInTheMiddle(`gone ${n}`);
      now += 60_000;
      await makeQueue({ owner: `after ${n}` }).runDue();
    }
    expect(await countJobs(db)).toEqual({ waiting: 0, running: 0, dead: 1 });
  });
});

describe("a schedule", () => {
  test("runs at its times, catches up once, and outlives a failure", async () => {
    const queue = makeQueue();
    let runs = 0;
    const schedule = {
      name: "tidy",
      next: everyMs(1000),
      run: () => {
        runs += 1;
        return runs === 1 ? fail() : Promise.resolve();
      },
    };
    const schedules = createSchedules({ queue, db, clock: () => now }, [schedule]);
    await schedules.start();
    await schedules.start();
    await queue.runDue();
    expect(runs).toBe(0);
    now += 5000;
    await queue.runDue();
    expect(runs).toBe(1);
    now += 1000;
    await queue.runDue();
    expect(runs).toBe(2);
    expect(await schedules.runNow("tidy")).toBe(true);
    expect(await schedules.runNow("none")).toBe(false);
    await queue.runDue();
    expect(runs).toBe(3);
    expect(await countJobs(db)).toEqual({ waiting: 1, running: 0, dead: 0 });
  });

  const openSchedule = async (run: (signal: AbortSignal) => Promise<void>) => {
    const queue = makeQueue();
    const tidy = {
      name: "tidy",
      next: everyMs(86_400_000),
      run: ({ signal }: JobContext) => run(signal),
    };
    const schedules = createSchedules({ queue, db, clock: () => now }, [tidy]);
    return { queue, schedules };
  };

  test("runs again after a stop that interrupted it, and only then before its time", async () => {
    const started = Promise.withResolvers<void>();
    const first = await openSchedule(async (signal) => {
      started.resolve();
      await new Promise((_, reject) => signal.addEventListener("abort", reject));
    });
    await first.queue.start();
    await first.schedules.runNow("tidy");
    await started.promise;
    await first.queue.stop(1000);
    let runs = 0;
    const second = await openSchedule(async () => void (runs += 1));
    await second.schedules.start();
    await second.queue.runDue();
    expect(runs).toBe(1);
    await second.queue.runDue();
    expect(runs).toBe(1);
  });

  test("runs again after the process died during it, until it died three times in a row", async () => {
    let runs = 0;
    const crash = async () => {
      const { queue, schedules } = await openSchedule(() => {
        runs += 1;
        return new Promise(() => undefined);
      });
      await schedules.start();
      await queue.start();
      await vi.waitFor(() => expect(runs).toBe(crashes), { timeout: 60_000 });
    };
    let crashes = 1;
    const { schedules } = await openSchedule(async () => undefined);
    await schedules.runNow("tidy");
    await crash();
    crashes = 2;
    await crash();
    crashes = 3;
    await crash();
    const last = await openSchedule(async () => void (runs += 1));
    await last.queue.start();
    await last.queue.stop(1000);
    expect(runs).toBe(3);
    now += 86_400_000;
    const later = await openSchedule(async () => void (runs += 1));
    await later.queue.runDue();
    expect(runs).toBe(4);
  });
});

describe("a clock that jumps", () => {
  const DAY_MS = 86_400_000;
  const YEAR_MS = 365 * DAY_MS;

  const openDaily = () => {
    const queue = makeQueue({ pollMs: 1 });
    const times: number[] = [];
    const daily = { name: "tidy", next: everyMs(DAY_MS), run: async () => void times.push(now) };
    return { queue, times, schedules: createSchedules({ queue, db, clock: () => now }, [daily]) };
  };
  const waiting = async () =>
    (await listJobs(db, { state: "waiting" }, { limit: 9, offset: 0 })).map(({ runAt }) => runAt);

  test.each([
    ["a day", DAY_MS],
    ["a year", YEAR_MS],
  ])(
    "by %s runs a schedule once, and again in its time when the clock is set right",
    async (_length, jump) => {
      const { queue, times, schedules } = openDaily();
      const { seen, kind } = recording();
      queue.register(kind());
      await queue.start();
      await schedules.start();
      now += jump;
      await vi.waitFor(async () => expect(await waiting()).toEqual([now + DAY_MS]), {
        timeout: 60_000,
      });
      await vi.waitFor(() => expect(times).toHaveLength(1), { timeout: 60_000 });
      await add(queue, { payload: "later", runAt: now + 5_000 });
      now -= jump;
      await vi.waitFor(
        async () => expect((await waiting()).toSorted()).toEqual([now + 5_000, now + DAY_MS]),
        { timeout: 60_000 },
      );
      now += DAY_MS;
      await vi.waitFor(() => expect(times).toHaveLength(2), { timeout: 60_000 });
      await vi.waitFor(() => expect(seen).toEqual(["later"]), { timeout: 60_000 });
      expect(logged).toContain("the clock was set back: jobs run earlier");
    },
  );

  test("back and a restart leave no job in the future of the wrong clock", async () => {
    now += YEAR_MS;
    await add(makeQueue(), { runAt: now + 1_000 });
    now -= YEAR_MS;
    await add(makeQueue(), { payload: "in its time", runAt: now + DAY_MS });
    const queue = makeQueue();
    queue.register(recording().kind());
    await queue.start();
    expect((await waiting()).toSorted()).toEqual([now + 1_000, now + DAY_MS]);
  });

  test("back frees a job that another process leased by the wrong clock before it died", async () => {
    now += YEAR_MS;
    await add(makeQueue());
    const crashed = makeQueue({ owner: "gone", alone: false });
    const begun = Promise.withResolvers<void>();
    const { promise: never, resolve: end } = Promise.withResolvers<void>();
    crashed.register({ kind: "test", run: () => (begun.resolve(), never) });
    const run = crashed.runDue();
    await begun.promise;
    now -= YEAR_MS;
    let steady = 0;
    const queue = makeQueue({ owner: "b", alone: false, steadyClock: () => steady });
    queue.register(recording().kind());
    expect(await queue.runDue()).toBe(0);
    steady += 30_000;
    expect(await queue.runDue()).toBe(1);
    end();
    await run;
  });

  test("behind that of another process leaves it the jobs whose leases it renews", async () => {
    await add(makeQueue());
    const other = makeQueue({ owner: "ahead", alone: false, clock: () => now + 600_000 });
    const { seen, kind } = recording(() => new Promise(() => undefined));
    other.register(kind());
    await other.start();
    await vi.waitFor(() => expect(seen).toHaveLength(1), { timeout: 60_000 });
    let steady = 0;
    const behind = makeQueue({ owner: "behind", alone: false, steadyClock: () => steady });
    behind.register(kind());
    for (let check = 0; check < 5; check += 1) {
      expect(await behind.runDue()).toBe(0);
      steady += 15_000;
      await db.run("UPDATE jobs SET leased_until = leased_until + 15000");
    }
    expect(seen).toHaveLength(1);
  });
});
