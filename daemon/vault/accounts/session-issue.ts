import { hash } from "node:crypto";
import type { Transaction } from "../../../storage/engine/database.ts";
import { insertSession } from "../../../storage/tables/vault/sessions.ts";
import type { VaultUser } from "../../../storage/tables/vault/users.ts";
import { type AccessTokens, fingerprintOf } from "./access-tokens.ts";
import type { Client } from "./client.ts";

/** The tokens of a successful sign-in or refresh. */
export interface IssuedTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly refreshSeconds: number;
  readonly user: VaultUser;
}

/** A refresh token in a committed session, and the account as of that transaction. */
export interface PendingTokens {
  readonly sessionId: string;
  readonly refreshToken: string;
  readonly refreshSeconds: number;
  readonly user: VaultUser;
}

export type SessionIssuer = ReturnType<typeof createSessionIssuer>;

/** Creates sessions and the tokens of their clients. */
export function createSessionIssuer(deps: {
  readonly accessTokens: AccessTokens;
  readonly randomBytes: (length: number) => Uint8Array;
  readonly newId: () => string;
}) {
  const newRefreshToken = () => Buffer.from(deps.randomBytes(32)).toString("base64url");
  return {
    /** Returns a new refresh token of 32 random bytes. */
    newRefreshToken,

    /** Inserts a session in the transaction of the sign-in. */
    async begin(
      tx: Transaction,
      {
        user,
        client,
        refreshSeconds,
      }: {
        readonly user: VaultUser;
        readonly client: Client;
        readonly refreshSeconds: number;
      },
    ): Promise<PendingTokens> {
      const sessionId = deps.newId();
      const refreshToken = newRefreshToken();
      const session = {
        id: sessionId,
        userId: user.id,
        expiresAt: tx.now + refreshSeconds * 1000,
        ...toTrace(client),
      };
      await insertSession(tx, session, hashRefreshToken(refreshToken));
      return { sessionId, refreshToken, refreshSeconds, user };
    },

    /** Adds the access token. Call it after the commit, because a token with an outdated version is invalid. */
    async complete(pending: PendingTokens, client: Client): Promise<IssuedTokens> {
      const { user, sessionId } = pending;
      const accessToken = await deps.accessTokens.issue({
        userId: user.id,
        role: user.role,
        sessionId,
        tokenVersion: user.tokenVersion,
        fingerprint: fingerprintOf(client),
      });
      return { accessToken, ...pending };
    },
  };
}

/** Returns the stored hash of a refresh token. A plain hash is enough for 256 random bits. */
export function hashRefreshToken(token: string): string {
  return hash("sha256", token, "hex");
}

const USER_AGENT_LENGTH_MAX = 300;

/** Returns the recorded facts about the last client of a session. */
export function toTrace(client: Client): {
  readonly userAgent: string;
  readonly ipAddress: string;
} {
  return { userAgent: client.userAgent.slice(0, USER_AGENT_LENGTH_MAX), ipAddress: client.address };
}
