import { z } from "zod";
import type { Queries, Transaction } from "../../../engine/database.ts";
import { parseColumn } from "../../../engine/json-column.ts";
import type { PushId, UserId, RepositoryId } from "../ids.ts";

/** The journal entry of a push that is not recorded yet. Times are epoch milliseconds. */
export interface ForgePush {
  readonly id: PushId;
  readonly repositoryId: RepositoryId;
  readonly pusherId: UserId;
  /** The changes that the client requested; git may have carried them out or not. */
  readonly changes: readonly RequestedChange[];
  readonly createdAt: number;
  /** Expiry of the lease of the process that runs the push. */
  readonly leasedUntil: number;
}

/** A requested change of one ref. An absent side is a ref that does not exist before or after. */
export interface RequestedChange {
  readonly ref: string;
  readonly before?: string | undefined;
  readonly after?: string | undefined;
  /** Whether git is known to have made the change, because a later one began where it ended. */
  readonly isMade?: boolean | undefined;
}

const changesSchema = z.array(
  z.object({
    ref: z.string(),
    before: z.string().optional(),
    after: z.string().optional(),
    isMade: z.boolean().optional(),
  }),
);

/** Adds an entry to the journal of pushes and returns its id. */
export async function insertPush(
  tx: Transaction,
  push: Pick<ForgePush, "repositoryId" | "pusherId" | "changes" | "leasedUntil">,
): Promise<PushId> {
  const row = await tx.get<{ id: PushId }>(
    `INSERT INTO forge_pushes (repository_id, pusher_id, changes, created_at, leased_until)
     VALUES (?, ?, ?, ?, ?) RETURNING id`,
    push.repositoryId,
    push.pusherId,
    JSON.stringify(push.changes),
    tx.now,
    push.leasedUntil,
  );
  if (row === undefined) throw new Error("the statement for the push returned no row");
  return row.id;
}

/** Renews the lease of a push. */
export async function renewPush(db: Queries, id: PushId, leasedUntil: number): Promise<void> {
  await db.run("UPDATE forge_pushes SET leased_until = ? WHERE id = ?", leasedUntil, id);
}

/** Ends the leases of all pushes. */
export async function releasePushes(db: Queries, at: number): Promise<void> {
  await db.run("UPDATE forge_pushes SET leased_until = ? WHERE leased_until > ?", at, at);
}

/** Deletes an entry and returns whether it existed. */
export async function deletePush(db: Queries, id: PushId): Promise<boolean> {
  return (await db.run("DELETE FROM forge_pushes WHERE id = ?", id)).changes > 0;
}

export async function hasPush(db: Queries, id: PushId): Promise<boolean> {
  return (await db.get("SELECT id FROM forge_pushes WHERE id = ?", id)) !== undefined;
}

/** Returns all entries, oldest first. */
export async function listPushes(db: Queries): Promise<ForgePush[]> {
  const rows = await db.all<PushRow>(
    `SELECT id, repository_id, pusher_id, changes, created_at, leased_until FROM forge_pushes ORDER BY id`,
  );
  return rows.map((row) => ({
    id: row.id,
    repositoryId: row.repository_id,
    pusherId: row.pusher_id,
    changes: parseColumn(changesSchema, row.changes, "forge_pushes.changes"),
    createdAt: row.created_at,
    leasedUntil: row.leased_until,
  }));
}

interface PushRow {
  id: PushId;
  repository_id: RepositoryId;
  pusher_id: UserId;
  changes: string;
  created_at: number;
  leased_until: number;
}

/** Replaces the changes of an entry. */
export async function updatePushChanges(
  tx: Transaction,
  id: PushId,
  changes: readonly RequestedChange[],
): Promise<void> {
  await tx.run("UPDATE forge_pushes SET changes = ? WHERE id = ?", JSON.stringify(changes), id);
}

/** Returns how many pushes of a repository have been recorded; undefined when it does not exist. */
export async function countRecordedPushes(
  db: Queries,
  repositoryId: RepositoryId,
): Promise<number | undefined> {
  const row = await db.get<{ recorded_pushes: number }>(
    "SELECT recorded_pushes FROM forge_repositories WHERE id = ?",
    repositoryId,
  );
  return row?.recorded_pushes;
}

/** Counts a recorded push. Returns false, and counts nothing, when others have been recorded since `seen` was read. */
export async function countRecordedPush(
  tx: Transaction,
  repositoryId: RepositoryId,
  seen: number,
): Promise<boolean> {
  const { changes } = await tx.run(
    "UPDATE forge_repositories SET recorded_pushes = recorded_pushes + 1 WHERE id = ? AND recorded_pushes = ?",
    repositoryId,
    seen,
  );
  return changes === 1;
}
