import type { Queries, Transaction } from "../../engine/database.ts";
import type { AccountId, ConnectionId } from "./ids.ts";
import { integer, optional, text, textId, unread } from "../columns.ts";
import { defineTable, type RecordOf } from "../table.ts";
import { sql } from "../condition.ts";

const oauthStates = defineTable("vault_oauth_states", {
  /** SHA-256 of the state. */
  stateHash: text(),
  userId: textId<AccountId>(),
  provider: text(),
  /** The connection whose credentials will be replaced; undefined for a new one. */
  connectionId: optional(textId<ConnectionId>()),
  displayName: optional(text()),
  /** Sealed. */
  codeVerifier: text(),
  expiresAt: integer(),
  browserHash: unread(optional(text())),
  confirmHash: unread(optional(text())),
});
/** A sign-in at a vendor's page that is in progress. Times are epoch milliseconds. */
export type OAuthState = RecordOf<typeof oauthStates>;

/** Stores a sign-in, and deletes those that have expired. */
export async function insertOAuthState(tx: Transaction, state: OAuthState): Promise<void> {
  await oauthStates.delete(tx, sql`expires_at <= ${tx.now}`);
  await oauthStates.insert(tx, state);
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
  return oauthStates.readOne(
    tx,
    `UPDATE vault_oauth_states SET browser_hash = ?
       WHERE state_hash = ? AND browser_hash IS NULL AND expires_at > ? RETURNING ${oauthStates.columns}`,
    browserHash,
    stateHash,
    tx.now,
  );
}

/** Returns whether an unexpired sign-in waits for its browser to return from the vendor. */
export async function isOAuthStateWaiting(
  tx: Transaction,
  stateHash: string,
  provider: string,
): Promise<boolean> {
  return oauthStates.exists(
    tx,
    sql`state_hash = ${stateHash} AND provider = ${provider} AND confirm_hash IS NULL
        AND expires_at > ${tx.now}`,
  );
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
  return oauthStates.readOne(
    tx,
    `UPDATE vault_oauth_states SET confirm_hash = ?
       WHERE state_hash = ? AND provider = ? AND browser_hash = ? AND confirm_hash IS NULL AND expires_at > ?
       RETURNING ${oauthStates.columns}`,
    returned.confirmHash,
    returned.stateHash,
    returned.provider,
    returned.browserHash,
    tx.now,
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
  const state = await oauthStates.readOne(
    tx,
    `DELETE FROM vault_oauth_states
       WHERE state_hash = ? AND provider = ? AND browser_hash = ? AND confirm_hash = ? RETURNING ${oauthStates.columns}`,
    confirmed.stateHash,
    confirmed.provider,
    confirmed.browserHash,
    confirmed.confirmHash,
  );
  return state !== undefined && state.expiresAt > tx.now ? state : undefined;
}

/** Deletes a sign-in that has failed. */
export async function deleteOAuthState(db: Queries, stateHash: string): Promise<void> {
  await oauthStates.delete(db, { stateHash });
}
