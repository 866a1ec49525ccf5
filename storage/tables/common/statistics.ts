import type { Database } from "../../engine/database.ts";

/** Has the database count its rows and values anew, so that it chooses its ways by what is there today. */
export async function analyseTables(db: Database): Promise<void> {
  await db.run("ANALYZE");
}
