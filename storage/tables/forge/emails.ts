import type { Queries, Transaction } from "../../engine/database.ts";
import { isHopelessTerm, toLikePattern } from "./user-search.ts";

/** An address of a person. */
export interface ForgeEmail {
  readonly id: number;
  readonly userId: number;
  /** As written; unique over all people when case is ignored. */
  readonly email: string;
  readonly isVerified: boolean;
  readonly isPrimary: boolean;
}

/** Adds an address. Throws `conflict` when anybody has it. */
export async function insertEmail(tx: Transaction, email: Omit<ForgeEmail, "id">): Promise<void> {
  await tx.run(
    "INSERT INTO forge_emails (user_id, email, lower_email, is_verified, is_primary) VALUES (?, ?, ?, ?, ?)",
    email.userId,
    email.email,
    email.email.toLowerCase(),
    Number(email.isVerified),
    Number(email.isPrimary),
  );
}

/** Finds the address, whoever has it; case is ignored. */
export async function findEmail(db: Queries, email: string): Promise<ForgeEmail | undefined> {
  const row = await db.get<EmailRow>(
    `SELECT ${columns} FROM forge_emails WHERE lower_email = ?`,
    email.toLowerCase(),
  );
  return row && toEmail(row);
}

/** Replaces a person's primary address by a verified one. Throws `conflict` when anybody has the new one. */
export async function replacePrimaryEmail(
  tx: Transaction,
  userId: number,
  email: string,
): Promise<void> {
  await tx.run("DELETE FROM forge_emails WHERE user_id = ? AND is_primary = 1", userId);
  await insertEmail(tx, { userId, email, isVerified: true, isPrimary: true });
}

/** An address with the name of its owner. */
export interface OwnedEmail extends ForgeEmail {
  readonly userName: string;
}

/**
 * A page of all addresses, by address, and the count of all matches. A term is looked for in the owner's names and
 * the address whatever the case; `%` and `_` are wildcards; empty is everything.
 */
export async function listEmails(
  db: Queries,
  term: string,
  window: { readonly limit: number; readonly offset: number },
): Promise<{ readonly emails: readonly OwnedEmail[]; readonly total: number }> {
  if (isHopelessTerm(term)) return { emails: [], total: 0 };
  const pattern = toLikePattern(term);
  const matches = String.raw`FROM forge_emails e WHERE e.lower_email LIKE ? ESCAPE '\' OR e.user_id IN
    (SELECT user_id FROM forge_user_search WHERE names LIKE ? ESCAPE '\')`;
  const [from, values] = term === "" ? ["FROM forge_emails e", []] : [matches, [pattern, pattern]];
  const counted = await db.get<{ total: number }>(`SELECT COUNT(*) AS total ${from}`, ...values);
  const total = counted?.total ?? 0;
  const limit = Math.min(window.limit, total - window.offset);
  if (limit <= 0) return { emails: [], total };
  // The second half of the list is read from its end.
  const fromEnd = total - window.offset - limit;
  const backwards = fromEnd < window.offset;
  const direction = backwards ? "DESC" : "ASC";
  const rows = await db.all<EmailRow & { user_name: string }>(
    `SELECT ${columns.replaceAll(/\w+/g, "e.$&")}, u.name AS user_name
     FROM (SELECT e.id ${from} ORDER BY e.lower_email ${direction} LIMIT ? OFFSET ?) page
     JOIN forge_emails e ON e.id = page.id JOIN forge_users u ON u.id = e.user_id
     ORDER BY e.lower_email`,
    ...values,
    limit,
    backwards ? fromEnd : window.offset,
  );
  return { emails: rows.map((row) => ({ ...toEmail(row), userName: row.user_name })), total };
}

interface EmailRow {
  id: number;
  user_id: number;
  email: string;
  is_verified: number;
  is_primary: number;
}

const columns = "id, user_id, email, is_verified, is_primary";

function toEmail(row: EmailRow): ForgeEmail {
  return {
    id: row.id,
    userId: row.user_id,
    email: row.email,
    isVerified: row.is_verified === 1,
    isPrimary: row.is_primary === 1,
  };
}
