import { z } from "zod";
import type { Queries, Transaction } from "../../../engine/database.ts";
import { generated, id, integer, json, now } from "../../columns.ts";
import { sql } from "../../condition.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { PushId, UserId, RepositoryId } from "../ids.ts";

const requestedChange = z.object({
  ref: z.string(),
  before: z.string().optional(),
  after: z.string().optional(),
  /** Whether git is known to have made the change, because a later one began where it ended. */
  isMade: z.boolean().optional(),
});
/** A requested change of one ref. An absent side is a ref that does not exist before or after. */
export type RequestedChange = Readonly<z.output<typeof requestedChange>>;

const pushes = defineTable("forge_pushes", {
  id: generated(id<PushId>()),
  repositoryId: id<RepositoryId>(),
  pusherId: id<UserId>(),
  /** The changes that the client requested; git may have carried them out or not. */
  changes: json(z.array(requestedChange)),
  createdAt: now(),
  /** Expiry of the lease of the process that runs the push. */
  leasedUntil: integer(),
});
/** The journal entry of a push that is not recorded yet. Times are epoch milliseconds. */
export type ForgePush = RecordOf<typeof pushes>;

/** Adds an entry to the journal of pushes and returns its id. */
export async function insertPush(
  tx: Transaction,
  push: Pick<ForgePush, "repositoryId" | "pusherId" | "changes" | "leasedUntil">,
): Promise<PushId> {
  return (await pushes.insert(tx, push)).id;
}

/** Renews the lease of a push. */
export async function renewPush(db: Queries, id: PushId, leasedUntil: number): Promise<void> {
  await pushes.update(db, { id }, { leasedUntil });
}

/** Ends the leases of all pushes. */
export async function releasePushes(db: Queries, at: number): Promise<void> {
  await pushes.update(db, sql`leased_until > ${at}`, { leasedUntil: at });
}

/** Deletes an entry and returns whether it existed. */
export async function deletePush(db: Queries, id: PushId): Promise<boolean> {
  return (await pushes.delete(db, { id })) > 0;
}

export const hasPush = (db: Queries, id: PushId): Promise<boolean> => pushes.exists(db, { id });

/** Returns all entries, oldest first. */
export const listPushes = (db: Queries): Promise<ForgePush[]> =>
  pushes.list(db, {}, { order: "id" });

/** Replaces the changes of an entry. */
export async function updatePushChanges(
  tx: Transaction,
  id: PushId,
  changes: readonly RequestedChange[],
): Promise<void> {
  await pushes.update(tx, { id }, { changes });
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
