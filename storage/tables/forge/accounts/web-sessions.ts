import type { Queries, Transaction } from "../../../engine/database.ts";
import type { UserId } from "../ids.ts";

/** A session of the forge's pages. Times are epoch milliseconds. */
export interface WebSession {
  /** SHA-256 of the secret that the browser has, in hex. */
  readonly id: string;
  readonly userId: UserId;
  /** Identifies the password with which the user signed in. */
  readonly passwordMark: string;
  readonly expiresAt: number;
}

/** Adds a session, and deletes the user's oldest ones beyond `sessionsMax`. */
export async function insertWebSession(
  tx: Transaction,
  session: WebSession,
  sessionsMax: number,
): Promise<void> {
  await tx.run(
    "INSERT INTO forge_web_sessions (id, user_id, password_mark, created_at, expires_at) VALUES (?, ?, ?, ?, ?)",
    session.id,
    session.userId,
    session.passwordMark,
    tx.now,
    session.expiresAt,
  );
  await tx.run(
    `DELETE FROM forge_web_sessions WHERE user_id = ? AND id NOT IN (
       SELECT s.id FROM forge_web_sessions s WHERE s.user_id = ? ORDER BY s.created_at DESC, s.id DESC LIMIT ?)`,
    session.userId,
    session.userId,
    sessionsMax,
  );
}

export async function findWebSession(db: Queries, id: string): Promise<WebSession | undefined> {
  const row = await db.get<{
    id: string;
    user_id: UserId;
    password_mark: string;
    expires_at: number;
  }>("SELECT id, user_id, password_mark, expires_at FROM forge_web_sessions WHERE id = ?", id);
  return (
    row && {
      id: row.id,
      userId: row.user_id,
      passwordMark: row.password_mark,
      expiresAt: row.expires_at,
    }
  );
}

/** Deletes a session. Idempotent. */
export async function deleteWebSession(db: Queries, id: string): Promise<void> {
  await db.run("DELETE FROM forge_web_sessions WHERE id = ?", id);
}

/** Deletes the sessions that ended before a moment. Returns how many. */
export async function deleteExpiredWebSessions(db: Queries, before: number): Promise<number> {
  const { changes } = await db.run("DELETE FROM forge_web_sessions WHERE expires_at < ?", before);
  return changes;
}
