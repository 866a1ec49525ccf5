import type { Database, Queries, Transaction } from "../../../engine/database.ts";
import type { Condition } from "../../condition.ts";
import { foldForIndex } from "../../contains.ts";
import type { IssueId } from "../ids.ts";

// The trigram index of titles and bodies. It only narrows a search: the statement compares the texts of what it finds.

/** Number of characters of a body that are searched, which bounds the time of a search. */
export const SEARCHED_MAX = 8_192;
/** Shortest term that a trigram index can find. */
const TRIGRAM_LENGTH = 3;
/** Maximum number of trigrams of one search: more narrow it no further. */
const TRIGRAMS_MAX = 32;
/** Separates trigrams in a list; folded texts have no control characters. */
const SEPARATOR = "\u0001";

interface SearchedText {
  readonly id: IssueId;
  readonly title: string;
  readonly body: string;
}

/** Adds the texts of an issue to the index, or replaces those that it has. */
export async function indexIssue(
  tx: Transaction,
  { id, title, body }: SearchedText,
): Promise<void> {
  const text = foldForIndex(`${title}\n${cut(body)}`);
  if (tx.dialect === "sqlite")
    await tx.run("INSERT OR REPLACE INTO forge_issue_grams (rowid, texts) VALUES (?, ?)", id, text);
  else
    await tx.run(
      "UPDATE forge_issues SET grams = string_to_array(?, chr(1)) WHERE id = ?",
      toTrigrams(text).join(SEPARATOR),
      id,
    );
}

/** Cuts a text as SUBSTR does, which counts code points. */
const cut = (text: string) =>
  text.length <= SEARCHED_MAX
    ? text
    : Array.from(text.slice(0, 2 * SEARCHED_MAX))
        .slice(0, SEARCHED_MAX)
        .join("");

function toTrigrams(text: string): string[] {
  const letters = Array.from(text);
  const found = new Set<string>();
  for (let at = 0; at + TRIGRAM_LENGTH <= letters.length; at += 1)
    found.add(letters.slice(at, at + TRIGRAM_LENGTH).join(""));
  return [...found];
}

/** Issues that the index lacks, by id: those of an earlier version until they are indexed. Both ends are included. */
export interface MissingRange {
  readonly next: IssueId;
  readonly last: IssueId;
}

/** Returns the issues that the index lacks; undefined when it is complete. */
export async function findMissingRange(db: Queries): Promise<MissingRange | undefined> {
  const row = await db.get<{ next_id: IssueId; last_id: IssueId }>(
    "SELECT next_id, last_id FROM forge_issue_grams_missing",
  );
  return row && { next: row.next_id, last: row.last_id };
}

/**
 * Returns a condition over `forge_issues` that all issues fulfil whose texts contain the term, and few others. Undefined
 * when the term is too short for the index.
 */
export function toIndexCondition(
  dialect: Database["dialect"],
  term: string,
  missing: MissingRange | undefined,
): Condition | undefined {
  const trigrams = toTrigrams(foldForIndex(term)).slice(0, TRIGRAMS_MAX);
  if (trigrams.length === 0) return undefined;
  const found =
    dialect === "sqlite"
      ? {
          sql: "id IN (SELECT rowid FROM forge_issue_grams WHERE forge_issue_grams MATCH ?)",
          value: trigrams.map((each) => `"${each.replaceAll('"', '""')}"`).join(" AND "),
        }
      : {
          sql: "grams @> string_to_array(?, chr(1))",
          value: trigrams.join(SEPARATOR),
        };
  return missing === undefined
    ? { sql: found.sql, values: [found.value] }
    : {
        sql: `(${found.sql} OR id BETWEEN ? AND ?)`,
        values: [found.value, missing.next, missing.last],
      };
}

/** Indexes the next `limit` issues that the index lacks. Returns whether there are more. */
export async function indexMissing(tx: Transaction, limit: number): Promise<boolean> {
  const missing = await findMissingRange(tx);
  if (missing === undefined) return false;
  const rows = await tx.all<SearchedText & Record<string, never>>(
    "SELECT id, title, body FROM forge_issues WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?",
    missing.next,
    missing.last,
    limit,
  );
  for (const row of rows) await indexIssue(tx, row);
  const last = rows.at(-1);
  if (last === undefined || rows.length < limit) {
    await tx.run("DELETE FROM forge_issue_grams_missing");
    return false;
  }
  await tx.run("UPDATE forge_issue_grams_missing SET next_id = ?", Number(last.id) + 1);
  return true;
}
