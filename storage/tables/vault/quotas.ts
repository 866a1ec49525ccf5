import type { Queries, Transaction } from "../../engine/database.ts";
import type { AccountId } from "./ids.ts";

/** A user's usage and limit of the vault's own object storage, in bytes. */
export interface VaultQuota {
  readonly usedBytes: number;
  readonly limitBytes: number;
}

/** Gives a user an empty quota. */
export async function insertQuota(
  tx: Transaction,
  userId: AccountId,
  limitBytes: number,
): Promise<void> {
  await tx.run(
    "INSERT INTO vault_quotas (user_id, used_bytes, limit_bytes) VALUES (?, 0, ?)",
    userId,
    limitBytes,
  );
}

/** A user's quota, or undefined when there is no such row. */
export async function findQuota(db: Queries, userId: AccountId): Promise<VaultQuota | undefined> {
  const row = await db.get<{ used_bytes: number; limit_bytes: number }>(
    "SELECT used_bytes, limit_bytes FROM vault_quotas WHERE user_id = ?",
    userId,
  );
  return row && { usedBytes: row.used_bytes, limitBytes: row.limit_bytes };
}

/** Returns the usage of all users, in bytes. */
export async function sumUsedBytes(db: Queries): Promise<number> {
  const row = await db.get<{ total: number }>(
    "SELECT CAST(COALESCE(sum(used_bytes), 0) AS BIGINT) AS total FROM vault_quotas",
  );
  return Number(row?.total ?? 0);
}

/** Books bytes when they fit into the limit. False when they do not, or when there is no such row. */
export async function bookBytes(
  tx: Transaction,
  userId: AccountId,
  bytes: number,
): Promise<boolean> {
  const { changes } = await tx.run(
    "UPDATE vault_quotas SET used_bytes = used_bytes + ? WHERE user_id = ? AND used_bytes + ? <= limit_bytes",
    bytes,
    userId,
    bytes,
  );
  return changes > 0;
}

/** Unbooks bytes; the usage never falls below zero. */
export async function releaseBytes(
  tx: Transaction,
  userId: AccountId,
  bytes: number,
): Promise<void> {
  await tx.run(
    `UPDATE vault_quotas SET used_bytes = CASE WHEN used_bytes > ? THEN used_bytes - ? ELSE 0 END
     WHERE user_id = ?`,
    bytes,
    bytes,
    userId,
  );
}

/** Sets every quota to the sum of the user's documents; returns the users whose booking was wrong. */
export async function correctUsedBytes(tx: Transaction): Promise<string[]> {
  const rows = await tx.all<{ user_id: AccountId }>(
    `UPDATE vault_quotas SET used_bytes = ${SUM_OF_DOCUMENTS} WHERE used_bytes <> ${SUM_OF_DOCUMENTS} RETURNING user_id`,
  );
  return rows.map((row) => row.user_id);
}

const SUM_OF_DOCUMENTS = `(SELECT CAST(COALESCE(sum(size_bytes), 0) AS BIGINT) FROM vault_documents
  WHERE vault_documents.user_id = vault_quotas.user_id AND storage_backend = 'internal')`;

/**
 * Sets the limit. It may be below the used bytes; then every further upload is refused. False when there is no such
 * row.
 */
export async function setQuotaLimit(
  tx: Transaction,
  userId: AccountId,
  limitBytes: number,
): Promise<boolean> {
  const { changes } = await tx.run(
    "UPDATE vault_quotas SET limit_bytes = ? WHERE user_id = ?",
    limitBytes,
    userId,
  );
  return changes > 0;
}
