import type { Database, Transaction } from "../../../engine/database.ts";
import type { UserId } from "../ids.ts";

/** The lower-case text of an account that searches match. */
export interface SearchText {
  /** Name and full name, on two lines. */
  readonly names: string;
  /** The primary address. */
  readonly email: string;
}

/** A subquery for the ids of matching accounts. */
export interface SearchCondition {
  readonly sql: string;
  readonly values: readonly string[];
}

/** Adds an account to the search index. */
export async function insertSearchText(
  tx: Transaction,
  userId: UserId,
  { names, email }: SearchText,
): Promise<void> {
  await tx.run(
    "INSERT INTO forge_user_search (user_id, names, email) VALUES (?, ?, ?)",
    userId,
    names,
    email,
  );
  if (tx.dialect === "sqlite")
    await tx.run(
      "INSERT INTO forge_user_grams (rowid, names, email) VALUES (?, ?, ?)",
      userId,
      names,
      email,
    );
}

/** Updates the search index if the text changed. */
export async function replaceSearchText(
  tx: Transaction,
  userId: UserId,
  before: SearchText,
  after: SearchText,
): Promise<void> {
  if (before.names === after.names && before.email === after.email) return;
  await deleteSearchText(tx, userId, before);
  await insertSearchText(tx, userId, after);
}

/** Removes an account from the search index. The text must be the indexed one. */
export async function deleteSearchText(
  tx: Transaction,
  userId: UserId,
  { names, email }: SearchText,
): Promise<void> {
  // The index is contentless, so a deletion needs the indexed text.
  if (tx.dialect === "sqlite")
    await tx.run(
      "INSERT INTO forge_user_grams (forge_user_grams, rowid, names, email) VALUES ('delete', ?, ?, ?)",
      userId,
      names,
      email,
    );
  await tx.run("DELETE FROM forge_user_search WHERE user_id = ?", userId);
}

/** Longest term in code points, longer than any address. A longer one matches nothing without a search. */
const TERM_MAX = 300;
/** Shortest term that a trigram index can find. */
const TRIGRAM_LENGTH = 3;

/**
 * Returns the subquery for the ids of accounts whose text contains the term, ignoring case; `%` and `_` are
 * wildcards. Reads every account's text if no index applies: for short terms, for wildcards, and on PostgreSQL.
 */
export function toSearchCondition(dialect: Database["dialect"], term: string): SearchCondition {
  const lower = term.toLowerCase();
  if (isOverlongTerm(lower))
    return { sql: "SELECT user_id FROM forge_user_search WHERE user_id IS NULL", values: [] };
  const trigrams = toTrigramTerm(dialect, lower);
  if (trigrams !== undefined)
    return {
      sql: "SELECT rowid FROM forge_user_grams WHERE forge_user_grams MATCH ?",
      values: [trigrams],
    };
  const pattern = toLikePattern(term);
  return {
    sql: String.raw`SELECT user_id FROM forge_user_search WHERE names LIKE ? ESCAPE '\' OR email LIKE ? ESCAPE '\'`,
    values: [pattern, pattern],
  };
}

/**
 * Returns the query of a trigram index for a term; undefined if no index applies: for short terms, for wildcards, and
 * on PostgreSQL.
 */
export function toTrigramTerm(dialect: Database["dialect"], term: string): string | undefined {
  const lower = term.toLowerCase();
  return dialect === "sqlite" && Array.from(lower).length >= TRIGRAM_LENGTH && !/[%_]/.test(lower)
    ? `"${lower.replaceAll('"', '""')}"`
    : undefined;
}

/** Returns whether a term cannot occur in any text: it is too long, or has a NUL, which no text has. */
export function isOverlongTerm(term: string): boolean {
  return term.includes("\0") || Array.from(term).length > TERM_MAX;
}

/** Returns the pattern for `LIKE ? ESCAPE '\\'` that matches a term anywhere in a text. */
export function toLikePattern(term: string): string {
  // Neighbouring wildcards for any text mean the same as one, and cost less.
  return `%${term.toLowerCase().replaceAll("\\", "\\\\")}%`.replace(/%+/g, "%");
}
