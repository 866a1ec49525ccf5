import type { Database, Queries, Transaction } from "../../../engine/database.ts";

/** Adds to the count of a type's versions, and marks what was remembered of list orders as out of date. */
export async function adjustVersions(tx: Transaction, type: string, by: number): Promise<void> {
  if (by === 0) return;
  await tx.run(
    `INSERT INTO forge_package_totals (type, versions) VALUES (?, ?)
     ON CONFLICT (type) DO UPDATE SET versions = forge_package_totals.versions + excluded.versions`,
    type,
    by,
  );
  await tx.run("UPDATE forge_package_state SET last_id = last_id + 1 WHERE id = 1");
}

/** How many versions there are of a type; of all types when it is empty. */
export async function countVersions(db: Queries, type: string): Promise<number> {
  const row =
    type === ""
      ? await db.get<{ total: number }>(
          "SELECT CAST(COALESCE(SUM(versions), 0) AS BIGINT) AS total FROM forge_package_totals",
        )
      : await db.get<{ total: number }>(
          "SELECT versions AS total FROM forge_package_totals WHERE type = ?",
          type,
        );
  return row?.total ?? 0;
}

/** Grows with every version that comes or goes. */
export async function getPackagesGeneration(db: Queries): Promise<number> {
  const row = await db.get<{ last_id: number }>(
    "SELECT last_id FROM forge_package_state WHERE id = 1",
  );
  return row?.last_id ?? 0;
}

/** Makes a package findable by its name. */
export async function insertPackageName(tx: Transaction, id: number, name: string): Promise<void> {
  if (tx.dialect !== "sqlite") return;
  await tx.run(
    "INSERT INTO forge_package_grams (rowid, lower_name) VALUES (?, ?)",
    id,
    name.toLowerCase(),
  );
}

/** Makes a package unfindable. The index keeps no text of its own, so it has to be told what to forget. */
export async function deletePackageName(
  tx: Transaction,
  id: number,
  lowerName: string,
): Promise<void> {
  if (tx.dialect !== "sqlite") return;
  await tx.run(
    "INSERT INTO forge_package_grams (forge_package_grams, rowid, lower_name) VALUES ('delete', ?, ?)",
    id,
    lowerName,
  );
}

/** Terms are looked up by groups of three letters. */
const GRAM_LENGTH = 3;

/**
 * The subquery for the ids of packages whose name has the term in it, as it stands and whatever the case. Reads every
 * name where no index can serve: short terms, PostgreSQL.
 */
export function toNameCondition(
  dialect: Database["dialect"],
  term: string,
): { readonly sql: string; readonly values: readonly string[] } {
  const lower = term.toLowerCase();
  if (dialect === "sqlite" && Array.from(lower).length >= GRAM_LENGTH)
    return {
      sql: "SELECT rowid FROM forge_package_grams WHERE forge_package_grams MATCH ?",
      values: [`"${lower.replaceAll('"', '""')}"`],
    };
  return {
    sql: String.raw`SELECT p.id FROM forge_packages p WHERE p.lower_name LIKE ? ESCAPE '\'`,
    values: [toNamePattern(term)],
  };
}

/** The pattern, for `LIKE ? ESCAPE '\\'`, that finds a term as it stands anywhere in a text. */
export function toNamePattern(term: string): string {
  return `%${term.toLowerCase().replace(/[\\%_]/g, String.raw`\$&`)}%`;
}
