import type { Queries, Transaction } from "../../../engine/database.ts";
import { id, initial, integer, named, unread } from "../../columns.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import { type UserId, type IssueId, type RepositoryId, toUserId } from "../ids.ts";

const mailboxes = defineTable("forge_mailboxes", {
  userId: unread(id<UserId>()),
  /** Increases with each change of a thread. */
  revision: initial(0, integer()),
  /** Epoch milliseconds. */
  changedAt: initial(0, integer()),
  unread: named("unread_count", initial(0, integer())),
  readCount: unread(initial(0, integer())),
  pinnedCount: unread(initial(0, integer())),
});
/** The counters of a user's mailbox; all zero before the first thread. */
export type Mailbox = RecordOf<typeof mailboxes>;

export const findMailbox = async (db: Queries, userId: UserId): Promise<Mailbox> =>
  (await mailboxes.find(db, { userId })) ?? { revision: 0, changedAt: 0, unread: 0 };

/** Returns the revisions of the users' mailboxes by user id. Users without threads are left out. */
export async function listMailboxRevisions(
  db: Queries,
  userIds: readonly UserId[],
): Promise<ReadonlyMap<UserId, number>> {
  const revisions = new Map<UserId, number>();
  for (let at = 0; at < userIds.length; at += LIST_SIZES.at(-1) ?? 1) {
    const ids = toFullList(userIds.slice(at, at + (LIST_SIZES.at(-1) ?? 1)));
    const rows = await db.all<{ id: UserId; revision: number }>(
      `SELECT user_id AS id, revision FROM forge_mailboxes WHERE user_id IN (${ids.map(() => "?").join(", ")})`,
      ...ids,
    );
    for (const { id, revision } of rows) revisions.set(id, revision);
  }
  return revisions;
}

/**
 * Locks a user's mailbox until the end of the transaction, so that its counters change together with the threads. Creates
 * it if missing.
 */
export async function holdMailbox(tx: Transaction, userId: UserId): Promise<Mailbox> {
  const held = await mailboxes.upsert(
    tx,
    { userId },
    "ON CONFLICT (user_id) DO UPDATE SET revision = forge_mailboxes.revision",
  );
  if (held === undefined) throw new Error("the statement for the mailbox returned no row");
  return held;
}

/** A change of the number of threads with a status; negative when threads leave it. */
export interface StatusMove {
  /** The value of the column: 0 unread, 1 read, 2 pinned. */
  readonly status: number;
  readonly by: number;
}

/** Adds to the counters of a locked mailbox and increments its revision. */
export async function changeMailbox(
  tx: Transaction,
  userId: UserId,
  moves: readonly StatusMove[],
): Promise<void> {
  const by = countColumns.map((_, status) =>
    moves.reduce((sum, move) => (move.status === status ? sum + move.by : sum), 0),
  );
  await tx.run(
    `UPDATE forge_mailboxes SET revision = revision + 1, changed_at = ?,
       ${countColumns.map((column) => `${column} = ${column} + ?`).join(", ")}
     WHERE user_id = ?`,
    tx.now,
    ...by,
    userId,
  );
}

/**
 * Increments the revision of all mailboxes with threads of a repository, whose name or readers have changed: clients
 * fetch them again.
 */
export async function touchMailboxesOf(tx: Transaction, repositoryId: RepositoryId): Promise<void> {
  await tx.run(
    `UPDATE forge_mailboxes SET revision = revision + 1, changed_at = ?
     WHERE user_id IN (SELECT n.user_id FROM forge_notifications n WHERE n.repository_id = ?)`,
    tx.now,
    repositoryId,
  );
}

/**
 * Deletes the threads of a repository or issue that is being deleted, subtracts them from the counters of all mailboxes,
 * and increments their revisions.
 */
export async function emptyMailboxesOf(
  tx: Transaction,
  deleted: { readonly repositoryId: RepositoryId } | { readonly issueId: IssueId },
): Promise<void> {
  const [column, id] =
    "issueId" in deleted ? ["issue_id", deleted.issueId] : ["repository_id", deleted.repositoryId];
  const leaving = countColumns.map(
    (count, status) =>
      `${count} = ${count} - (SELECT COUNT(*) FROM forge_notifications n
         WHERE n.${column} = ? AND n.user_id = forge_mailboxes.user_id AND n.status = ${status})`,
  );
  await tx.run(
    `UPDATE forge_mailboxes SET revision = revision + 1, changed_at = ?, ${leaving.join(", ")}
     WHERE user_id IN (SELECT n.user_id FROM forge_notifications n WHERE n.${column} = ?)`,
    tx.now,
    ...countColumns.map(() => id),
    id,
  );
  await tx.run(`DELETE FROM forge_notifications WHERE ${column} = ?`, id);
}

/** Lists have few lengths, so that few statements are prepared. */
const LIST_SIZES = [1, 8, 64, 512] as const;

/** Pads the list to the next of the sizes by repeating its last element. */
function toFullList(ids: readonly UserId[]): readonly UserId[] {
  const size = LIST_SIZES.find((size) => size >= ids.length) ?? ids.length;
  return [...ids, ...Array<UserId>(size - ids.length).fill(ids.at(-1) ?? toUserId(0))];
}

/** Indexed by status. */
const countColumns = ["unread_count", "read_count", "pinned_count"] as const;
