import type { Queries, Transaction } from "../../engine/database.ts";
import type { AccountId, ConnectionId } from "./ids.ts";

/** A sign-in at a vendor's page that is in progress. Times are epoch milliseconds. */
export interface OAuthState {
  /** SHA-256 of the state. */
  readonly stateHash: string;
  readonly userId: AccountId;
  readonly provider: string;
  /** The connection whose credentials will be replaced; undefined for a new one. */
  readonly connectionId: ConnectionId | undefined;
  readonly displayName: string | undefined;
  /** Sealed. */
  readonly codeVerifier: string;
  readonly expiresAt: number;
}

/** Stores a sign-in, and deletes those that have expired. */
export async function insertOAuthState(tx: Transaction, state: OAuthState): Promise<void> {
  await tx.run("DELETE FROM vault_oauth_states WHERE expires_at <= ?", tx.now);
  await tx.run(
    `INSERT INTO vault_oauth_states
       (state_hash, user_id, provider, connection_id, display_name, code_verifier, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    state.stateHash,
    state.userId,
    state.provider,
    state.connectionId ?? null,
    state.displayName ?? null,
    state.codeVerifier,
    state.expiresAt,
  );
}

/**
 * Binds a sign-in to the browser that opens its start page, once: of two requests, one gets the sign-in. Undefined when the
 * sign-in is unknown, has expired or is bound already.
 */
export async function bindOAuthState(
  tx: Transaction,
  stateHash: string,
  browserHash: string,
): Promise<OAuthState | undefined> {
  return toState(
    await tx.get<OAuthStateRow>(
      `UPDATE vault_oauth_states SET browser_hash = ?
       WHERE state_hash = ? AND browser_hash IS NULL AND expires_at > ? RETURNING ${COLUMNS}`,
      browserHash,
      stateHash,
      tx.now,
    ),
  );
}

/** Returns whether an unexpired sign-in waits for its browser to return from the vendor. */
export async function isOAuthStateWaiting(
  tx: Transaction,
  stateHash: string,
  provider: string,
): Promise<boolean> {
  const row = await tx.get(
    `SELECT 1 AS waits FROM vault_oauth_states
     WHERE state_hash = ? AND provider = ? AND confirm_hash IS NULL AND expires_at > ?`,
    stateHash,
    provider,
    tx.now,
  );
  return row !== undefined;
}

/**
 * Accepts the browser that returns from the vendor, once: of two requests with one state, one gets the sign-in.
 * Undefined when it is unknown, has expired, is bound to another browser or was accepted before.
 */
export async function acceptOAuthState(
  tx: Transaction,
  returned: {
    readonly stateHash: string;
    readonly provider: string;
    readonly browserHash: string;
    /** SHA-256 of the token that connects. */
    readonly confirmHash: string;
  },
): Promise<OAuthState | undefined> {
  return toState(
    await tx.get<OAuthStateRow>(
      `UPDATE vault_oauth_states SET confirm_hash = ?
       WHERE state_hash = ? AND provider = ? AND browser_hash = ? AND confirm_hash IS NULL AND expires_at > ?
       RETURNING ${COLUMNS}`,
      returned.confirmHash,
      returned.stateHash,
      returned.provider,
      returned.browserHash,
      tx.now,
    ),
  );
}

/**
 * Removes a sign-in with its token, once. Returns undefined when one of the hashes does not match, or the sign-in has
 * expired.
 */
export async function takeOAuthState(
  tx: Transaction,
  confirmed: {
    readonly stateHash: string;
    readonly provider: string;
    readonly browserHash: string;
    readonly confirmHash: string;
  },
): Promise<OAuthState | undefined> {
  const state = toState(
    await tx.get<OAuthStateRow>(
      `DELETE FROM vault_oauth_states
       WHERE state_hash = ? AND provider = ? AND browser_hash = ? AND confirm_hash = ? RETURNING ${COLUMNS}`,
      confirmed.stateHash,
      confirmed.provider,
      confirmed.browserHash,
      confirmed.confirmHash,
    ),
  );
  return state !== undefined && state.expiresAt > tx.now ? state : undefined;
}

/** Deletes a sign-in that has failed. */
export async function deleteOAuthState(db: Queries, stateHash: string): Promise<void> {
  await db.run("DELETE FROM vault_oauth_states WHERE state_hash = ?", stateHash);
}

interface OAuthStateRow {
  state_hash: string;
  user_id: AccountId;
  provider: string;
  connection_id: ConnectionId | null;
  display_name: string | null;
  code_verifier: string;
  expires_at: number;
}

const COLUMNS =
  "state_hash, user_id, provider, connection_id, display_name, code_verifier, expires_at";

function toState(row: OAuthStateRow | undefined): OAuthState | undefined {
  return (
    row && {
      stateHash: row.state_hash,
      userId: row.user_id,
      provider: row.provider,
      connectionId: row.connection_id ?? undefined,
      displayName: row.display_name ?? undefined,
      codeVerifier: row.code_verifier,
      expiresAt: row.expires_at,
    }
  );
}
