import type { Database } from "../../storage/engine/database.ts";
import { deleteDeadJobs } from "../../storage/tables/common/jobs.ts";
import { everyMs, type Schedule } from "./schedule.ts";

const HOUR_MS = 3_600_000;
const DEAD_JOBS_KEPT_MS = 30 * 24 * HOUR_MS;

/** The schedules that keep the tables of this folder small: ended rate windows, and jobs that have been dead for 30 days. */
export function maintenanceSchedules(deps: {
  readonly db: Database;
  readonly clock: () => number;
  readonly limiter: { prune(): Promise<number> };
}): readonly Schedule[] {
  const { db, clock, limiter } = deps;
  return [
    {
      name: "limits.prune",
      next: everyMs(HOUR_MS),
      atStart: true,
      run: async () => void (await limiter.prune()),
    },
    {
      name: "jobs.prune",
      next: everyMs(24 * HOUR_MS),
      atStart: true,
      run: async () => void (await deleteDeadJobs(db, clock() - DEAD_JOBS_KEPT_MS)),
    },
  ];
}
