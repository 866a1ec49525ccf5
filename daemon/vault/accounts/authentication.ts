import type { Queries } from "../../../storage/engine/database.ts";
import {
  findVaultUser,
  findVaultUserInSession,
  type VaultUser,
} from "../../../storage/tables/vault/users.ts";
import type { VaultCaller } from "../caller.ts";
import { type AccessTokens, createFingerprints } from "./access-tokens.ts";
import type { Client } from "./client.ts";
import { hasMachineTokenPrefix } from "./machine-token-secret.ts";
import type { MachineTokens } from "./machine-tokens.service.ts";
import { badAccessToken } from "./refusals.ts";

export type Authentication = ReturnType<typeof createAuthentication>;

/** A caller with the account as it was read when the token was verified. */
export interface IdentifiedCaller extends VaultCaller {
  readonly account: VaultUser;
}

/** Returns the account that `identify` read for a caller; undefined for any other caller value. */
export function accountOf(caller: VaultCaller): VaultUser | undefined {
  return (caller as Partial<IdentifiedCaller>).account;
}

/** Authenticates requests. */
export function createAuthentication({
  db,
  accessTokens,
  machineTokens,
}: {
  readonly db: Queries;
  readonly accessTokens: AccessTokens;
  readonly machineTokens: Pick<MachineTokens, "find">;
}) {
  const toFingerprint = createFingerprints();
  return {
    /**
     * Returns the bearer of an access token or a machine token. Throws `unauthenticated`, always with the same text,
     * when the account is not active or the token is unknown or expired. An access token is also refused when the
     * client's headers differ from those at its issue, when `token_version` of the account has increased since, or when
     * its session has ended. Reads the rows each time, so a token or session that one process revokes is invalid in all
     * processes from the next request.
     */
    async identify(token: string, client: Client): Promise<IdentifiedCaller> {
      if (hasMachineTokenPrefix(token)) return identifyMachine(token, client);
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

    /**
     * Returns whether the session or machine token that identified a caller has not ended and the account is active, with the
     * same role. The expiry of an access token does not matter.
     */
    async isStillSignedIn(caller: VaultCaller, token: string): Promise<boolean> {
      const user = await findStillSignedIn(caller, token);
      if (user?.isActive !== true || user.role !== caller.role) return false;
      return (
        caller.sessionId === undefined || accountOf(caller)?.tokenVersion === user.tokenVersion
      );
    },
  };

  async function findStillSignedIn(
    { userId, sessionId }: VaultCaller,
    token: string,
  ): Promise<VaultUser | undefined> {
    if (sessionId !== undefined) {
      const found = await findVaultUserInSession(db, userId, sessionId);
      return found?.isSessionLive === true ? found.user : undefined;
    }
    return (await machineTokens.find(token)) && findVaultUser(db, userId);
  }

  async function identifyMachine(secret: string, client: Client): Promise<IdentifiedCaller> {
    const token = await machineTokens.find(secret);
    const user = token && (await findVaultUser(db, token.userId));
    if (token === undefined || user?.isActive !== true) throw badAccessToken();
    return {
      userId: user.id,
      handle: user.handle,
      email: user.email,
      role: user.role,
      sessionId: undefined,
      tokenScope: token.scope,
      address: client.address,
      account: user,
    };
  }
}
