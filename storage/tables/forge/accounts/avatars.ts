import type { Queries, Transaction } from "../../../engine/database.ts";
import type { RepositoryId, UserId } from "../ids.ts";

/** An uploaded picture of an account. */
export interface ForgeAvatar {
  /** Names the object with its bytes, and the picture in its address. */
  readonly sha256: string;
  /** In bytes. */
  readonly size: number;
  readonly contentType: string;
}

/** Sets the picture of an account. */
export async function putAvatar(
  tx: Transaction,
  userId: UserId,
  { sha256, size, contentType }: ForgeAvatar,
): Promise<void> {
  await tx.run(
    `INSERT INTO forge_avatars (user_id, sha256, size, content_type, created_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (user_id) DO UPDATE SET sha256 = excluded.sha256, size = excluded.size,
       content_type = excluded.content_type, created_at = excluded.created_at`,
    userId,
    sha256,
    size,
    contentType,
    tx.now,
  );
}

/** Deletes the picture of an account. Idempotent. */
export async function deleteAvatar(tx: Transaction, userId: UserId): Promise<void> {
  await tx.run("DELETE FROM forge_avatars WHERE user_id = ?", userId);
}

/** Sets the picture of a repository. */
export async function putRepositoryAvatar(
  tx: Transaction,
  repositoryId: RepositoryId,
  { sha256, size, contentType }: ForgeAvatar,
): Promise<void> {
  await tx.run(
    `INSERT INTO forge_repository_avatars (repository_id, sha256, size, content_type, created_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (repository_id) DO UPDATE SET sha256 = excluded.sha256, size = excluded.size,
       content_type = excluded.content_type, created_at = excluded.created_at`,
    repositoryId,
    sha256,
    size,
    contentType,
    tx.now,
  );
}

/** Deletes the picture of a repository. Idempotent. */
export async function deleteRepositoryAvatar(
  tx: Transaction,
  repositoryId: RepositoryId,
): Promise<void> {
  await tx.run("DELETE FROM forge_repository_avatars WHERE repository_id = ?", repositoryId);
}

/** Finds an uploaded picture of any account or repository by the hash in its address. */
export async function findAvatar(db: Queries, sha256: string): Promise<ForgeAvatar | undefined> {
  return db.get<{ sha256: string; size: number; contentType: string }>(
    `SELECT sha256, size, content_type AS "contentType" FROM forge_avatars WHERE sha256 = ?
     UNION ALL SELECT sha256, size, content_type FROM forge_repository_avatars WHERE sha256 = ? LIMIT 1`,
    sha256,
    sha256,
  );
}
