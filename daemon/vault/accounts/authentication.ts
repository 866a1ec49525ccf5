import type { Queries } from "../../../storage/engine/database.ts";
import { findVaultUserInSession, type VaultUser } from "../../../storage/tables/vault/users.ts";
import type { VaultCaller } from "../caller.ts";
import { type AccessTokens, createFingerprints } from "./access-tokens.ts";
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
  identify(token: string, client: Client): Promise<IdentifiedCaller>;
}

/** A caller with the account as it was read when the token was looked at. */
export interface IdentifiedCaller extends VaultCaller {
  readonly account: VaultUser;
}

/** The account that came with a caller; undefined for a caller that was made elsewhere. */
export function accountOf(caller: VaultCaller): VaultUser | undefined {
  return (caller as Partial<IdentifiedCaller>).account;
}

export function createAuthentication({
  db,
  accessTokens,
}: {
  readonly db: Queries;
  readonly accessTokens: AccessTokens;
}): Authentication {
  const toFingerprint = createFingerprints();
  return {
    async identify(token, client) {
      const reading = accessTokens.read(token);
      const claims = reading instanceof Promise ? await reading : reading;
      if (claims === undefined || claims.fingerprint !== toFingerprint(client))
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
      return {
        userId,
        handle,
        email,
        role,
        sessionId: claims.sessionId,
        address: client.address,
        account: found.user,
      };
    },
  };
}
