import type { Queries } from "../../../engine/database.ts";
import { inChunks } from "../../chunks.ts";
import { sql } from "../../condition.ts";

/** Returns those of the lower-case names that belong to public users and organizations. */
export async function listPublicNames(
  db: Queries,
  lowerNames: readonly string[],
): Promise<string[]> {
  const rows = await inChunks(lowerNames, "", (names) => {
    const { sql: condition, values } = sql`visibility = 0 AND lower_name IN (${names})`;
    return db.all<{ lower_name: string }>(
      `SELECT lower_name FROM forge_users WHERE ${condition}`,
      ...values,
    );
  });
  return rows.map((row) => row.lower_name);
}
