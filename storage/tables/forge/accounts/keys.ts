import type { Queries, Transaction } from "../../../engine/database.ts";
import type { UserId, KeyId } from "../ids.ts";

/** A person's public key. Times are epoch milliseconds. */
export interface ForgePublicKey {
  readonly id: KeyId;
  readonly userId: UserId;
  /** Unique among its owner's, exactly. */
  readonly title: string;
  /** `type base64 comment`. */
  readonly content: string;
  /** `SHA256:` and 43 characters; unique over all keys. */
  readonly fingerprint: string;
  readonly createdAt: number;
  readonly lastUsedAt: number;
}

/** Adds a key. Throws `conflict` for a fingerprint that any account has, or a title that the owner uses already. */
export async function insertPublicKey(
  tx: Transaction,
  key: Omit<ForgePublicKey, "id">,
): Promise<ForgePublicKey> {
  const row = await tx.get<{ id: KeyId }>(
    `INSERT INTO forge_public_keys (user_id, title, content, fingerprint, created_at, last_used_at)
     VALUES (?, ?, ?, ?, ?, ?) RETURNING id`,
    key.userId,
    key.title,
    key.content,
    key.fingerprint,
    key.createdAt,
    key.lastUsedAt,
  );
  if (row === undefined) throw new Error("the statement for the key returned no row");
  return { ...key, id: row.id };
}

export async function findPublicKey(db: Queries, id: KeyId): Promise<ForgePublicKey | undefined> {
  const row = await db.get<KeyRow>(`SELECT ${columns} FROM forge_public_keys WHERE id = ?`, id);
  return row && toKey(row);
}

/** Finds the key with a fingerprint; no two users have the same. */
export async function findPublicKeyByFingerprint(
  db: Queries,
  fingerprint: string,
): Promise<ForgePublicKey | undefined> {
  const row = await db.get<KeyRow>(
    `SELECT ${columns} FROM forge_public_keys WHERE fingerprint = ?`,
    fingerprint,
  );
  return row && toKey(row);
}

/** Notes a use of a key. */
export async function touchPublicKey(db: Queries, id: KeyId, at: number): Promise<void> {
  await db.run("UPDATE forge_public_keys SET last_used_at = ? WHERE id = ?", at, id);
}

/** Returns a page of a user's keys, the oldest first, and the count of all; of one fingerprint unless it is empty. */
export async function listPublicKeysOf(
  db: Queries,
  userId: UserId,
  {
    fingerprint,
    limit,
    offset,
  }: {
    readonly fingerprint: string;
    readonly limit: number;
    readonly offset: number;
  },
): Promise<{ readonly keys: readonly ForgePublicKey[]; readonly total: number }> {
  const from = `FROM forge_public_keys WHERE user_id = ?${fingerprint === "" ? "" : " AND fingerprint = ?"}`;
  const values = [userId, ...(fingerprint === "" ? [] : [fingerprint])];
  const counted = await db.get<{ total: number }>(`SELECT COUNT(*) AS total ${from}`, ...values);
  const rows = await db.all<KeyRow>(
    `SELECT ${columns} ${from} ORDER BY id LIMIT ? OFFSET ?`,
    ...values,
    limit,
    offset,
  );
  return { keys: rows.map(toKey), total: counted?.total ?? 0 };
}

/** Returns whether any account has a key with this fingerprint. */
export async function hasFingerprint(db: Queries, fingerprint: string): Promise<boolean> {
  const row = await db.get("SELECT id FROM forge_public_keys WHERE fingerprint = ?", fingerprint);
  return row !== undefined;
}

/** Whether the person has a key with this title. */
export async function hasKeyTitle(db: Queries, userId: UserId, title: string): Promise<boolean> {
  const row = await db.get(
    "SELECT id FROM forge_public_keys WHERE user_id = ? AND title = ?",
    userId,
    title,
  );
  return row !== undefined;
}

export async function deletePublicKey(db: Queries, id: KeyId): Promise<void> {
  await db.run("DELETE FROM forge_public_keys WHERE id = ?", id);
}

interface KeyRow {
  id: KeyId;
  user_id: UserId;
  title: string;
  content: string;
  fingerprint: string;
  created_at: number;
  last_used_at: number;
}

const columns = "id, user_id, title, content, fingerprint, created_at, last_used_at";

function toKey(row: KeyRow): ForgePublicKey {
  return {
    id: row.id,
    userId: row.user_id,
    title: row.title,
    content: row.content,
    fingerprint: row.fingerprint,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  };
}
