import type { Queries, Transaction } from "../../engine/database.ts";

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
