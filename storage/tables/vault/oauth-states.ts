import type { Transaction } from "../../engine/database.ts";

/** A sign-in at a provider's page that waits for the browser to come back. Times are epoch milliseconds. */
export interface OAuthState {
  /** SHA-256 of the state. */
  readonly stateHash: string;
  readonly userId: string;
  readonly provider: string;
  /** The connection whose credentials will be replaced; undefined for a new one. */
  readonly connectionId: string | undefined;
  readonly displayName: string | undefined;
  /** Sealed. */
  readonly codeVerifier: string;
  readonly expiresAt: number;
}

/** Keeps a sign-in, and forgets those that have run out. */
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

/** Takes a sign-in out: of two that come with one state, one gets it. Undefined when it is unknown or has run out. */
export async function takeOAuthState(
  tx: Transaction,
  stateHash: string,
  provider: string,
): Promise<OAuthState | undefined> {
  const row = await tx.get<{
    state_hash: string;
    user_id: string;
    provider: string;
    connection_id: string | null;
    display_name: string | null;
    code_verifier: string;
    expires_at: number;
  }>(
    `DELETE FROM vault_oauth_states WHERE state_hash = ? AND provider = ?
     RETURNING state_hash, user_id, provider, connection_id, display_name, code_verifier, expires_at`,
    stateHash,
    provider,
  );
  if (row === undefined || row.expires_at <= tx.now) return undefined;
  return {
    stateHash: row.state_hash,
    userId: row.user_id,
    provider: row.provider,
    connectionId: row.connection_id ?? undefined,
    displayName: row.display_name ?? undefined,
    codeVerifier: row.code_verifier,
    expiresAt: row.expires_at,
  };
}
