import { expect, test } from "vitest";
import { createLimiter } from "../../../../daemon/http/limits.ts";
import { maintenanceSchedules } from "../../../../daemon/jobs/maintenance.ts";
import { createJobQueue, PermanentJobError } from "../../../../daemon/jobs/queue.ts";
import { createSchedules } from "../../../../daemon/jobs/schedule.ts";
import type { Log } from "../../../../daemon/logging.ts";
import { countJobs } from "../../../../storage/tables/common/jobs.ts";
import { openTestDatabase } from "../../../support/database.ts";

const quiet = () => undefined;
const log: Log = {
  debug: quiet,
  info: quiet,
  warn: quiet,
  error: quiet,
  fatal: quiet,
  child: () => log,
  isLevelEnabled: () => false,
};

test("ended windows and jobs that have long been dead are deleted, others stay", async () => {
  let now = 1_000_000;
  const clock = () => now;
  const db = await openTestDatabase({ clock });
  const limiter = createLimiter({ db, clock });
  const queue = createJobQueue({ db, clock, random: () => 0, log, owner: "a", alone: true });
  queue.register({ kind: "bad", run: () => Promise.reject(new PermanentJobError("no")) });
  const schedules = createSchedules(
    { queue, db, clock },
    maintenanceSchedules({ db, clock, limiter }),
  );
  const windows = async () => (await db.all("SELECT key FROM rate_limits")).length;
  const fail = () => db.transaction((tx) => queue.enqueue(tx, { kind: "bad", payload: null }));

  await fail();
  await limiter.consume("short", { max: 1, seconds: 60 });
  await limiter.consume("long", { max: 1, seconds: 86_400 * 365 });
  await schedules.start();
  await queue.runDue();
  expect(await windows()).toBe(2);
  expect((await countJobs(db)).dead).toBe(1);

  now += 20 * 86_400_000;
  await fail();
  await queue.runDue();
  expect(await windows()).toBe(1);
  expect((await countJobs(db)).dead).toBe(2);

  now += 20 * 86_400_000;
  await queue.runDue();
  expect((await countJobs(db)).dead).toBe(1);
  await db.close();
});
