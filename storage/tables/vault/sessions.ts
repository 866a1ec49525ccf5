import type { Queries, Row, Transaction } from "../../engine/database.ts";
import { type AccountId, toAccountId } from "./ids.ts";

/** A session, which a sign-in begins. Times are epoch milliseconds. */
export interface VaultSession {
  readonly id: string;
  readonly userId: AccountId;
  readonly createdAt: number;
  readonly lastUsedAt: number;
  /** When its newest refresh token expires. */
  readonly expiresAt: number;
  readonly userAgent: string;
  readonly ipAddress: string;
}

/** A refresh token, identified by its SHA-256, with its session. */
export interface RefreshToken {
  readonly tokenHash: string;
  readonly sessionId: string;
  readonly userId: AccountId;
  readonly expiresAt: number;
  /** True once it was exchanged or its session ended. */
  readonly isRevoked: boolean;
}

/** Inserts a session whose first refresh token has the given hash. */
export async function insertSession(
  tx: Transaction,
  session: Omit<VaultSession, "createdAt" | "lastUsedAt">,
  tokenHash: string,
): Promise<void> {
  await tx.run(
    `INSERT INTO vault_sessions (id, user_id, created_at, last_used_at, expires_at, user_agent, ip_address)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    session.id,
    session.userId,
    tx.now,
    tx.now,
    session.expiresAt,
    session.userAgent,
    session.ipAddress,
  );
  await insertToken(tx, { ...session, sessionId: session.id, tokenHash, parentHash: null });
}

/** Returns a refresh token by its hash; undefined when it is unknown. */
export async function findRefreshToken(
  db: Queries,
  tokenHash: string,
): Promise<RefreshToken | undefined> {
  const row = await db.get<{
    session_id: string;
    user_id: AccountId;
    expires_at: number;
    revoked_at: number | null;
    ended_at: number | null;
  }>(
    `SELECT token.session_id, session.user_id, token.expires_at, token.revoked_at, session.ended_at
     FROM vault_refresh_tokens AS token JOIN vault_sessions AS session ON session.id = token.session_id
     WHERE token.token_hash = ?`,
    tokenHash,
  );
  return (
    row && {
      tokenHash,
      sessionId: row.session_id,
      userId: row.user_id,
      expiresAt: row.expires_at,
      isRevoked: row.revoked_at !== null || row.ended_at !== null,
    }
  );
}

/**
 * Exchanges a refresh token: revokes it and stores its successor. Returns false and changes nothing if it was
 * exchanged before, so that of two concurrent calls one succeeds.
 */
export async function rotateRefreshToken(
  tx: Transaction,
  token: RefreshToken,
  successor: {
    readonly tokenHash: string;
    readonly expiresAt: number;
    readonly userAgent: string;
    readonly ipAddress: string;
  },
): Promise<boolean> {
  const { changes } = await tx.run(
    "UPDATE vault_refresh_tokens SET revoked_at = ? WHERE token_hash = ? AND revoked_at IS NULL",
    tx.now,
    token.tokenHash,
  );
  if (changes === 0) return false;
  await insertToken(tx, {
    sessionId: token.sessionId,
    tokenHash: successor.tokenHash,
    parentHash: token.tokenHash,
    expiresAt: successor.expiresAt,
  });
  await tx.run(
    "UPDATE vault_sessions SET last_used_at = ?, expires_at = ?, user_agent = ?, ip_address = ? WHERE id = ?",
    tx.now,
    successor.expiresAt,
    successor.userAgent,
    successor.ipAddress,
    token.sessionId,
  );
  return true;
}

/** Revokes a session. False when the user has no such session or it has ended. */
export async function endSession(
  tx: Transaction,
  { sessionId, userId }: { readonly sessionId: string; readonly userId: AccountId },
): Promise<boolean> {
  const { changes } = await tx.run(
    "UPDATE vault_sessions SET ended_at = ? WHERE id = ? AND user_id = ? AND ended_at IS NULL",
    tx.now,
    sessionId,
    userId,
  );
  return changes > 0;
}

/** Revokes all sessions of a user except `keepId`. Returns how many of them were still valid. */
export async function endSessions(
  tx: Transaction,
  userId: AccountId,
  keepId?: string,
): Promise<number> {
  const ended = await tx.all<{ expires_at: number }>(
    `UPDATE vault_sessions SET ended_at = ? WHERE user_id = ? AND ended_at IS NULL AND id <> ?
     RETURNING expires_at`,
    tx.now,
    userId,
    keepId ?? "",
  );
  return ended.filter((session) => session.expires_at > tx.now).length;
}

/** Returns one page of a user's valid sessions, last used first, and the total count. */
export async function listLiveSessions(
  db: Queries,
  userId: AccountId,
  now: number,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly sessions: VaultSession[]; readonly total: number }> {
  const rows = await db.all(
    `SELECT id, user_id, created_at, last_used_at, expires_at, user_agent, ip_address
     FROM vault_sessions WHERE user_id = ? AND ended_at IS NULL AND expires_at > ?
     ORDER BY last_used_at DESC, id DESC LIMIT ? OFFSET ?`,
    userId,
    now,
    page.limit,
    page.offset,
  );
  const count = await db.get<{ total: number }>(
    "SELECT count(*) AS total FROM vault_sessions WHERE user_id = ? AND ended_at IS NULL AND expires_at > ?",
    userId,
    now,
  );
  return { sessions: rows.map(toSession), total: Number(count?.total ?? 0) };
}

/** Deletes the sessions that expired before `time` with their tokens. Returns how many. */
export async function deleteSessionsExpiredBefore(db: Queries, time: number): Promise<number> {
  const { changes } = await db.run("DELETE FROM vault_sessions WHERE expires_at < ?", time);
  return changes;
}

async function insertToken(
  tx: Transaction,
  token: {
    readonly tokenHash: string;
    readonly sessionId: string;
    readonly parentHash: string | null;
    readonly expiresAt: number;
  },
): Promise<void> {
  await tx.run(
    `INSERT INTO vault_refresh_tokens (token_hash, session_id, parent_hash, issued_at, expires_at)
     VALUES (?, ?, ?, ?, ?)`,
    token.tokenHash,
    token.sessionId,
    token.parentHash,
    tx.now,
    token.expiresAt,
  );
}

function toSession(row: Row): VaultSession {
  return {
    id: row["id"] as string,
    userId: toAccountId(row["user_id"]),
    createdAt: row["created_at"] as number,
    lastUsedAt: row["last_used_at"] as number,
    expiresAt: row["expires_at"] as number,
    userAgent: row["user_agent"] as string,
    ipAddress: row["ip_address"] as string,
  };
}
