import type { Queries } from "../../../storage/engine/database.ts";
import { findVaultUserInSession, type VaultUser } from "../../../storage/tables/vault/users.ts";
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
  /** The account of a caller as it was read when the caller was identified; undefined for a caller made elsewhere. */
  accountOf(caller: VaultCaller): VaultUser | undefined;
}

export function createAuthentication({
  db,
  accessTokens,
}: {
  readonly db: Queries;
  readonly accessTokens: AccessTokens;
}): Authentication {
  const accounts = new WeakMap<VaultCaller, VaultUser>();
  return {
    async identify(token, client) {
      const claims = await accessTokens.read(token);
      if (claims === undefined || claims.fingerprint !== fingerprintOf(client))
        throw badAccessToken();
      const found = await findVaultUserInSession(db, claims.userId, claims.sessionId);
      const isAccepted =
        found !== undefined &&
        found.isSessionLive &&
        found.user.isActive &&
        found.user.tokenVersion === claims.tokenVersion &&
        found.user.role === claims.role;
      if (!isAccepted) throw badAccessToken();
      const { id: userId, handle, email, role } = found.user;
      const caller = {
        userId,
        handle,
        email,
        role,
        sessionId: claims.sessionId,
        address: client.address,
      };
      accounts.set(caller, found.user);
      return caller;
    },

    accountOf: (caller) => accounts.get(caller),
  };
}
