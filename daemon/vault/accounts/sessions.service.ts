import type { Database, Transaction } from "../../../storage/engine/database.ts";
import { insertAudit } from "../../../storage/tables/vault/audit.ts";
import {
  deleteSessionsExpiredBefore,
  shortenSessions,
  endSession,
  endSessions,
  findRefreshToken,
  listLiveSessions,
  rotateRefreshToken,
  type VaultSession,
} from "../../../storage/tables/vault/sessions.ts";
import { findVaultUser } from "../../../storage/tables/vault/users.ts";
import { AppError, assertNever } from "../../errors.ts";
import type { VaultCaller } from "../caller.ts";
import type { PageRequest } from "../page.ts";
import type { Client } from "./client.ts";
import { REFRESH_SECONDS, REMEMBERED_SECONDS } from "./refresh-cookie.ts";
import { badCredentials } from "./refusals.ts";
import {
  hashRefreshToken,
  type IssuedTokens,
  type PendingTokens,
  type SessionIssuer,
  toTrace,
} from "./session-issue.ts";
import type { AccountId } from "../../../storage/tables/vault/ids.ts";

/** Retention of an expired session, during which its tokens are distinguished from unknown ones. */
const KEPT_MS = 30 * 86_400_000;

/** Deletes the rows of sessions that expired long ago and returns how many. No session lives longer than a new one. */
export async function deleteExpiredSessions(db: Database, now: number): Promise<number> {
  await db.transaction((tx) => shortenSessions(tx, now + REMEMBERED_SECONDS * 1000));
  return deleteSessionsExpiredBefore(db, now - KEPT_MS);
}

export interface SessionsDeps {
  readonly db: Database;
  readonly clock: () => number;
  readonly sessions: SessionIssuer;
}

type Exchange =
  | { readonly kind: "exchanged"; readonly tokens: PendingTokens }
  | { readonly kind: "revoked" }
  | { readonly kind: "invalid" }
  | { readonly kind: "no_user" };

/** Refreshes, lists and revokes sessions. */
export function createSessions({ db, clock, sessions }: SessionsDeps) {
  return {
    /**
     * Rotates the refresh token of the cookie. Throws `invalid_credentials` with the
     * document's text; reuse of a rotated token revokes its session.
     */
    async refresh(client: Client): Promise<IssuedTokens> {
      const { refreshToken } = client;
      if (refreshToken === undefined) throw badCredentials("No refresh token");
      const successor = sessions.newRefreshToken();
      const exchange = await db.transaction((tx) =>
        exchangeToken(tx, refreshToken, successor, client),
      );
      switch (exchange.kind) {
        case "exchanged":
          return sessions.complete(exchange.tokens, client);
        case "revoked":
          throw badCredentials("Session revoked");
        case "invalid":
          throw badCredentials("Invalid or expired refresh token");
        case "no_user":
          throw badCredentials("User not found or deactivated");
        default:
          return assertNever(exchange);
      }
    },

    /** Revokes the session of the refresh token in the cookie, if any. */
    async signOut({ refreshToken, address }: Client): Promise<void> {
      if (refreshToken === undefined) return;
      await db.transaction(async (tx) => {
        const token = await findRefreshToken(tx, hashRefreshToken(refreshToken));
        if (token === undefined || !(await endSession(tx, token))) return;
        const { userId, sessionId } = token;
        await insertAudit(tx, {
          eventType: "auth.logout",
          userId,
          actorId: userId,
          resourceId: sessionId,
          ipAddress: address,
        });
      });
    },

    /** Revokes all sessions of the caller and returns how many were still valid. */
    signOutAll: ({ userId, address }: VaultCaller): Promise<number> =>
      db.transaction(async (tx) => {
        const ended = await endSessions(tx, userId);
        await insertAudit(tx, {
          eventType: "auth.sign_out_all",
          userId,
          actorId: userId,
          ipAddress: address,
          metadata: { sessions_revoked: ended },
        });
        return ended;
      }),

    /** Returns one page of the caller's valid sessions, last used first. */
    list: (
      { userId }: VaultCaller,
      { page, perPage }: PageRequest,
    ): Promise<{ readonly sessions: readonly VaultSession[]; readonly total: number }> =>
      listLiveSessions(db, userId, clock(), { limit: perPage, offset: (page - 1) * perPage }),

    /**
     * Revokes one of the caller's sessions. Throws `not_found` when the caller has no session with this id or it has
     * ended.
     */
    async end({ userId, address }: VaultCaller, sessionId: string): Promise<void> {
      const ended = await db.transaction(async (tx) => {
        if (!(await endSession(tx, { sessionId, userId }))) return false;
        await insertAudit(tx, {
          eventType: "auth.session_revoked",
          userId,
          actorId: userId,
          resourceId: sessionId,
          ipAddress: address,
        });
        return true;
      });
      if (!ended) throw new AppError("not_found", "Session not found");
    },

    /** Deletes the rows of sessions that expired long ago and returns how many. For a schedule. */
    deleteExpired: (): Promise<number> => deleteExpiredSessions(db, clock()),
  };

  async function exchangeToken(
    tx: Transaction,
    refreshToken: string,
    successor: string,
    client: Client,
  ): Promise<Exchange> {
    const token = await findRefreshToken(tx, hashRefreshToken(refreshToken));
    if (token === undefined) return { kind: "invalid" };
    if (token.isRevoked) {
      await endSession(tx, token);
      return { kind: "revoked" };
    }
    if (token.expiresAt <= tx.now) return { kind: "invalid" };
    const user = await findVaultUser(tx, token.userId);
    if (user === undefined || !user.isActive) return { kind: "no_user" };
    const isMine = await rotateRefreshToken(tx, token, {
      tokenHash: hashRefreshToken(successor),
      expiresAt: tx.now + REFRESH_SECONDS * 1000,
      ...toTrace(client),
    });
    if (!isMine) {
      // Another process rotated it between the query and the update.
      await endSession(tx, token);
      return { kind: "revoked" };
    }
    return {
      kind: "exchanged",
      tokens: {
        user,
        sessionId: token.sessionId,
        refreshToken: successor,
        refreshSeconds: REFRESH_SECONDS,
      },
    };
  }
}

/**
 * Revokes the sessions of a user except that of the client's refresh token, and returns how many were still valid. A
 * token of another user or an invalid one spares no session.
 */
export async function endOtherSessions(
  tx: Transaction,
  userId: AccountId,
  client: Client,
): Promise<number> {
  const token =
    client.refreshToken === undefined
      ? undefined
      : await findRefreshToken(tx, hashRefreshToken(client.refreshToken));
  const isMine =
    token !== undefined && token.userId === userId && !token.isRevoked && token.expiresAt > tx.now;
  return isMine ? endSessions(tx, userId, token.sessionId) : endSessions(tx, userId);
}
