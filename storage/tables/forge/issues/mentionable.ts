import type { Queries } from "../../../engine/database.ts";

/** Returns those of the lower-case names that belong to public users and organizations. */
export async function listPublicNames(
  db: Queries,
  lowerNames: readonly string[],
): Promise<string[]> {
  const found: string[] = [];
  // Chunks of one size keep the number of distinct statements, and so of cached ones, at one.
  for (let at = 0; at < lowerNames.length; at += namesPerQuery) {
    const chunk = lowerNames.slice(at, at + namesPerQuery);
    const padded = [...chunk, ...Array<string>(namesPerQuery - chunk.length).fill("")];
    const rows = await db.all<{ lower_name: string }>(
      `SELECT lower_name FROM forge_users WHERE visibility = 0 AND lower_name IN (${padded.map(() => "?").join(", ")})`,
      ...padded,
    );
    found.push(...rows.map((row) => row.lower_name));
  }
  return found;
}

const namesPerQuery = 25;
