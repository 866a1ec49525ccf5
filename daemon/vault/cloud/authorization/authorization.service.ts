import { hash } from "node:crypto";
import { z } from "zod";
import {
  acceptOAuthState,
  bindOAuthState,
  deleteOAuthState,
  insertOAuthState,
  isOAuthStateWaiting,
  takeOAuthState,
  type OAuthState,
} from "../../../../storage/tables/vault/oauth-states.ts";
import { findVaultUser, type VaultUser } from "../../../../storage/tables/vault/users.ts";
import { SCOPE_MISSING } from "../../../../storage/cloud/oauth.ts";
import {
  PROBED_ACCOUNT,
  PROBED_ACCOUNT_NAME,
  type ProviderDeps,
} from "../../../../storage/cloud/provider.ts";
import type { Database } from "../../../../storage/engine/database.ts";
import { SealError, type Keyring, type SealAgain } from "../../../../storage/keys/keyring.ts";
import { capabilitiesSchema } from "../../../../storage/tables/vault/connections.ts";
import { AppError } from "../../../errors.ts";
import type { Log } from "../../../utilities/logging.ts";
import type { VaultCaller } from "../../caller.ts";
import type { OauthOutcome } from "./oauth-pages.tsx";
import type { Adapters } from "../connections/adapters.ts";
import { isNameTaken, NAME_TAKEN } from "../connections/connection-names.ts";
import type { CloudConnections, SignInTrial } from "../connections/connections.service.ts";
import { assertAvailable } from "../connections/provider-settings.ts";
import type { ConnectionId } from "../../../../storage/tables/vault/ids.ts";

export type CloudAuthorization = ReturnType<typeof createAuthorization>;

/** The redirect of a browser from the start page, with the cookie that it must return. */
export interface BoundSignIn {
  readonly vendorUrl: string;
  readonly cookie: {
    readonly name: string;
    readonly value: string;
    readonly path: string;
    readonly isSecure: boolean;
    readonly maxAgeSeconds: number;
  };
}

/** Returns the value of a cookie by its name. */
export type ReadCookie = (name: string) => string | undefined;

export interface ReturnedSignIn {
  readonly state: string;
  readonly code?: string | undefined;
  readonly error?: string | undefined;
  readonly cookie: ReadCookie;
}

export interface ConfirmedSignIn {
  readonly state: string;
  readonly token: string;
  /** The tried sign-in, sealed. */
  readonly grant: string;
  readonly cookie: ReadCookie;
  /** The client's address, for the audit record. */
  readonly address: string;
}

export interface AuthorizationDeps {
  readonly db: Database;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly randomBytes: (size: number) => Uint8Array;
  readonly keys: Pick<Keyring, "seal" | "openText">;
  readonly providerDeps: ProviderDeps;
  readonly log: Log;
  /** Base of the links in responses, without a trailing slash. */
  readonly publicUrl: () => string;
}

const LIFE_MS = 10 * 60 * 1000;
const VERIFIER_PURPOSE = "cloud-authorization";
const GRANT_PURPOSE = "cloud-authorization-grant";

/**
 * Sign-ins at vendors' own pages: OAuth 2, code flow with PKCE, bound to one browser. An account gets the address of
 * croft's start page; the browser that opens it gets a cookie and is redirected to the vendor; the same browser returns,
 * shows which vendor account is about to be connected to which croft account, and connects with a one-time token.
 */
export function createAuthorization(
  deps: AuthorizationDeps,
  adapters: Pick<Adapters, "findType" | "own">,
  connections: Pick<CloudConnections, "trySignIn" | "storeSignIn">,
) {
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

  const toCallbackUrl = (provider: string) =>
    `${deps.publicUrl()}/api/cloud/authorize/${provider}/callback`;

  /** Returns the account that began the sign-in, if it may still connect storages. */
  async function findOwner(state: OAuthState): Promise<VaultUser | undefined> {
    const user = await findVaultUser(db, state.userId);
    return user?.isActive === true && user.role === "user" ? user : undefined;
  }

  const openVerifier = ({ codeVerifier, stateHash }: OAuthState) =>
    keys.openText(VERIFIER_PURPOSE, codeVerifier, rowOf(stateHash));

  /** Exchanges the code and tries the resulting credentials. */
  async function tryCode(state: OAuthState, code: string) {
    const { type, oauth } = findOAuth(state.provider);
    const exchanged = await oauth.exchange(
      {
        server,
        redirectUrl: toCallbackUrl(state.provider),
        code,
        codeVerifier: openVerifier(state),
      },
      providerDeps,
    );
    if (exchanged.kind !== "ok") return exchanged;
    return connections.trySignIn(state.userId, type, state.connectionId, exchanged.credentials);
  }

  return {
    /**
     * Starts a sign-in and returns the address of its start page. Throws `invalid_argument`, storing nothing, when the server
     * lacks a setting; `unprocessable` for a provider that is connected by settings; `conflict` for the name of another
     * connection.
     */
    async start(
      caller: VaultCaller,
      provider: string,
      input: {
        readonly display_name?: string | undefined;
        readonly connection_id?: ConnectionId | undefined;
      },
    ): Promise<{ readonly url: string; readonly expiresAt: number }> {
      const { type } = findOAuth(provider);
      assertAvailable(type, server);
      if (input.connection_id !== undefined) {
        const connection = await adapters.own(caller.userId, input.connection_id);
        if (connection.provider !== provider)
          throw new AppError("unprocessable", "This connection is of another kind of storage.");
      }
      const { display_name: name } = input;
      if (input.connection_id === undefined && name !== undefined)
        if (await isNameTaken(db, caller.userId, name)) throw new AppError("conflict", NAME_TAKEN);
      const ticket = toText(deps.randomBytes(32));
      const stateHash = hash("sha256", toState(ticket));
      const expiresAt = clock() + LIFE_MS;
      await db.transaction((tx) =>
        insertOAuthState(tx, {
          stateHash,
          userId: caller.userId,
          provider,
          connectionId: input.connection_id,
          displayName: input.display_name,
          codeVerifier: keys.seal(VERIFIER_PURPOSE, toText(deps.randomBytes(32)), rowOf(stateHash)),
          expiresAt,
        }),
      );
      return { url: `${deps.publicUrl()}/oauth/start/${ticket}`, expiresAt };
    },

    /** Binds a sign-in to the browser that opened its start page. Undefined when the ticket is unknown, used or expired. */
    async bind(ticket: string): Promise<BoundSignIn | undefined> {
      const state = toState(ticket);
      const stateHash = hash("sha256", state);
      const value = toText(deps.randomBytes(32));
      const bound = await db.transaction((tx) =>
        bindOAuthState(tx, stateHash, hash("sha256", value)),
      );
      if (bound === undefined) return undefined;
      const redirectUrl = toCallbackUrl(bound.provider);
      const { pathname: path, protocol } = new URL(redirectUrl);
      const vendorUrl = findOAuth(bound.provider).oauth.authorizationUrl({
        server,
        redirectUrl,
        state,
        codeChallenge: hash("sha256", openVerifier(bound), "base64url"),
      });
      const maxAgeSeconds = Math.ceil((bound.expiresAt - clock()) / 1000);
      const isSecure = protocol === "https:";
      return {
        vendorUrl,
        cookie: { name: toCookieName(stateHash), value, path, isSecure, maxAgeSeconds },
      };
    },

    /**
     * Handles the browser's return from the vendor: exchanges the code and tries the credentials, without storing them.
     * A state is accepted once, within ten minutes, for its own provider and from the browser that it is bound to.
     * `error` is the vendor's error code; it is never shown.
     */
    async accept(
      provider: string,
      { state, code, error, cookie }: ReturnedSignIn,
    ): Promise<OauthOutcome> {
      const { title: providerName } = findOAuth(provider).type;
      const stateHash = hash("sha256", state);
      const token = toText(deps.randomBytes(32));
      const accepted = await db.transaction(async (tx) => {
        if (!(await isOAuthStateWaiting(tx, stateHash, provider))) return "expired";
        const browserHash = hash("sha256", cookie(toCookieName(stateHash)) ?? "");
        const confirmHash = hash("sha256", token);
        const returned = { stateHash, provider, browserHash, confirmHash };
        return (await acceptOAuthState(tx, returned)) ?? "other_browser";
      });
      if (typeof accepted === "string") return { kind: accepted, providerName };
      const outcome = await handleReturn(accepted);
      if (outcome.kind !== "confirm") await deleteOAuthState(db, stateHash);
      return outcome;

      async function handleReturn(begun: OAuthState): Promise<OauthOutcome> {
        if (error === "access_denied") return { kind: "declined", providerName };
        if (error !== undefined || code === undefined) {
          const word = /^[a-z_]{1,40}$/.test(error ?? "") ? error : "unnamed";
          deps.log.warn({ provider, error: word }, "vendor refused a sign-in");
          return { kind: "failed", providerName };
        }
        const user = await findOwner(begun);
        if (user === undefined) return { kind: "expired", providerName };
        const tried = await tryCode(begun, code);
        if (tried.kind === "other_account") return { kind: "other_account", providerName };
        if (tried.kind !== "ok") {
          const { kind: outcome, note } = tried;
          deps.log.warn({ provider, outcome, note }, "sign-in at a vendor failed");
          return { kind: toPageKind(tried), providerName };
        }
        return {
          kind: "confirm",
          providerName,
          vendorAccount: String(
            tried.probeResult[PROBED_ACCOUNT_NAME] ?? tried.probeResult[PROBED_ACCOUNT] ?? "",
          ),
          displayName: begun.displayName ?? providerName,
          handle: user.handle,
          isReconnect: begun.connectionId !== undefined,
          state,
          token,
          grant: keys.seal(GRANT_PURPOSE, JSON.stringify(tried), rowOf(stateHash)),
        };
      }
    },

    /** Creates the connection that `accept` tried, once, for the browser that has the token. */
    async confirm(
      provider: string,
      { state, token, grant, cookie, address }: ConfirmedSignIn,
    ): Promise<OauthOutcome> {
      const { type } = findOAuth(provider);
      const providerName = type.title;
      const stateHash = hash("sha256", state);
      const tried = openGrant(keys, grant, stateHash);
      if (tried === undefined) return { kind: "expired", providerName };
      const browserHash = hash("sha256", cookie(toCookieName(stateHash)) ?? "");
      const confirmHash = hash("sha256", token);
      const begun = await db.transaction((tx) =>
        takeOAuthState(tx, { stateHash, provider, browserHash, confirmHash }),
      );
      const user = begun && (await findOwner(begun));
      if (begun === undefined || user === undefined) return { kind: "expired", providerName };
      const { displayName } = await connections.storeSignIn(
        { userId: begun.userId, address },
        type,
        begun.displayName ?? providerName,
        tried,
      );
      return { kind: "connected", providerName, displayName, handle: user.handle };
    },
  };
}

/** The sealed content of the confirmation page: the credentials stay out of the database until its button is pressed. */
const grantSchema: z.ZodType<SignInTrial> = z.object({
  kind: z.literal("ok"),
  connectionId: z.string().brand<"ConnectionId">(),
  isNew: z.boolean(),
  probeResult: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  capabilities: capabilitiesSchema,
  quota: z.object({
    quotaUsedBytes: z.number().exactOptional(),
    quotaTotalBytes: z.number().exactOptional(),
  }),
  credentials: z.record(z.string(), z.string()),
});

/** The tried sign-in of a confirmation page; undefined for one that this server did not seal for this state. */
function openGrant(
  keys: Pick<Keyring, "openText">,
  grant: string,
  stateHash: string,
): SignInTrial | undefined {
  try {
    const text = keys.openText(GRANT_PURPOSE, grant, rowOf(stateHash));
    // Also undefined for a page of another version of croft.
    return grantSchema.safeParse(JSON.parse(text)).data;
  } catch (error) {
    if (error instanceof SealError) return undefined;
    throw error;
  }
}

/** `declined` if the person can repair the failure by granting all permissions. */
function toPageKind({ kind, note }: { readonly kind: string; readonly note?: string | undefined }) {
  const isDeclined = kind === "reauth" || (kind === "forbidden" && note === SCOPE_MISSING);
  return isDeclined ? "declined" : "failed";
}

/** The state of a ticket: the vendor sees the state only, and cannot open the start page with it. */
function toState(ticket: string): string {
  return hash("sha256", `oauth state\n${ticket}`, "base64url");
}

/** One cookie for each sign-in, so that two can be in progress in one browser. */
function toCookieName(stateHash: string): string {
  return `croft_oauth_${stateHash.slice(0, 16)}`;
}

function toText(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url");
}

/** The sealed verifier of a sign-in in progress, sealed with another key. */
export function sealVerifierAgain(
  sealed: string,
  stateHash: number | string,
  reseal: SealAgain,
): string {
  return reseal(VERIFIER_PURPOSE, sealed, rowOf(stateHash));
}

function rowOf(stateHash: number | string): string {
  return `vault_oauth_states/${stateHash}`;
}
