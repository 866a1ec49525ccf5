import type { Queries, Transaction } from "../../../engine/database.ts";
import type { DeployKeyId, RepositoryId } from "../ids.ts";
import { flag, generated, id, integer, now, text } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import { sql } from "../../condition.ts";

const deployKeys = defineTable("forge_deploy_keys", {
  id: generated(id<DeployKeyId>()),
  /** The same for the rows of one key in several repositories. */
  keyId: integer(),
  repositoryId: id<RepositoryId>(),
  /** Unique in its repository, exactly. */
  title: text(),
  /** `type base64 comment`. */
  content: text(),
  /** `SHA256:` and 43 characters; unique in its repository. */
  fingerprint: text(),
  isReadOnly: flag(),
  createdAt: now(),
});
/** A key that opens one repository. Times are epoch milliseconds. */
export type DeployKey = RecordOf<typeof deployKeys>;

/** Adds a key to a repository. Throws `conflict` for a title or a fingerprint that the repository has. */
export async function insertDeployKey(
  tx: Transaction,
  key: Omit<DeployKey, "id" | "keyId" | "createdAt">,
): Promise<DeployKey> {
  const same = await tx.get<{ key_id: number }>(
    "SELECT key_id FROM forge_deploy_keys WHERE fingerprint = ? ORDER BY id LIMIT 1",
    key.fingerprint,
  );
  const row = await deployKeys.insert(tx, {
    ...key,
    keyId: same?.key_id ?? 0,
  });
  if (same === undefined) await deployKeys.update(tx, { id: row.id }, { keyId: sql`id` });
  return { ...key, id: row.id, keyId: same?.key_id ?? row.id, createdAt: tx.now };
}

/** Finds a key of a repository by its id. */
export async function findDeployKey(
  db: Queries,
  repositoryId: RepositoryId,
  id: DeployKeyId,
): Promise<DeployKey | undefined> {
  return deployKeys.find(db, { id, repositoryId });
}

/** Finds a key of a repository by its fingerprint. */
export async function findDeployKeyByFingerprint(
  db: Queries,
  repositoryId: RepositoryId,
  fingerprint: string,
): Promise<DeployKey | undefined> {
  return deployKeys.find(db, { fingerprint, repositoryId });
}

/** Returns whether any repository has a key with this fingerprint. */
export async function isDeployKey(db: Queries, fingerprint: string): Promise<boolean> {
  return deployKeys.exists(db, { fingerprint });
}

/** Returns whether a repository has a key with this title. */
export async function hasDeployKeyTitle(
  db: Queries,
  repositoryId: RepositoryId,
  title: string,
): Promise<boolean> {
  return deployKeys.exists(db, { repositoryId, title });
}

export async function countDeployKeys(db: Queries, repositoryId: RepositoryId): Promise<number> {
  return deployKeys.count(db, { repositoryId });
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
  const rows = await deployKeys.readAll(
    db,
    `SELECT ${deployKeys.columns} ${from} ORDER BY id LIMIT ? OFFSET ?`,
    ...values,
    limit,
    offset,
  );
  return { keys: rows, total: counted?.total ?? 0 };
}

/** Deletes a key of a repository; does nothing for an unknown id. */
export async function deleteDeployKey(
  db: Queries,
  repositoryId: RepositoryId,
  id: DeployKeyId,
): Promise<void> {
  await deployKeys.delete(db, { id, repositoryId });
}
