import type { Queries, Transaction } from "../../../engine/database.ts";
import type { DeployKeyId, RepositoryId } from "../ids.ts";

/** A key that opens one repository. Times are epoch milliseconds. */
export interface DeployKey {
  readonly id: DeployKeyId;
  /** The same for the rows of one key in several repositories. */
  readonly keyId: number;
  readonly repositoryId: RepositoryId;
  /** Unique in its repository, exactly. */
  readonly title: string;
  /** `type base64 comment`. */
  readonly content: string;
  /** `SHA256:` and 43 characters; unique in its repository. */
  readonly fingerprint: string;
  readonly isReadOnly: boolean;
  readonly createdAt: number;
}

/** Adds a key to a repository. Throws `conflict` for a title or a fingerprint that the repository has. */
export async function insertDeployKey(
  tx: Transaction,
  key: Omit<DeployKey, "id" | "keyId" | "createdAt">,
): Promise<DeployKey> {
  const same = await tx.get<{ key_id: number }>(
    "SELECT key_id FROM forge_deploy_keys WHERE fingerprint = ? ORDER BY id LIMIT 1",
    key.fingerprint,
  );
  const row = await tx.get<{ id: DeployKeyId }>(
    `INSERT INTO forge_deploy_keys
       (key_id, repository_id, title, content, fingerprint, is_read_only, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id`,
    same?.key_id ?? 0,
    key.repositoryId,
    key.title,
    key.content,
    key.fingerprint,
    key.isReadOnly ? 1 : 0,
    tx.now,
  );
  if (row === undefined) throw new Error("the statement for the key returned no row");
  if (same === undefined)
    await tx.run("UPDATE forge_deploy_keys SET key_id = id WHERE id = ?", row.id);
  return { ...key, id: row.id, keyId: same?.key_id ?? row.id, createdAt: tx.now };
}

/** Finds a key of a repository by its id. */
export async function findDeployKey(
  db: Queries,
  repositoryId: RepositoryId,
  id: DeployKeyId,
): Promise<DeployKey | undefined> {
  const row = await db.get<KeyRow>(
    `SELECT ${columns} FROM forge_deploy_keys WHERE id = ? AND repository_id = ?`,
    id,
    repositoryId,
  );
  return row && toKey(row);
}

/** Finds a key of a repository by its fingerprint. */
export async function findDeployKeyByFingerprint(
  db: Queries,
  repositoryId: RepositoryId,
  fingerprint: string,
): Promise<DeployKey | undefined> {
  const row = await db.get<KeyRow>(
    `SELECT ${columns} FROM forge_deploy_keys WHERE fingerprint = ? AND repository_id = ?`,
    fingerprint,
    repositoryId,
  );
  return row && toKey(row);
}

/** Returns whether any repository has a key with this fingerprint. */
export async function isDeployKey(db: Queries, fingerprint: string): Promise<boolean> {
  const row = await db.get(
    "SELECT id FROM forge_deploy_keys WHERE fingerprint = ? LIMIT 1",
    fingerprint,
  );
  return row !== undefined;
}

/** Returns whether a repository has a key with this title. */
export async function hasDeployKeyTitle(
  db: Queries,
  repositoryId: RepositoryId,
  title: string,
): Promise<boolean> {
  const row = await db.get(
    "SELECT id FROM forge_deploy_keys WHERE repository_id = ? AND title = ?",
    repositoryId,
    title,
  );
  return row !== undefined;
}

export async function countDeployKeys(db: Queries, repositoryId: RepositoryId): Promise<number> {
  const row = await db.get<{ total: number }>(
    "SELECT COUNT(*) AS total FROM forge_deploy_keys WHERE repository_id = ?",
    repositoryId,
  );
  return row?.total ?? 0;
}

/** A page of a repository's keys. */
interface DeployKeyQuery {
  /** One key only; 0 is every one. */
  readonly keyId: number;
  /** One fingerprint only; empty is every one. */
  readonly fingerprint: string;
  readonly limit: number;
  readonly offset: number;
}

/** Returns a page of a repository's keys, the oldest first, and the count of all that match. */
export async function listDeployKeys(
  db: Queries,
  repositoryId: RepositoryId,
  { keyId, fingerprint, limit, offset }: DeployKeyQuery,
): Promise<{ readonly keys: readonly DeployKey[]; readonly total: number }> {
  const conditions = ["repository_id = ?"];
  const values: (number | string)[] = [repositoryId];
  if (keyId !== 0) {
    conditions.push("key_id = ?");
    values.push(keyId);
  }
  if (fingerprint !== "") {
    conditions.push("fingerprint = ?");
    values.push(fingerprint);
  }
  const from = `FROM forge_deploy_keys WHERE ${conditions.join(" AND ")}`;
  const counted = await db.get<{ total: number }>(`SELECT COUNT(*) AS total ${from}`, ...values);
  const rows = await db.all<KeyRow>(
    `SELECT ${columns} ${from} ORDER BY id LIMIT ? OFFSET ?`,
    ...values,
    limit,
    offset,
  );
  return { keys: rows.map(toKey), total: counted?.total ?? 0 };
}

/** Deletes a key of a repository; does nothing for an unknown id. */
export async function deleteDeployKey(
  db: Queries,
  repositoryId: RepositoryId,
  id: DeployKeyId,
): Promise<void> {
  await db.run(
    "DELETE FROM forge_deploy_keys WHERE id = ? AND repository_id = ?",
    id,
    repositoryId,
  );
}

interface KeyRow {
  id: DeployKeyId;
  key_id: number;
  repository_id: RepositoryId;
  title: string;
  content: string;
  fingerprint: string;
  is_read_only: number;
  created_at: number;
}

const columns = "id, key_id, repository_id, title, content, fingerprint, is_read_only, created_at";

function toKey(row: KeyRow): DeployKey {
  return {
    id: row.id,
    keyId: row.key_id,
    repositoryId: row.repository_id,
    title: row.title,
    content: row.content,
    fingerprint: row.fingerprint,
    isReadOnly: row.is_read_only === 1,
    createdAt: row.created_at,
  };
}
