import type { Queries, Transaction } from "../../../engine/database.ts";

/** A person's public key. Times are epoch milliseconds. */
export interface ForgePublicKey {
  readonly id: number;
  readonly userId: number;
  /** Unique among its owner's, exactly. */
  readonly title: string;
  /** `type base64 comment`. */
  readonly content: string;
  /** `SHA256:` and 43 characters; unique over all keys. */
  readonly fingerprint: string;
  readonly createdAt: number;
  readonly lastUsedAt: number;
}

/** Adds a key. Throws `conflict` for a fingerprint that anybody has, or a title that the owner has. */
export async function insertPublicKey(
  tx: Transaction,
  key: Omit<ForgePublicKey, "id">,
): Promise<ForgePublicKey> {
  const row = await tx.get<{ id: number }>(
    `INSERT INTO forge_public_keys (user_id, title, content, fingerprint, created_at, last_used_at)
     VALUES (?, ?, ?, ?, ?, ?) RETURNING id`,
    key.userId,
    key.title,
    key.content,
    key.fingerprint,
    key.createdAt,
    key.lastUsedAt,
  );
  if (row === undefined) throw new Error("an inserted key came back as no row");
  return { ...key, id: row.id };
}

export async function findPublicKey(db: Queries, id: number): Promise<ForgePublicKey | undefined> {
  const row = await db.get<KeyRow>(`SELECT ${columns} FROM forge_public_keys WHERE id = ?`, id);
  return row && toKey(row);
}

/** Whether anybody has a key with this fingerprint. */
export async function hasFingerprint(db: Queries, fingerprint: string): Promise<boolean> {
  const row = await db.get("SELECT id FROM forge_public_keys WHERE fingerprint = ?", fingerprint);
  return row !== undefined;
}

/** Whether the person has a key with this title. */
export async function hasKeyTitle(db: Queries, userId: number, title: string): Promise<boolean> {
  const row = await db.get(
    "SELECT id FROM forge_public_keys WHERE user_id = ? AND title = ?",
    userId,
    title,
  );
  return row !== undefined;
}

export async function deletePublicKey(db: Queries, id: number): Promise<void> {
  await db.run("DELETE FROM forge_public_keys WHERE id = ?", id);
}

interface KeyRow {
  id: number;
  user_id: number;
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
