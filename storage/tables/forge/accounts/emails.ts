import type { Database, Queries, Transaction } from "../../../engine/database.ts";
import { isOverlongTerm, toTrigramTerm, toLikePattern } from "./user-search.ts";
import type { EmailId, UserId } from "../ids.ts";
import { inChunks } from "../../chunks.ts";
import { flag, generated, id, text, unread } from "../../columns.ts";
import { sql } from "../../condition.ts";
import { defineTable, type RecordOf } from "../../table.ts";

const emails = defineTable("forge_emails", {
  id: generated(id<EmailId>()),
  userId: id<UserId>(),
  /** As written; unique over all people when case is ignored. */
  email: text(),
  isVerified: flag(),
  isPrimary: flag(),
  lowerEmail: unread(text()),
});
/** An address of a person. */
export type ForgeEmail = RecordOf<typeof emails>;

/** Adds an address; returns its record. Throws `conflict` when any account has it. */
export async function insertEmail(
  tx: Transaction,
  email: Omit<ForgeEmail, "id">,
): Promise<ForgeEmail> {
  const lower = email.email.toLowerCase();
  const row = await emails.insert(tx, { ...email, lowerEmail: lower });
  if (tx.dialect === "sqlite")
    await tx.run("INSERT INTO forge_email_grams (rowid, lower_email) VALUES (?, ?)", row.id, lower);
  return row;
}

/** Removes an address. */
export async function deleteEmail(
  tx: Transaction,
  { id, email }: Pick<ForgeEmail, "id" | "email">,
): Promise<void> {
  await emails.delete(tx, { id });
  // The contentless index does not store the text, so the deletion must pass it.
  if (tx.dialect === "sqlite")
    await tx.run(
      "INSERT INTO forge_email_grams (forge_email_grams, rowid, lower_email) VALUES ('delete', ?, ?)",
      id,
      email.toLowerCase(),
    );
}

/** Returns all addresses of a person, the primary one first, then in the order in which they were added. */
export async function listEmailsOf(db: Queries, userId: UserId): Promise<ForgeEmail[]> {
  return emails.list(db, { userId }, { order: "is_primary DESC, id" });
}

/** Removes all addresses of a person. */
export async function deleteEmailsOf(tx: Transaction, userId: UserId): Promise<void> {
  for (const email of await listEmailsOf(tx, userId)) await deleteEmail(tx, email);
}

/** Finds an address of any user, ignoring case. */
export async function findEmail(db: Queries, email: string): Promise<ForgeEmail | undefined> {
  return emails.find(db, { lowerEmail: email.toLowerCase() });
}

/** Returns the ids of the users who have verified these addresses, which are in lower case, by address. */
export async function listVerifiedOwners(
  db: Queries,
  addresses: readonly string[],
): Promise<Map<string, UserId>> {
  // No database stores NUL.
  const storable = addresses.filter((address) => !address.includes("\0"));
  const rows = await inChunks(storable, "", (chunk) => {
    const { sql: condition, values } = sql`is_verified = 1 AND lower_email IN (${chunk})`;
    return db.all<{ lower_email: string; user_id: UserId }>(
      `SELECT lower_email, user_id FROM forge_emails WHERE ${condition}`,
      ...values,
    );
  });
  return new Map(rows.map((row) => [row.lower_email, row.user_id]));
}

/** Replaces a person's primary address by a verified one. Throws `conflict` when any account has the new one. */
export async function replacePrimaryEmail(
  tx: Transaction,
  userId: UserId,
  email: string,
): Promise<void> {
  const former = (await listEmailsOf(tx, userId)).find(({ isPrimary }) => isPrimary);
  if (former !== undefined) await deleteEmail(tx, former);
  await insertEmail(tx, { userId, email, isVerified: true, isPrimary: true });
}

/** An address with the name of its owner. */
export interface OwnedEmail extends ForgeEmail {
  readonly userName: string;
}

/**
 * Returns a page of all addresses, by address, and the count of all matches. A term is searched in the owner's names
 * and the address without regard to case; `%` and `_` are wildcards; an empty term matches everything. `isPublicOnly`
 * selects those of public users. A term costs time in proportion to its matches, or a scan of every text where no index
 * applies (see `toSearchCondition`).
 */
export async function listEmails(
  db: Database,
  term: string,
  window: { readonly limit: number; readonly offset: number },
  isPublicOnly = false,
): Promise<{ readonly emails: readonly OwnedEmail[]; readonly total: number }> {
  if (isOverlongTerm(term)) return { emails: [], total: 0 };
  const { from, values } = toMatches(db.dialect, term, isPublicOnly);
  const counted = await db.get<{ total: number }>(`SELECT COUNT(*) AS total ${from}`, ...values);
  const total = counted?.total ?? 0;
  const limit = Math.min(window.limit, total - window.offset);
  if (limit <= 0) return { emails: [], total };
  // The second half of the list is read from its end.
  const fromEnd = total - window.offset - limit;
  const backwards = fromEnd < window.offset;
  const direction = backwards ? "DESC" : "ASC";
  const rows = await db.all<{ user_name: string }>(
    `SELECT ${emails.as("e").columns}, u.name AS user_name
     FROM (SELECT e.id ${from} ORDER BY e.lower_email ${direction} LIMIT ? OFFSET ?) page
     JOIN forge_emails e ON e.id = page.id JOIN forge_users u ON u.id = e.user_id
     ORDER BY e.lower_email`,
    ...values,
    limit,
    backwards ? fromEnd : window.offset,
  );
  return { emails: rows.map((row) => ({ ...emails.read(row), userName: row.user_name })), total };
}

/**
 * Returns the FROM clause, with joins and conditions, of the addresses that a term selects; also for tests of its plan.
 */
export function toMatches(
  dialect: Database["dialect"],
  term: string,
  isPublicOnly = false,
): { readonly from: string; readonly values: readonly string[] } {
  if (isPublicOnly) {
    const all = toMatches(dialect, term);
    return {
      from: `FROM forge_emails e JOIN forge_users v ON v.id = e.user_id AND v.visibility = 0
        WHERE e.id IN (SELECT e.id ${all.from})`,
      values: all.values,
    };
  }
  if (term === "") return { from: "FROM forge_emails e", values: [] };
  const trigrams = toTrigramTerm(dialect, term);
  if (trigrams !== undefined)
    return {
      from: `FROM forge_emails e WHERE e.id IN (
        SELECT rowid FROM forge_email_grams WHERE forge_email_grams MATCH ?
        UNION SELECT o.id FROM forge_emails o WHERE o.user_id IN (
          SELECT rowid FROM forge_user_grams WHERE forge_user_grams MATCH ?))`,
      values: [trigrams, `names : ${trigrams}`],
    };
  const pattern = toLikePattern(term);
  return {
    from: String.raw`FROM forge_emails e WHERE e.lower_email LIKE ? ESCAPE '\' OR e.user_id IN
    (SELECT user_id FROM forge_user_search WHERE names LIKE ? ESCAPE '\')`,
    values: [pattern, pattern],
  };
}
