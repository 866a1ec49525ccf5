import type { Database, Transaction } from "../../../engine/database.ts";
import type { PackageId } from "../ids.ts";

// The trigram index of SQLite (`forge_package_grams`) finds names by a part of them. PostgreSQL scans the names.

/** Adds the name of a package to the full-text index. */
export async function indexPackageName(
  tx: Transaction,
  id: PackageId,
  name: string,
): Promise<void> {
  if (tx.dialect !== "sqlite") return;
  await tx.run(
    "INSERT INTO forge_package_grams (rowid, lower_name) VALUES (?, ?)",
    id,
    name.toLowerCase(),
  );
}

/** Removes a name from the index, which needs the text because the index does not store it. */
export async function unindexPackageName(
  tx: Transaction,
  id: PackageId,
  lowerName: string,
): Promise<void> {
  if (tx.dialect !== "sqlite") return;
  await tx.run(
    "INSERT INTO forge_package_grams (forge_package_grams, rowid, lower_name) VALUES ('delete', ?, ?)",
    id,
    lowerName,
  );
}

const TRIGRAM_LENGTH = 3;

/**
 * Returns the subquery for the ids of packages whose name contains the term, ignoring case and without wildcards. It
 * scans all names for a term that is shorter than a trigram, and on PostgreSQL.
 */
export function toNameCondition(
  dialect: Database["dialect"],
  term: string,
): { readonly sql: string; readonly values: readonly string[] } {
  const lower = term.toLowerCase();
  if (dialect === "sqlite" && Array.from(lower).length >= TRIGRAM_LENGTH)
    return {
      sql: "SELECT rowid FROM forge_package_grams WHERE forge_package_grams MATCH ?",
      values: [`"${lower.replaceAll('"', '""')}"`],
    };
  return {
    sql: String.raw`SELECT p.id FROM forge_packages p WHERE p.lower_name LIKE ? ESCAPE '\'`,
    values: [toNamePattern(term)],
  };
}

/** Returns the pattern for `LIKE ? ESCAPE '\\'` that finds a term literally anywhere in a text. */
export function toNamePattern(term: string): string {
  return `%${term.toLowerCase().replace(/[\\%_]/g, String.raw`\$&`)}%`;
}
