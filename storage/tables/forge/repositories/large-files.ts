import type { Queries, Transaction } from "../../../engine/database.ts";
import { sql } from "../../condition.ts";
import { id, integer, now, text } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { RepositoryId } from "../ids.ts";

const largeFiles = defineTable("forge_large_files", {
  repositoryId: id<RepositoryId>(),
  /** Names the object with its bytes, and the file in its pointers. */
  sha256: text(),
  /** In bytes. */
  size: integer(),
  createdAt: now(),
  /** When a client last uploaded the file, or asked whether it must. */
  usedAt: now(),
});
/** A file of Git LFS that a repository has. Times are epoch milliseconds. */
export type LargeFile = RecordOf<typeof largeFiles>;

/** Records that a repository has a file. Idempotent. */
export async function insertLargeFile(
  tx: Transaction,
  file: Pick<LargeFile, "repositoryId" | "sha256" | "size">,
): Promise<void> {
  await largeFiles.upsert(
    tx,
    file,
    "ON CONFLICT (repository_id, sha256) DO UPDATE SET used_at = excluded.used_at",
  );
}

/** Gives a repository the files of another one. */
export async function copyLargeFiles(
  tx: Transaction,
  { from, to }: { readonly from: RepositoryId; readonly to: RepositoryId },
): Promise<void> {
  await tx.run(
    `INSERT INTO forge_large_files (repository_id, sha256, size, created_at, used_at)
     SELECT CAST(? AS BIGINT), sha256, size, CAST(? AS BIGINT), CAST(? AS BIGINT) FROM forge_large_files WHERE repository_id = ?
     ON CONFLICT (repository_id, sha256) DO NOTHING`,
    to,
    tx.now,
    tx.now,
    from,
  );
}

/** Returns whether a repository has any large file. */
export const ownsLargeFiles = (db: Queries, repositoryId: RepositoryId): Promise<boolean> =>
  largeFiles.exists(db, { repositoryId });

export async function findLargeFile(
  db: Queries,
  repositoryId: RepositoryId,
  sha256: string,
): Promise<LargeFile | undefined> {
  return largeFiles.find(db, { repositoryId, sha256 });
}

const NAMES_PER_QUERY = 100;

/** Returns those of the named files that a repository has, by name. */
export async function listLargeFiles(
  db: Queries,
  repositoryId: RepositoryId,
  names: readonly string[],
): Promise<ReadonlyMap<string, LargeFile>> {
  const found = new Map<string, LargeFile>();
  for (let at = 0; at < names.length; at += NAMES_PER_QUERY) {
    const sha256 = names.slice(at, at + NAMES_PER_QUERY);
    for (const file of await largeFiles.list(db, { repositoryId, sha256 }))
      found.set(file.sha256, file);
  }
  return found;
}

/** Records that a client asked whether it must upload these files. */
export async function touchLargeFiles(
  tx: Transaction,
  repositoryId: RepositoryId,
  names: readonly string[],
): Promise<void> {
  for (let at = 0; at < names.length; at += NAMES_PER_QUERY) {
    const sha256 = names.slice(at, at + NAMES_PER_QUERY);
    await largeFiles.update(tx, { repositoryId, sha256 }, { usedAt: tx.now });
  }
}

/** Returns how many bytes the files of a repository have in all. */
export async function sumLargeFiles(db: Queries, repositoryId: RepositoryId): Promise<number> {
  const row = await db.get<{ bytes: number }>(
    "SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) AS bytes FROM forge_large_files WHERE repository_id = ?",
    repositoryId,
  );
  return Number(row?.bytes ?? 0);
}

/** Returns the files of a repository that no client has used since a time, in the order of their names, after one of them. */
export async function listUnusedLargeFiles(
  db: Queries,
  repositoryId: RepositoryId,
  {
    before,
    after,
    limit,
  }: { readonly before: number; readonly after: string; readonly limit: number },
): Promise<LargeFile[]> {
  return largeFiles.list(
    db,
    sql`repository_id = ${repositoryId} AND used_at < ${before} AND sha256 > ${after}`,
    { order: "sha256", limit },
  );
}

/** Returns the repositories that have files which no client has used since a time, in the order of their ids. */
export async function listRepositoriesWithLargeFiles(
  db: Queries,
  before: number,
): Promise<RepositoryId[]> {
  const rows = await db.all<{ repository_id: RepositoryId }>(
    "SELECT DISTINCT repository_id FROM forge_large_files WHERE used_at < ? ORDER BY repository_id",
    before,
  );
  return rows.map((row) => row.repository_id);
}

/** Removes a file from a repository unless a client has used it since `file` was read. Returns whether it did. */
export async function deleteLargeFile(db: Queries, file: LargeFile): Promise<boolean> {
  const { repositoryId, sha256, usedAt } = file;
  return (await largeFiles.delete(db, { repositoryId, sha256, usedAt })) > 0;
}

/** Returns whether any repository has files of Git LFS. */
export async function hasLargeFiles(db: Queries): Promise<boolean> {
  return largeFiles.exists(db, sql`1 = 1`);
}
