import type { Queries, Transaction } from "../../../engine/database.ts";
import type { UserId } from "../ids.ts";
import { id, integer, text } from "../../columns.ts";
import { defineTable } from "../../table.ts";
import { sql } from "../../condition.ts";

const passwordResets = defineTable("forge_password_resets", {
  userId: id<UserId>(),
  tokenHash: text(),
  passwordMark: text(),
  expiresAt: integer(),
});

/** The link of an account for choosing a password. */
export interface PasswordReset {
  readonly userId: UserId;
  /** SHA-256 of the token, in hex. */
  readonly tokenHash: string;
  /** Identifies the password that the link may replace. */
  readonly passwordMark: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** Sets the only valid link of an account. */
export async function putPasswordReset(tx: Transaction, reset: PasswordReset): Promise<void> {
  await passwordResets.upsert(
    tx,
    { ...reset },
    "ON CONFLICT (user_id) DO UPDATE SET token_hash = excluded.token_hash, password_mark = excluded.password_mark, expires_at = excluded.expires_at",
  );
}

export async function findPasswordReset(
  db: Queries,
  by: { readonly tokenHash: string } | { readonly userId: UserId },
): Promise<PasswordReset | undefined> {
  const [column, value] =
    "userId" in by ? (["user_id", by.userId] as const) : (["token_hash", by.tokenHash] as const);
  return db.get<PasswordReset & Record<string, string | number>>(
    `SELECT user_id AS "userId", token_hash AS "tokenHash", password_mark AS "passwordMark",
       expires_at AS "expiresAt" FROM forge_password_resets WHERE ${column} = ?`,
    value,
  );
}

/** Deletes a link. Returns false when it was deleted or replaced before. */
export async function deletePasswordReset(tx: Transaction, tokenHash: string): Promise<boolean> {
  return (await passwordResets.delete(tx, { tokenHash })) > 0;
}

/** Deletes the links that expired before a moment. Returns how many. */
export async function deleteExpiredPasswordResets(db: Queries, before: number): Promise<number> {
  return passwordResets.delete(db, sql`expires_at < ${before}`);
}
