import type { Queries, Transaction } from "../../../engine/database.ts";

/** A push that git has been given and whose changes nobody has been told of yet. Times are epoch milliseconds. */
export interface ForgePush {
  readonly id: number;
  readonly repositoryId: number;
  readonly pusherId: number;
  /** What the client asked for; git may have done it or not. */
  readonly changes: readonly AskedChange[];
  readonly createdAt: number;
  /** Until then the process that runs it is alive. */
  readonly leasedUntil: number;
}

/** One ref that shall move. An absent side is a ref that does not exist before or after. */
export interface AskedChange {
  readonly ref: string;
  readonly before?: string | undefined;
  readonly after?: string | undefined;
}

/** Notes a push; returns its id. */
export async function insertPush(
  tx: Transaction,
  push: Pick<ForgePush, "repositoryId" | "pusherId" | "changes" | "leasedUntil">,
): Promise<number> {
  const row = await tx.get<{ id: number }>(
    `INSERT INTO forge_pushes (repository_id, pusher_id, changes, created_at, leased_until)
     VALUES (?, ?, ?, ?, ?) RETURNING id`,
    push.repositoryId,
    push.pusherId,
    JSON.stringify(push.changes),
    tx.now,
    push.leasedUntil,
  );
  if (row === undefined) throw new Error("an inserted push came back as no row");
  return row.id;
}

/** Says that the process which runs a push is alive until then. */
export async function renewPush(db: Queries, id: number, leasedUntil: number): Promise<void> {
  await db.run("UPDATE forge_pushes SET leased_until = ? WHERE id = ?", leasedUntil, id);
}

/** Says of all pushes that nobody runs them any more. */
export async function releasePushes(db: Queries, at: number): Promise<void> {
  await db.run("UPDATE forge_pushes SET leased_until = ? WHERE leased_until > ?", at, at);
}

/** Forgets a push; whether it was there. */
export async function deletePush(db: Queries, id: number): Promise<boolean> {
  return (await db.run("DELETE FROM forge_pushes WHERE id = ?", id)).changes > 0;
}

/** All that is noted, oldest first. */
export async function listPushes(db: Queries): Promise<ForgePush[]> {
  const rows = await db.all<PushRow>(
    `SELECT id, repository_id, pusher_id, changes, created_at, leased_until FROM forge_pushes ORDER BY id`,
  );
  return rows.map((row) => ({
    id: row.id,
    repositoryId: row.repository_id,
    pusherId: row.pusher_id,
    changes: JSON.parse(row.changes) as AskedChange[],
    createdAt: row.created_at,
    leasedUntil: row.leased_until,
  }));
}

interface PushRow {
  id: number;
  repository_id: number;
  pusher_id: number;
  changes: string;
  created_at: number;
  leased_until: number;
}
