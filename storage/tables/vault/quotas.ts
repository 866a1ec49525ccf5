import type { Queries, Transaction } from "../../engine/database.ts";
import type { AccountId } from "./ids.ts";
import { integer, textId } from "../columns.ts";
import { defineTable } from "../table.ts";
import { sql } from "../condition.ts";

const quotas = defineTable("vault_quotas", {
  userId: textId<AccountId>(),
  usedBytes: integer(),
  limitBytes: integer(),
  /** Documents outside the trash, which triggers count. */
  documents: integer(),
});

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
  await quotas.insert(tx, { userId, usedBytes: 0, limitBytes, documents: 0 });
}

/** A user's quota, or undefined when there is no such row. */
export async function findQuota(db: Queries, userId: AccountId): Promise<VaultQuota | undefined> {
  const row = await db.get<{ used_bytes: number; limit_bytes: number }>(
    "SELECT used_bytes, limit_bytes FROM vault_quotas WHERE user_id = ?",
    userId,
  );
  return row && { usedBytes: row.used_bytes, limitBytes: row.limit_bytes };
}

/** Returns how many documents a user has outside the trash; undefined without a quota. */
export async function findDocumentCount(
  db: Queries,
  userId: AccountId,
): Promise<number | undefined> {
  return (await quotas.find(db, { userId }))?.documents;
}

/** Returns the bytes that a user may still book, and the limit; zero without a quota. */
export async function findRoom(
  db: Queries,
  userId: AccountId,
): Promise<{ readonly free: number; readonly limit: number }> {
  const quota = await findQuota(db, userId);
  if (quota === undefined) return { free: 0, limit: 0 };
  return { free: Math.max(0, quota.limitBytes - quota.usedBytes), limit: quota.limitBytes };
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
  return (
    (await quotas.update(tx, sql`user_id = ${userId} AND used_bytes + ${bytes} <= limit_bytes`, {
      usedBytes: sql`used_bytes + ${bytes}`,
    })) > 0
  );
}

/** Unbooks bytes; the usage never falls below zero. */
export async function releaseBytes(
  tx: Transaction,
  userId: AccountId,
  bytes: number,
): Promise<void> {
  await quotas.update(
    tx,
    { userId },
    { usedBytes: sql`CASE WHEN used_bytes > ${bytes} THEN used_bytes - ${bytes} ELSE 0 END` },
  );
}

/**
 * Sets every quota to the sum of the user's documents and their versions, and to the number of the documents; returns the
 * users whose booking was wrong.
 */
export async function correctUsedBytes(tx: Transaction): Promise<string[]> {
  const rows = await tx.all<{ user_id: AccountId }>(
    `UPDATE vault_quotas SET used_bytes = ${SUM_OF_DOCUMENTS}, documents = ${NUMBER_OF_DOCUMENTS}
     WHERE used_bytes <> ${SUM_OF_DOCUMENTS} OR documents <> ${NUMBER_OF_DOCUMENTS} RETURNING user_id`,
  );
  return rows.map((row) => row.user_id);
}

const NUMBER_OF_DOCUMENTS = `(SELECT count(*) FROM vault_documents
    WHERE vault_documents.user_id = vault_quotas.user_id AND trashed_at IS NULL)`;

/** Documents with their versions; the trash does not count. */
const SUM_OF_DOCUMENTS = `((SELECT CAST(COALESCE(sum(size_bytes), 0) AS BIGINT) FROM vault_documents
    WHERE vault_documents.user_id = vault_quotas.user_id AND storage_backend = 'internal' AND trashed_at IS NULL)
  + (SELECT CAST(COALESCE(sum(version.size_bytes), 0) AS BIGINT) FROM vault_document_versions AS version
    JOIN vault_documents AS document ON document.id = version.document_id
    WHERE document.user_id = vault_quotas.user_id AND document.trashed_at IS NULL))`;

/**
 * Sets the limit. It may be below the used bytes; then every further upload is refused. False when there is no such
 * row.
 */
export async function setQuotaLimit(
  tx: Transaction,
  userId: AccountId,
  limitBytes: number,
): Promise<boolean> {
  return (await quotas.update(tx, { userId }, { limitBytes })) > 0;
}
