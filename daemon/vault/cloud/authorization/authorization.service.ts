import { hash } from "node:crypto";
import { insertOAuthState, takeOAuthState } from "../../../../storage/tables/vault/oauth-states.ts";
import { findVaultUser } from "../../../../storage/tables/vault/users.ts";
import { SCOPE_MISSING } from "../../../../storage/cloud/oauth.ts";
import type { SealAgain } from "../../../../storage/keys/keyring.ts";
import { AppError } from "../../../errors.ts";
import type { VaultCaller } from "../../caller.ts";
import type { OauthReturn } from "../../pages/oauth-return-page.ts";
import type { Adapters } from "../connections/adapters.ts";
import type { CloudDeps } from "../cloud.ts";
import type { CloudConnections } from "../connections/connections.service.ts";
import { assertAvailable } from "../connections/provider-settings.ts";

/** Signing in at providers' own pages: OAuth 2, code flow with PKCE. */
export interface CloudAuthorization {
  /**
   * The address to open in a browser. Refuses with `invalid_argument`, keeping nothing, when the server lacks a setting;
   * with `unprocessable` a kind of storage that is not connected this way.
   */
  start(
    caller: VaultCaller,
    provider: string,
    input: {
      readonly display_name?: string | undefined;
      readonly connection_id?: string | undefined;
    },
  ): Promise<{ readonly url: string; readonly expiresAt: number }>;
  /**
   * What the browser brings back. The state is good once, for ten minutes, at the provider that it was made for, and
   * stands for the account that began. `error` is the provider's word; it is not repeated anywhere.
   */
  finish(
    provider: string,
    answer: {
      readonly state: string;
      readonly code?: string | undefined;
      readonly error?: string | undefined;
    },
  ): Promise<OauthReturn>;
}

const STATE_MS = 10 * 60 * 1000;
const SEAL_PURPOSE = "cloud-authorization";

export function createAuthorization(
  deps: CloudDeps,
  adapters: Adapters,
  connections: CloudConnections,
): CloudAuthorization {
  const { db, clock, keys, providerDeps } = deps;
  const server = providerDeps.server;

  function findOAuth(provider: string) {
    const type = adapters.findType(provider);
    if (type === undefined)
      throw new AppError("unprocessable", `This server has no adapter for ${provider}.`);
    if (type.oauth === undefined)
      throw new AppError(
        "unprocessable",
        `${type.title} is connected with its settings: POST /api/cloud/connections`,
      );
    return { type, oauth: type.oauth };
  }

  function redirectUrl(provider: string): string {
    return `${deps.publicUrl()}/api/cloud/authorize/${provider}/callback`;
  }

  return {
    async start(caller, provider, input) {
      const { type, oauth } = findOAuth(provider);
      assertAvailable(type, server);
      if (input.connection_id !== undefined) {
        const connection = await adapters.own(caller.userId, input.connection_id);
        if (connection.provider !== provider)
          throw new AppError("unprocessable", "This connection is of another kind of storage.");
      }
      const state = randomText(deps.randomBytes);
      const verifier = randomText(deps.randomBytes);
      const stateHash = hash("sha256", state);
      const expiresAt = clock() + STATE_MS;
      await db.transaction((tx) =>
        insertOAuthState(tx, {
          stateHash,
          userId: caller.userId,
          provider,
          connectionId: input.connection_id,
          displayName: input.display_name,
          codeVerifier: keys.seal(SEAL_PURPOSE, verifier, rowOf(stateHash)),
          expiresAt,
        }),
      );
      const url = oauth.authorizationUrl({
        server,
        redirectUrl: redirectUrl(provider),
        state,
        codeChallenge: hash("sha256", verifier, "base64url"),
      });
      return { url, expiresAt };
    },

    async finish(provider, { state, code, error }) {
      const { type, oauth } = findOAuth(provider);
      const providerName = type.title;
      const stateHash = hash("sha256", state);
      const begun = await db.transaction((tx) => takeOAuthState(tx, stateHash, provider));
      if (begun === undefined) return { kind: "expired", providerName };
      if (error === "access_denied") return { kind: "declined", providerName };
      if (error !== undefined || code === undefined) {
        const word = /^[a-z_]{1,40}$/.test(error ?? "") ? error : "unnamed";
        deps.log.warn({ provider, error: word }, "a sign-in was refused by the provider");
        return { kind: "failed", providerName };
      }
      const user = await findVaultUser(db, begun.userId);
      if (user === undefined || !user.isActive || user.role !== "user")
        return { kind: "expired", providerName };
      const codeVerifier = keys.openText(SEAL_PURPOSE, begun.codeVerifier, rowOf(stateHash));
      const exchanged = await oauth.exchange(
        { server, redirectUrl: redirectUrl(provider), code, codeVerifier },
        providerDeps,
      );
      const failed = (outcome: { readonly kind: string; readonly note?: string }) =>
        deps.log.warn({ provider, outcome: outcome.kind, note: outcome.note }, "a sign-in failed");
      if (exchanged.kind !== "ok") {
        failed(exchanged);
        return { kind: kindOf(exchanged), providerName };
      }
      const result = await connections.connectSignedIn(
        begun.userId,
        type,
        begun.displayName ?? type.title,
        begun.connectionId,
        exchanged.credentials,
      );
      if (result.kind === "other_account") return { kind: "other_account", providerName };
      if (result.kind !== "connected") {
        failed(result);
        return { kind: kindOf(result), providerName };
      }
      return {
        kind: "connected",
        providerName,
        displayName: result.connection.displayName,
        handle: user.handle,
      };
    },
  };
}

/** Whether the person can do something about a failure: agree, and to everything. */
function kindOf({ kind, note }: { readonly kind: string; readonly note?: string }) {
  const isDeclined = kind === "reauth" || (kind === "forbidden" && note === SCOPE_MISSING);
  return isDeclined ? "declined" : "failed";
}

/** 256 random bits as text that may stand in an address. */
function randomText(randomBytes: (size: number) => Uint8Array): string {
  return Buffer.from(randomBytes(32)).toString("base64url");
}

/** The sealed verifier of a sign-in under way, sealed again. */
export function sealVerifierAgain(
  sealed: string,
  stateHash: number | string,
  again: SealAgain,
): string {
  return again(SEAL_PURPOSE, sealed, rowOf(stateHash));
}

function rowOf(stateHash: number | string): string {
  return `vault_oauth_states/${stateHash}`;
}
