import type { Queries, Transaction } from "../../../engine/database.ts";
import type { UserId, KeyId } from "../ids.ts";
import { generated, id, integer, text } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";

const publicKeys = defineTable("forge_public_keys", {
  id: generated(id<KeyId>()),
  userId: id<UserId>(),
  /** Unique among its owner's, exactly. */
  title: text(),
  /** `type base64 comment`. */
  content: text(),
  /** `SHA256:` and 43 characters; unique over all keys. */
  fingerprint: text(),
  createdAt: integer(),
  lastUsedAt: integer(),
});
/** A person's public key. Times are epoch milliseconds. */
export type ForgePublicKey = RecordOf<typeof publicKeys>;

/** Adds a key. Throws `conflict` for a fingerprint that any account has, or a title that the owner uses already. */
export async function insertPublicKey(
  tx: Transaction,
  key: Omit<ForgePublicKey, "id">,
): Promise<ForgePublicKey> {
  const row = await publicKeys.insert(tx, key);
  return { ...key, id: row.id };
}

export async function findPublicKey(db: Queries, id: KeyId): Promise<ForgePublicKey | undefined> {
  return publicKeys.find(db, { id });
}

/** Finds the key with a fingerprint; no two users have the same. */
export async function findPublicKeyByFingerprint(
  db: Queries,
  fingerprint: string,
): Promise<ForgePublicKey | undefined> {
  return publicKeys.find(db, { fingerprint });
}

/** Notes a use of a key. */
export async function touchPublicKey(db: Queries, id: KeyId, at: number): Promise<void> {
  await publicKeys.update(db, { id }, { lastUsedAt: at });
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
  const rows = await publicKeys.readAll(
    db,
    `SELECT ${publicKeys.columns} ${from} ORDER BY id LIMIT ? OFFSET ?`,
    ...values,
    limit,
    offset,
  );
  return { keys: rows, total: counted?.total ?? 0 };
}

/** Returns whether any account has a key with this fingerprint. */
export async function hasFingerprint(db: Queries, fingerprint: string): Promise<boolean> {
  return publicKeys.exists(db, { fingerprint });
}

/** Whether the person has a key with this title. */
export async function hasKeyTitle(db: Queries, userId: UserId, title: string): Promise<boolean> {
  return publicKeys.exists(db, { userId, title });
}

export async function deletePublicKey(db: Queries, id: KeyId): Promise<void> {
  await publicKeys.delete(db, { id });
}
