import type { Database, Transaction } from "../../../engine/database.ts";

/** What search terms are looked for in, in lower case. */
export interface SearchText {
  /** Name and full name, on two lines. */
  readonly names: string;
  /** The primary address. */
  readonly email: string;
}

/** A condition that `user_id`s must meet, as the text of a subquery and its values. */
export interface SearchCondition {
  readonly sql: string;
  readonly values: readonly string[];
}

/** Makes an account findable. */
export async function insertSearchText(
  tx: Transaction,
  userId: number,
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

/** Follows a change of the text; nothing happens when it is the same. */
export async function replaceSearchText(
  tx: Transaction,
  userId: number,
  before: SearchText,
  after: SearchText,
): Promise<void> {
  if (before.names === after.names && before.email === after.email) return;
  await deleteSearchText(tx, userId, before);
  await insertSearchText(tx, userId, after);
}

/** Makes an account unfindable. `text` is what it was findable by. */
export async function deleteSearchText(
  tx: Transaction,
  userId: number,
  { names, email }: SearchText,
): Promise<void> {
  // The index keeps no text of its own, so it has to be told what to forget.
  if (tx.dialect === "sqlite")
    await tx.run(
      "INSERT INTO forge_user_grams (forge_user_grams, rowid, names, email) VALUES ('delete', ?, ?, ?)",
      userId,
      names,
      email,
    );
  await tx.run("DELETE FROM forge_user_search WHERE user_id = ?", userId);
}

/** Longest term, in code points: longer than any address. A longer one finds nothing, and costs nothing. */
const TERM_MAX = 300;
/** A term is looked up by groups of three letters. */
const GRAM_LENGTH = 3;

/**
 * The subquery for the ids of accounts whose text has the term in it, whatever the case; `%` and `_` are wildcards.
 * Reads every account's text where no index can serve: short terms, wildcards, PostgreSQL.
 */
export function toSearchCondition(dialect: Database["dialect"], term: string): SearchCondition {
  const lower = term.toLowerCase();
  if (isHopelessTerm(lower))
    return { sql: "SELECT user_id FROM forge_user_search WHERE user_id IS NULL", values: [] };
  const gram = toGramTerm(dialect, lower);
  if (gram !== undefined)
    return {
      sql: "SELECT rowid FROM forge_user_grams WHERE forge_user_grams MATCH ?",
      values: [gram],
    };
  const pattern = toLikePattern(term);
  return {
    sql: String.raw`SELECT user_id FROM forge_user_search WHERE names LIKE ? ESCAPE '\' OR email LIKE ? ESCAPE '\'`,
    values: [pattern, pattern],
  };
}

/** A term as an index of groups of three letters takes it; undefined where none can serve: short terms, wildcards, PostgreSQL. */
export function toGramTerm(dialect: Database["dialect"], term: string): string | undefined {
  const lower = term.toLowerCase();
  return dialect === "sqlite" && Array.from(lower).length >= GRAM_LENGTH && !/[%_]/.test(lower)
    ? `"${lower.replaceAll('"', '""')}"`
    : undefined;
}

/** Returns whether a term cannot occur in any text: it is too long, or has a NUL, which no text has. */
export function isHopelessTerm(term: string): boolean {
  return term.includes("\0") || Array.from(term).length > TERM_MAX;
}

/** The pattern, for `LIKE ? ESCAPE '\\'`, that finds a term anywhere in a text. */
export function toLikePattern(term: string): string {
  // Neighbouring wildcards for any text mean the same as one, and cost less.
  return `%${term.toLowerCase().replaceAll("\\", "\\\\")}%`.replace(/%+/g, "%");
}
