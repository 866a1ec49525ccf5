import type { Queries } from "../../../storage/engine/database.ts";
import type { JobState } from "../../../storage/tables/common/jobs.ts";

/** Counts the jobs in each state. */
export async function countJobs(db: Queries): Promise<Readonly<Record<JobState, number>>> {
  const rows = await db.all<{ state: JobState; count: number }>(
    "SELECT state, COUNT(*) AS count FROM jobs GROUP BY state",
  );
  const counts = { waiting: 0, running: 0, dead: 0 };
  for (const { state, count } of rows) {
    counts[state] = count;
  }
  return counts;
}
