import type { Queries, Transaction } from "../../engine/database.ts";
import { flag, integer, now, text, textId } from "../columns.ts";
import { sql } from "../condition.ts";
import { defineTable, type RecordOf } from "../table.ts";
import type { AccountId } from "./ids.ts";

const locks = defineTable("vault_dav_locks", {
  token: text(),
  userId: textId<AccountId>(),
  /** The id of the connection, or `documents`, and the path below it. */
  place: text(),
  scope: text<"exclusive" | "shared">(),
  /** Whether it covers everything below its place. */
  isDeep: flag(),
  /** XML that the client gave. */
  owner: text(),
  /** How long it lives after it was created or refreshed. */
  seconds: integer(),
  createdAt: now(),
  expiresAt: integer(),
});
/** A write lock of a WebDAV client. Times are epoch milliseconds. */
export type DavLock = RecordOf<typeof locks>;

/** Returns the live locks of a user, oldest first. */
export function listDavLocks(db: Queries, userId: AccountId, at: number): Promise<DavLock[]> {
  return locks.list(db, sql`user_id = ${userId} AND expires_at > ${at}`, {
    order: "created_at, token",
  });
}

/** Adds a lock. */
export async function insertDavLock(
  tx: Transaction,
  lock: Omit<DavLock, "createdAt">,
): Promise<DavLock> {
  return locks.insert(tx, lock);
}

/** Makes a live lock expire later; returns it, or undefined when it has ended. */
export function refreshDavLock(
  tx: Transaction,
  { userId, token }: Pick<DavLock, "userId" | "token">,
  { seconds, expiresAt }: Pick<DavLock, "seconds" | "expiresAt">,
): Promise<DavLock | undefined> {
  return locks.change(
    tx,
    sql`user_id = ${userId} AND token = ${token} AND expires_at > ${tx.now}`,
    {
      seconds,
      expiresAt,
    },
  );
}

/** Deletes locks of a user. */
export async function deleteDavLocks(
  db: Queries,
  userId: AccountId,
  tokens: readonly string[],
): Promise<void> {
  if (tokens.length > 0) await locks.delete(db, { userId, token: tokens });
}

/** Deletes the locks of all users that have expired. Shortens those that a clock which was ahead made too long. */
export async function deleteExpiredDavLocks(tx: Transaction): Promise<void> {
  await locks.delete(tx, sql`expires_at <= ${tx.now}`);
  const latest = sql`${tx.now} + seconds * 1000`;
  await locks.update(tx, sql`expires_at > ${tx.now} + seconds * 1000`, { expiresAt: latest });
}
