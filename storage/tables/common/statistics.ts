import type { Database } from "../../engine/database.ts";

/** Runs ANALYZE so that the query planner has current statistics. */
export async function analyseTables(db: Database): Promise<void> {
  await db.run("ANALYZE");
}
