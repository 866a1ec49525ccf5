import { hash } from "node:crypto";
import type { Queries, Transaction } from "../../../engine/database.ts";
import { id, integer, now, optional, text } from "../../columns.ts";
import { sql } from "../../condition.ts";
import { defineTable, type RecordOf } from "../../table.ts";
import type { UserId } from "../ids.ts";

const sessions = defineTable("forge_web_sessions", {
  /** SHA-256 of the secret that the browser has, in hex. */
  id: text(),
  userId: id<UserId>(),
  /** Identifies the password with which the user signed in. */
  passwordMark: text(),
  createdAt: now(),
  expiresAt: integer(),
  /** The browser, as it names itself, and the address that last used the session; empty when it was not used since an update. */
  userAgent: text(),
  address: text(),
  /** Undefined when it was not used since an update. */
  usedAt: optional(integer()),
});
/** A session of the forge's pages. Times are epoch milliseconds. */
export type WebSession = RecordOf<typeof sessions>;

/** Returns the mark of a password, by its stored hash. */
export const toPasswordMark = (passwordHash: string): string => hash("sha256", passwordHash, "hex");

/** Keeps the sessions of a user whose password is stored as another hash from now on. */
export async function keepWebSessions(
  tx: Transaction,
  userId: UserId,
  hashes: { readonly from: string; readonly to: string },
): Promise<void> {
  const passwordMark = toPasswordMark(hashes.to);
  await sessions.update(
    tx,
    { userId, passwordMark: toPasswordMark(hashes.from) },
    { passwordMark },
  );
}

/** Adds a session, and deletes the user's oldest ones beyond `sessionsMax`. */
export async function insertWebSession(
  tx: Transaction,
  session: Omit<WebSession, "createdAt" | "usedAt">,
  sessionsMax: number,
): Promise<void> {
  await sessions.insert(tx, { ...session, usedAt: tx.now });
  const { userId } = session;
  await sessions.delete(
    tx,
    sql`user_id = ${userId} AND id NOT IN (
      SELECT s.id FROM forge_web_sessions s WHERE s.user_id = ${userId} ORDER BY s.created_at DESC, s.id DESC LIMIT ${sessionsMax})`,
  );
}

export function findWebSession(db: Queries, sessionId: string): Promise<WebSession | undefined> {
  return sessions.find(db, { id: sessionId });
}

/** Returns the sessions of a user that have not expired, the last used first. */
export function listWebSessions(
  db: Queries,
  { userId, passwordMark }: Pick<WebSession, "userId" | "passwordMark">,
  at: number,
): Promise<WebSession[]> {
  return sessions.list(
    db,
    sql`user_id = ${userId} AND password_mark = ${passwordMark} AND expires_at > ${at}`,
    { order: "coalesce(used_at, created_at) DESC, id" },
  );
}

/** Records the use of a session. */
export async function touchWebSession(
  db: Queries,
  sessionId: string,
  use: Pick<WebSession, "userAgent" | "address" | "usedAt">,
): Promise<void> {
  await sessions.update(db, { id: sessionId }, use);
}

/** Deletes a session of a user. Idempotent. */
export async function deleteWebSession(
  db: Queries,
  session: Pick<WebSession, "id" | "userId">,
): Promise<void> {
  await sessions.delete(db, session);
}

/** Deletes all sessions of a user but one. */
export async function deleteOtherWebSessions(
  db: Queries,
  { id: kept, userId }: Pick<WebSession, "id" | "userId">,
): Promise<void> {
  await sessions.delete(db, sql`user_id = ${userId} AND id <> ${kept}`);
}

/**
 * Deletes the sessions that have ended. Returns how many. Shortens those that end after `latest`, as they began by a clock that
 * was ahead.
 */
export async function deleteExpiredWebSessions(
  db: Queries,
  { now: at, latest }: { readonly now: number; readonly latest: number },
): Promise<number> {
  await sessions.update(db, sql`expires_at > ${latest}`, { expiresAt: latest });
  return sessions.delete(db, sql`expires_at < ${at}`);
}
