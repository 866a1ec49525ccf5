import type { Queries } from "../../../storage/engine/database.ts";
import { findSessionState } from "../../../storage/tables/vault/sessions.ts";
import type { VaultCaller } from "../caller.ts";
import { type AccessTokens, fingerprintOf } from "./access-tokens.ts";
import type { Client } from "./client.ts";
import { badAccessToken } from "./refusals.ts";

/** Finds out who sends a request. */
export interface Authentication {
  /**
   * The bearer of an access token. Throws `unauthenticated`, always with the same text, when the token is not ours, has
   * run out, was issued to a client with other headers, or was issued before the account was changed in a way that
   * ends tokens (`token_version`), when its session has ended, or its account is not active.
   * The rows are read each time: what one process ends is over for all with the next request.
   */
  identify(token: string, client: Client): Promise<VaultCaller>;
}

export function createAuthentication({
  db,
  accessTokens,
}: {
  readonly db: Queries;
  readonly accessTokens: AccessTokens;
}): Authentication {
  return {
    async identify(token, client) {
      const claims = await accessTokens.read(token);
      if (claims === undefined || claims.fingerprint !== fingerprintOf(client))
        throw badAccessToken();
      const state = await findSessionState(db, claims.sessionId, claims.userId);
      const isAccepted =
        state !== undefined &&
        state.isActive &&
        state.isSessionLive &&
        state.tokenVersion === claims.tokenVersion &&
        state.role === claims.role;
      if (!isAccepted) throw badAccessToken();
      return {
        userId: claims.userId,
        handle: state.handle,
        email: state.email,
        role: state.role,
        sessionId: claims.sessionId,
        address: client.address,
      };
    },
  };
}
