import type { Queries, Transaction } from "../../engine/database.ts";
import type { AccountId } from "./ids.ts";
import { integer, now, optional, text, textId, unread } from "../columns.ts";
import { defineTable, type RecordOf } from "../table.ts";
import { sql } from "../condition.ts";

const sessions = defineTable("vault_sessions", {
  id: text(),
  userId: textId<AccountId>(),
  createdAt: now(),
  lastUsedAt: integer(),
  /** When its newest refresh token expires. */
  expiresAt: integer(),
  userAgent: text(),
  ipAddress: text(),
  endedAt: unread(optional(integer())),
});
/** A session, which a sign-in begins. Times are epoch milliseconds. */
export type VaultSession = RecordOf<typeof sessions>;

const tokens = defineTable("vault_refresh_tokens", {
  /** SHA-256 in hex. */
  tokenHash: text(),
  sessionId: text(),
  /** The token that was exchanged for it. */
  parentHash: optional(text()),
  issuedAt: now(),
  expiresAt: integer(),
  revokedAt: optional(integer()),
});

/** A refresh token, identified by its SHA-256, with its session. */
export interface RefreshToken {
  readonly tokenHash: string;
  readonly sessionId: string;
  readonly userId: AccountId;
  readonly expiresAt: number;
  /** True once it was exchanged or its session ended. */
  readonly isRevoked: boolean;
  /** When its session was last used. */
  readonly lastUsedAt: number;
}

/** Inserts a session whose first refresh token has the given hash. */
export async function insertSession(
  tx: Transaction,
  session: Omit<VaultSession, "createdAt" | "lastUsedAt">,
  tokenHash: string,
): Promise<void> {
  await sessions.insert(tx, { ...session, lastUsedAt: tx.now });
  await tokens.insert(tx, { tokenHash, sessionId: session.id, expiresAt: session.expiresAt });
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
    last_used_at: number;
  }>(
    `SELECT token.session_id, session.user_id, token.expires_at, token.revoked_at, session.ended_at, session.last_used_at
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
      lastUsedAt: row.last_used_at,
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
  const valid = { tokenHash: token.tokenHash, revokedAt: undefined };
  if ((await tokens.update(tx, valid, { revokedAt: tx.now })) === 0) return false;
  await tokens.insert(tx, {
    sessionId: token.sessionId,
    tokenHash: successor.tokenHash,
    parentHash: token.tokenHash,
    expiresAt: successor.expiresAt,
  });
  await sessions.update(
    tx,
    { id: token.sessionId },
    {
      lastUsedAt: tx.now,
      expiresAt: successor.expiresAt,
      userAgent: successor.userAgent,
      ipAddress: successor.ipAddress,
    },
  );
  return true;
}

/** Revokes a session. False when the user has no such session or it has ended. */
export async function endSession(
  tx: Transaction,
  { sessionId, userId }: { readonly sessionId: string; readonly userId: AccountId },
): Promise<boolean> {
  return (
    (await sessions.update(
      tx,
      { id: sessionId, userId, endedAt: undefined },
      { endedAt: tx.now },
    )) > 0
  );
}

/** Records that a session is in use. */
export async function touchSession(db: Queries, id: string, now: number): Promise<void> {
  await sessions.update(db, { id, endedAt: undefined }, { lastUsedAt: now });
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
  const rows = await sessions.list(
    db,
    sql`user_id = ${userId} AND ended_at IS NULL AND expires_at > ${now}`,
    { order: "last_used_at DESC, id DESC", ...page },
  );
  const total = await sessions.count(
    db,
    sql`user_id = ${userId} AND ended_at IS NULL AND expires_at > ${now}`,
  );
  return { sessions: rows, total };
}

/** Shortens sessions and refresh tokens that end after `latest`, as they began by a clock that was ahead. */
export async function shortenSessions(tx: Transaction, latest: number): Promise<void> {
  await sessions.update(tx, sql`expires_at > ${latest}`, { expiresAt: latest });
  await tokens.update(tx, sql`expires_at > ${latest}`, { expiresAt: latest });
}

/** Deletes the sessions that expired before `time` with their tokens. Returns how many. */
export async function deleteSessionsExpiredBefore(db: Queries, time: number): Promise<number> {
  return sessions.delete(db, sql`expires_at < ${time}`);
}
