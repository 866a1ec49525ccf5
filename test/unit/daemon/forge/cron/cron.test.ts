import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type CronTask, toNext } from "../../../../../daemon/jobs/cron-task.ts";
import { createCronTasks, type CronTasks } from "../../../../../daemon/forge/cron/cron.service.ts";
import { toCronView } from "../../../../../daemon/forge/cron/cron.routes.ts";
import { createJobQueue, type JobQueue } from "../../../../../daemon/jobs/queue.ts";
import type { Log } from "../../../../../daemon/utilities/logging.ts";
import type { Database } from "../../../../../storage/engine/database.ts";
import { openTestDatabase } from "../../../../support/storage/database.ts";

const START = Date.parse("2026-03-01T12:00:00Z");
const HOUR = 3_600_000;
let now: number;
let db: Database;
let ran: string[];
let warned: string[];
let queues: JobQueue[];

beforeEach(async () => {
  now = START;
  ran = [];
  warned = [];
  queues = [];
  db = await openTestDatabase({ clock: () => now });
});
afterEach(async () => {
  await Promise.all(queues.map((queue) => queue.stop(1_000)));
  await db.close();
});

const quiet = () => undefined;
const log: Log = {
  debug: quiet,
  info: quiet,
  warn: (_facts: unknown, message?: string) => void warned.push(message ?? ""),
  error: (_facts: unknown, message?: string) => void warned.push(message ?? ""),
  fatal: quiet,
  child: () => log,
  isLevelEnabled: () => true,
};

const noting = (name: string, schedule = "@every 2h"): CronTask => ({
  name,
  schedule,
  run: async () => void ran.push(name),
});

/** A process: its own queue over the shared database. */
function start(tasks: readonly CronTask[], pollMs = 1_000): { cron: CronTasks; queue: JobQueue } {
  const clock = () => now;
  const queue = createJobQueue({
    db,
    clock,
    random: () => 0,
    log,
    owner: randomUUID(),
    alone: false,
    pollMs,
  });
  queues.push(queue);
  return { queue, cron: createCronTasks({ db, clock, queue, log, tasks, timeZone: "UTC" }) };
}

const view = async (cron: CronTasks) =>
  (await cron.list({ page: 1, limit: 30 })).tasks.map(toCronView);

describe("schedules", () => {
  test.each([
    ["@every 90s", "2026-03-01T12:01:30Z"],
    ["@every 72h", "2026-03-04T12:00:00Z"],
    ["@midnight", "2026-03-02T00:00:00Z"],
    ["@weekly", "2026-03-08T00:00:00Z"],
    ["30 3 * * *", "2026-03-02T03:30:00Z"],
  ])("%s comes next at %s", (schedule, next) =>
    expect(new Date(toNext(schedule, "UTC")(START)).toISOString()).toBe(next.replace("Z", ".000Z")),
  );

  test("hours and days are those of the time zone", () =>
    expect(new Date(toNext("@midnight", "Asia/Tokyo")(START)).toISOString()).toBe(
      "2026-03-01T15:00:00.000Z",
    ));

  test.each(["", "@every 0h", "@every 5d", "nonsense", "99 * * * *"])("%j is refused", (schedule) =>
    expect(() => toNext(schedule, "UTC")(START)).toThrow(),
  );
});

describe("the list", () => {
  test("the list of cron tasks has the last run of each, and tasks that never ran", async () => {
    const { cron, queue } = start([noting("a"), noting("b", "@midnight")]);
    await cron.start();
    expect(await view(cron)).toEqual([
      {
        name: "a",
        schedule: "@every 2h",
        next: "2026-03-01T14:00:00Z",
        prev: "0001-01-01T00:00:00Z",
        exec_times: 0,
      },
      {
        name: "b",
        schedule: "@midnight",
        next: "2026-03-02T00:00:00Z",
        prev: "0001-01-01T00:00:00Z",
        exec_times: 0,
      },
    ]);
    now += 2 * HOUR;
    await queue.runDue();
    expect(ran).toEqual(["a"]);
    expect((await view(cron))[0]).toMatchObject({
      next: "2026-03-01T16:00:00Z",
      prev: "2026-03-01T14:00:00Z",
      exec_times: 1,
    });
  });

  test("the list of cron tasks is paged", async () => {
    const { cron } = start([noting("a"), noting("b"), noting("c")]);
    const page = await cron.list({ page: 2, limit: 2 });
    expect(page.tasks.map(({ task }) => task.name)).toEqual(["c"]);
    expect(page.total).toBe(3);
    expect((await cron.list({ page: 9, limit: 2 })).tasks).toEqual([]);
  });

  test("cron tasks count runs over restarts, and a restart does not delay a run", async () => {
    const first = start([noting("a")]);
    await first.cron.start();
    now += 2 * HOUR;
    await first.queue.runDue();
    await first.queue.stop(0);
    now += HOUR;
    const second = start([noting("a")]);
    await second.cron.start();
    expect((await view(second.cron))[0]).toMatchObject({
      exec_times: 1,
      prev: "2026-03-01T14:00:00Z",
      next: "2026-03-01T16:00:00Z",
    });
  });
});

describe("running on demand", () => {
  test("running a cron task waits for the run and counts it", async () => {
    const { cron, queue } = start([noting("a")]);
    await queue.start();
    await cron.start();
    await cron.run("a");
    expect(ran).toEqual(["a"]);
    expect((await view(cron))[0]).toMatchObject({
      exec_times: 1,
      prev: "2026-03-01T12:00:00Z",
      next: "2026-03-01T14:00:00Z",
    });
    await cron.run("a");
    expect((await view(cron))[0]).toMatchObject({ exec_times: 2 });
  });

  test.each(["A", "b", "", "cron.a", "__proto__"])("%j is not a cron task", async (name) => {
    const { cron } = start([noting("a")]);
    await expect(cron.run(name)).rejects.toMatchObject({ code: "not_found" });
  });

  test("a running cron task is not started again, also by another process", async () => {
    let release = (): void => undefined;
    let began = (): void => undefined;
    const beginning = new Promise<void>((resolve) => {
      began = resolve;
    });
    let atOnce = 0;
    const slow: CronTask = {
      name: "slow",
      schedule: "@every 2h",
      run: async () => {
        atOnce += 1;
        ran.push(`slow ${atOnce}`);
        began();
        await new Promise<void>((resolve) => {
          release = resolve;
        });
        atOnce -= 1;
      },
    };
    const first = start([slow], 5);
    const second = start([slow], 5);
    for (const { queue, cron } of [first, second]) {
      await queue.start();
      await cron.start();
    }
    const running = first.cron.run("slow");
    await beginning;
    await Promise.all([first.cron.run("slow"), second.cron.run("slow")]);
    expect(ran).toEqual(["slow 1"]);
    release();
    await running;
    expect((await view(first.cron))[0]).toMatchObject({ exec_times: 1 });
  });

  test("concurrent requests for a cron task cause no overlapping runs", async () => {
    let atOnce = 0;
    let most = 0;
    const task: CronTask = {
      name: "a",
      schedule: "@every 2h",
      run: async () => {
        atOnce += 1;
        most = Math.max(most, atOnce);
        await new Promise((resolve) => setImmediate(resolve));
        atOnce -= 1;
      },
    };
    const processes = [start([task], 5), start([task], 5)];
    for (const { queue, cron } of processes) {
      await queue.start();
      await cron.start();
    }
    await Promise.all(
      processes.flatMap(({ cron }) => Array.from({ length: 10 }, () => cron.run("a"))),
    );
    expect(most).toBe(1);
  });

  test("a failed cron task ends the request, is recorded, and runs again on schedule", async () => {
    const failing: CronTask = {
      name: "bad",
      schedule: "@every 2h",
      run: () => Promise.reject(new Error("no")),
    };
    const { cron, queue } = start([failing]);
    await queue.start();
    await cron.start();
    await cron.run("bad");
    expect(warned).toEqual(["scheduled task failed"]);
    const { tasks } = await cron.list({ page: 1, limit: 1 });
    expect(tasks[0]).toMatchObject({ record: { error: "no" }, nextAt: START + 2 * HOUR });
  });
});
