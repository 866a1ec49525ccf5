// daemon/forge/oauth: programs that sign in by OAuth 2 and OpenID Connect. Start here: consents, codes and tokens.
// authorization-requests.ts checks what a program asks for, pages/oauth-pages.tsx asks the user.
import { createHash, hash, timingSafeEqual } from "node:crypto";
import type { Database, Transaction } from "../../../storage/engine/database.ts";
import {
  deleteGrant,
  deleteSignIn,
  findApplicationByClientId,
  findGrant,
  findGrantById,
  findSignInByCode,
  findSignInById,
  findSignInByRefreshKey,
  insertSignIn,
  listGrants,
  type ListedGrant,
  type OauthApplication,
  type OauthGrant,
  type OauthSignIn,
  saveGrant,
  takeCode,
  takeRefreshToken,
} from "../../../storage/tables/forge/accounts/oauth.ts";
import {
  deleteOldTokens,
  findTokenById,
  insertToken,
} from "../../../storage/tables/forge/accounts/tokens.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import { toOauthGrantId } from "../../../storage/tables/forge/ids.ts";
import { AppError } from "../../errors.ts";
import { toScopeWords } from "../accounts/scopes.ts";
import { makeTokenSecret } from "../accounts/tokens.service.ts";
import type { ForgeCaller } from "../caller.ts";
import { notFound } from "../refusals.ts";
import {
  type AuthorizationRequest,
  type CheckedRequest,
  checkAuthorizationRequest,
  toRedirect,
} from "./authorization-requests.ts";
import { fromScopeText, isCovered, toScopeText } from "./oauth-scope.ts";
import { findRedirectUri } from "./redirect-uri.ts";

const MINUTE_MS = 60_000;
/** Lifetimes: of a code, as Gitea's of an access token, and of a refresh token. */
const CODE_MS = 5 * MINUTE_MS;
const ACCESS_MS = 60 * MINUTE_MS;
const REFRESH_MS = 30 * 24 * 60 * MINUTE_MS;
/** Sign-ins of one application and user at a time: a new one ends the oldest. */
const SIGN_INS_MAX = 50;
/** Access tokens of one sign-in: a refresh beyond ends the oldest, which the program has replaced long ago. */
const TOKENS_MAX = 10;
/** Grants that are listed. */
const GRANTS_MAX = 200;
const SECRET_BYTES = 32;

export interface OauthProviderDeps {
  readonly db: Database;
  readonly clock: () => number;
  readonly random: (bytes: number) => Uint8Array;
  readonly newUuid: () => string;
  /** The address of the server without a trailing slash, which names the provider. */
  readonly publicUrl: () => string;
}

/** A request of a program for a token: the members of its body, absent ones empty. */
export interface ExchangeRequest {
  readonly grantType: string;
  readonly code: string;
  readonly redirectUri: string;
  readonly codeVerifier: string;
  readonly refreshToken: string;
}

/** How a program says who it is. */
export interface ClientCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** Tokens for a program. */
export interface IssuedTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresInSeconds: number;
  readonly scope: string;
  readonly user: ForgeUser;
  readonly clientId: string;
  /** Of the request for the code; empty without one. */
  readonly nonce: string;
}

export type OauthProvider = ReturnType<typeof createOauthProvider>;

/** Consents, codes and tokens of applications. Only hashes of secrets are stored. */
export function createOauthProvider({ db, clock, random, newUuid, publicUrl }: OauthProviderDeps) {
  const makeSecret = () => Buffer.from(random(SECRET_BYTES)).toString("base64url");
  return {
    /** Checks a request for a code. */
    check: (parameters: URLSearchParams): Promise<CheckedRequest> =>
      checkAuthorizationRequest(db, parameters, publicUrl()),

    /**
     * Returns the address with a code for the application if the user need not be asked: the user has consented to no less, and the
     * client is one that another program cannot pretend to be, or that its owner trusts. Undefined if the user must be asked.
     */
    async approveAgain(request: AuthorizationRequest, user: ForgeUser): Promise<URL | undefined> {
      if (mustAsk(request.application)) return undefined;
      const code = await db.transaction(async (tx) => {
        if (mustAsk(await reopenApplication(tx, request))) return undefined;
        const grant = await findCoveringGrant(tx, request, user);
        return grant && recordSignIn(tx, request, grant);
      });
      return code === undefined ? undefined : toRedirect(request, publicUrl(), { code });
    },

    /** Records the consent of a user, and returns the address with a code for the application. */
    async approve(request: AuthorizationRequest, user: ForgeUser): Promise<URL> {
      const code = await db.transaction(async (tx) => {
        const { id: applicationId } = await reopenApplication(tx, request);
        const scope = toScopeText(request.scope);
        const grant =
          (await findCoveringGrant(tx, request, user)) ??
          (await saveGrant(tx, { userId: user.id, applicationId, scope }));
        return recordSignIn(tx, request, grant);
      });
      return toRedirect(request, publicUrl(), { code });
    },

    /** Returns the address that tells the application of a refusal by the user. */
    refuse: (request: AuthorizationRequest): URL =>
      toRedirect(request, publicUrl(), {
        error: "access_denied",
        error_description: "the user has refused",
      }),

    /**
     * Exchanges a code or a refresh token. Each works once: a second use ends the sign-in with all of its tokens, because one of
     * the two has stolen it. Refuses as RFC 6749, 5.2, says.
     */
    async exchange(request: ExchangeRequest, client: ClientCredentials): Promise<IssuedTokens> {
      const application = await authenticateClient(client);
      if (request.grantType === "authorization_code") return exchangeCode(request, application);
      if (request.grantType === "refresh_token") return refresh(request, application);
      throw refusal(
        "unsupported_grant_type",
        "Only refresh_token or authorization_code grant type is supported",
      );
    },

    /** Returns the words of OpenID Connect of a caller's token; undefined if no application has it. */
    async findIdentityScope({ tokenId }: ForgeCaller): Promise<readonly string[] | undefined> {
      const token = tokenId === undefined ? undefined : await findTokenById(db, tokenId);
      const signIn = token?.signInId && (await findSignInById(db, token.signInId));
      return signIn && fromScopeText(signIn.scope).identity;
    },

    /** Lists the grants of a user, the newest consent first. */
    listGrants: (user: ForgeUser): Promise<ListedGrant[]> => listGrants(db, user.id, GRANTS_MAX),

    /** Deletes a grant: all tokens of the application for this user end. Throws `not_found`. */
    async revokeGrant(user: ForgeUser, id: number): Promise<void> {
      if (!(await deleteGrant(db, user.id, toOauthGrantId(id)))) throw notFound();
    },
  };

  /** Returns the application of a request. Refuses with `conflict` when it was deleted, or has lost the address, meanwhile. */
  async function reopenApplication(
    tx: Transaction,
    { application: { clientId }, sentRedirectUri, redirectUri }: AuthorizationRequest,
  ): Promise<OauthApplication> {
    const application = await findApplicationByClientId(tx, clientId);
    if (application === undefined || findRedirectUri(application, sentRedirectUri) !== redirectUri)
      throw new AppError("conflict", "the application was changed meanwhile: begin again there");
    return application;
  }

  async function findCoveringGrant(
    tx: Transaction,
    { application, scope }: AuthorizationRequest,
    user: ForgeUser,
  ): Promise<OauthGrant | undefined> {
    const grant = await findGrant(tx, user.id, application.id);
    return grant && isCovered(scope, fromScopeText(grant.scope)) ? grant : undefined;
  }

  /** Begins a sign-in, and returns its code. */
  async function recordSignIn(
    tx: Transaction,
    { scope, sentRedirectUri, codeChallenge, nonce }: AuthorizationRequest,
    { id: grantId }: OauthGrant,
  ): Promise<string> {
    const code = `gta_${makeSecret()}`;
    const signIn = {
      grantId,
      scope: toScopeText(scope),
      codeHash: toHash(code),
      redirectUri: sentRedirectUri,
      codeChallenge,
      nonce,
      expiresAt: tx.now + CODE_MS,
    };
    await insertSignIn(tx, signIn, SIGN_INS_MAX);
    return code;
  }

  async function authenticateClient({
    clientId,
    clientSecret,
  }: ClientCredentials): Promise<OauthApplication> {
    const application = await findApplicationByClientId(db, clientId);
    if (application === undefined)
      throw refusal(
        "invalid_client",
        `cannot load client with client id: '${clientId.slice(0, 100)}'`,
      );
    const { isConfidential, secretHash } = application;
    if (isConfidential && clientSecret === "")
      throw refusal("invalid_client", "invalid empty client secret");
    // A public client may send what it does not keep.
    const isWrong =
      clientSecret !== "" && secretHash !== "" && !isEqual(toHash(clientSecret), secretHash);
    if (isConfidential && isWrong) throw refusal("invalid_client", "invalid client secret");
    return application;
  }

  async function exchangeCode(
    { code, redirectUri, codeVerifier }: ExchangeRequest,
    application: OauthApplication,
  ): Promise<IssuedTokens> {
    const outcome = await db.transaction(async (tx) => {
      const signIn = await findSignInByCode(tx, toHash(code));
      const owned = signIn && (await findOwner(tx, signIn, application));
      if (signIn === undefined || owned === undefined) return "unknown";
      // Before the code is taken: who does not know these has not got the code from the application.
      if (!fitsChallenge(signIn.codeChallenge, codeVerifier)) return "challenge";
      if (signIn.redirectUri !== redirectUri) return "redirect";
      if (signIn.usedAt === undefined && signIn.expiresAt <= clock()) return "unknown";
      const next = makeRefreshToken();
      if (!(await takeCode(tx, signIn.id, next.stored))) return revoke(tx, signIn);
      return issue(tx, { signIn, application, refreshToken: next.token, ...owned });
    });
    return toIssued(outcome);
  }

  async function refresh(
    { refreshToken }: ExchangeRequest,
    application: OauthApplication,
  ): Promise<IssuedTokens> {
    const [key = ""] = refreshToken.split(".");
    const outcome = await db.transaction(async (tx) => {
      const signIn = await findSignInByRefreshKey(tx, key);
      const owned = signIn && (await findOwner(tx, signIn, application));
      if (signIn === undefined || owned === undefined) return "unknown";
      if (!isEqual(toHash(refreshToken), signIn.refreshHash ?? "")) return revoke(tx, signIn);
      if (signIn.expiresAt <= clock()) return "unknown";
      const next = makeRefreshToken(key);
      if (!(await takeRefreshToken(tx, signIn, next.stored))) return revoke(tx, signIn);
      await deleteOldTokens(tx, signIn.id, TOKENS_MAX - 1);
      return issue(tx, { signIn, application, refreshToken: next.token, ...owned });
    });
    return toIssued(outcome);
  }

  async function findOwner(
    tx: Transaction,
    signIn: OauthSignIn,
    application: OauthApplication,
  ): Promise<{ readonly grant: OauthGrant; readonly user: ForgeUser } | undefined> {
    const grant = await findGrantById(tx, signIn.grantId);
    if (grant?.applicationId !== application.id) return undefined;
    const user = await findUserById(tx, grant.userId);
    return user?.isActive === true && !user.prohibitLogin ? { grant, user } : undefined;
  }

  async function revoke(tx: Transaction, { id }: OauthSignIn): Promise<"replayed"> {
    await deleteSignIn(tx, id);
    return "replayed";
  }

  function makeRefreshToken(key = Buffer.from(random(SECRET_BYTES / 2)).toString("base64url")) {
    const token = `${key}.${makeSecret()}`;
    const stored = { refreshKey: key, refreshHash: toHash(token), expiresAt: clock() + REFRESH_MS };
    return { token, stored };
  }

  async function issue(
    tx: Transaction,
    {
      signIn,
      application,
      refreshToken,
      user,
    }: {
      readonly signIn: OauthSignIn;
      readonly application: OauthApplication;
      readonly refreshToken: string;
      readonly user: ForgeUser;
    },
  ): Promise<IssuedTokens> {
    const { secret, ...stored } = makeTokenSecret(random);
    const now = clock();
    await insertToken(tx, {
      ...stored,
      userId: user.id,
      // Its own names are unique among the tokens of a user.
      name: `oauth2 ${application.clientId} ${newUuid()}`,
      scope: toScopeWords(fromScopeText(signIn.scope).token).join(","),
      createdAt: now,
      lastUsedAt: now,
      signInId: signIn.id,
      expiresAt: now + ACCESS_MS,
    });
    return {
      accessToken: secret,
      refreshToken,
      expiresInSeconds: ACCESS_MS / 1000,
      scope: signIn.scope,
      user,
      clientId: application.clientId,
      nonce: signIn.nonce,
    };
  }
}

const mustAsk = ({ isConfidential, skipsConsent }: OauthApplication): boolean =>
  !isConfidential && !skipsConsent;

type ExchangeOutcome = IssuedTokens | "unknown" | "challenge" | "redirect" | "replayed";

/** The transaction that ends a sign-in commits before the refusal. */
function toIssued(outcome: ExchangeOutcome): IssuedTokens {
  if (typeof outcome !== "string") return outcome;
  const texts = {
    unknown: "client is not authorized, or the code or token has expired",
    challenge: "failed PKCE code challenge",
    redirect: "the redirect_uri is not that of the request",
    replayed: "the code or token was used before: the sign-in has ended",
  } as const;
  throw refusal("invalid_grant", texts[outcome]);
}

function fitsChallenge(challenge: string, verifier: string): boolean {
  // RFC 9700, 2.1.1: a verifier without a challenge means that an attacker removed the challenge.
  if (challenge === "") return verifier === "";
  return isEqual(createHash("sha256").update(verifier).digest("base64url"), challenge);
}

const toHash = (secret: string): string => hash("sha256", secret, "hex");

function isEqual(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Returns a refusal in the words of RFC 6749. */
export function refusal(oauthCode: string, message: string): AppError {
  const code = oauthCode === "invalid_client" ? "invalid_credentials" : "invalid_argument";
  return new AppError(code, message, { oauthCode });
}
