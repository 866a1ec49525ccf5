import type { Queries, Transaction } from "../../../engine/database.ts";
import { raw, sql } from "../../condition.ts";
import { generated, id, joined, now, text } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { FileLockId, RepositoryId, UserId } from "../ids.ts";

const fileLocks = defineTable(
  "forge_file_locks AS file_lock",
  {
    id: generated(id<FileLockId>()),
    repositoryId: id<RepositoryId>(),
    /** Unique in its repository. */
    path: text(),
    ownerId: id<UserId>(),
    /** Login of the owner. */
    ownerName: joined("owner.name", text()),
    createdAt: now(),
  },
  "JOIN forge_users AS owner ON owner.id = file_lock.owner_id",
);
/** A file that one person has locked, so that others do not change it at the same time. */
export type FileLock = RecordOf<typeof fileLocks>;

/** Which locks of a repository, in the order of their ids after one of them. */
export interface FileLockFilter {
  readonly path?: string | undefined;
  readonly id?: FileLockId | undefined;
  readonly after: number;
  readonly limit: number;
}

/** Adds a lock; undefined when the path is locked already. */
export async function insertFileLock(
  tx: Transaction,
  lock: Pick<FileLock, "repositoryId" | "path" | "ownerId">,
): Promise<FileLock | undefined> {
  const added = await fileLocks.upsert(tx, lock, "ON CONFLICT (repository_id, path) DO NOTHING");
  return added && fileLocks.find(tx, sql`file_lock.id = ${added.id}`);
}

export async function listFileLocks(
  db: Queries,
  repositoryId: RepositoryId,
  { path, id: lockId, after, limit }: FileLockFilter,
): Promise<FileLock[]> {
  return fileLocks.list(
    db,
    sql`file_lock.repository_id = ${repositoryId} AND file_lock.id > ${after} AND ${
      path === undefined ? raw("1 = 1") : sql`file_lock.path = ${path}`
    } AND ${lockId === undefined ? raw("1 = 1") : sql`file_lock.id = ${lockId}`}`,
    { order: "file_lock.id", limit },
  );
}

/** Deletes a lock. Idempotent. */
export async function deleteFileLock(tx: Transaction, lockId: FileLockId): Promise<void> {
  await tx.run("DELETE FROM forge_file_locks WHERE id = ?", lockId);
}
