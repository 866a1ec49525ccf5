import type { Database } from "../../../storage/engine/database.ts";
import { findRefreshToken, touchSession } from "../../../storage/tables/vault/sessions.ts";
import { findVaultUserInSession } from "../../../storage/tables/vault/users.ts";
import type { AccountId } from "../../../storage/tables/vault/ids.ts";
import { accountEndpoints } from "../../contract/vault/auth.ts";
import type { ServerRequest } from "../../http/handle.ts";
import type { CountCall } from "../../pages/operations.ts";
import { toSession } from "../../pages/sessions.ts";
import { toClient } from "../accounts/client.ts";
import type { IdentifiedCaller } from "../accounts/authentication.ts";
import type { Passwords } from "../accounts/passwords.service.ts";
import { hashRefreshToken, type IssuedTokens } from "../accounts/session-issue.ts";
import type {
  ChallengeAnswer,
  SignIn,
  SignInInput,
  SignInOutcome,
} from "../accounts/sign-in.service.ts";
import type { VaultPageSession } from "./vault-page.ts";

/** How often the time of the last use is recorded. */
const TOUCH_MS = 5 * 60_000;

export type PageSessions = ReturnType<typeof createPageSessions>;

/** The result of a sign-in on a page. */
export type PageSignIn =
  | { readonly kind: "signed_in"; readonly session: VaultPageSession }
  | Exclude<SignInOutcome, { kind: "signed_in" }>;

export interface PageSessionsDeps {
  readonly db: Database;
  readonly clock: () => number;
  readonly signIn: SignIn;
  readonly passwords: Pick<Passwords, "confirmReset">;
  /** Counts attempts together with those of the API's clients. */
  readonly count: CountCall;
}

/**
 * Sessions of browsers. They are sessions of the API, whose list, ends and revocations include them; the cookie is their
 * refresh token, which a page never exchanges: two tabs with one cookie cannot revoke it for each other.
 */
export function createPageSessions({ db, clock, signIn, passwords, count }: PageSessionsDeps) {
  return {
    find,

    /** Signs in with address and password. Throws as `SignIn.signIn`. */
    async signIn(request: ServerRequest, input: SignInInput): Promise<PageSignIn> {
      await count(accountEndpoints.login, request);
      return toPageSignIn(request, await signIn.signIn(input, toClient(request)));
    },

    /** Ends a sign-in with a code of the second factor. Throws as `SignIn.answerChallenge`. */
    async answerChallenge(request: ServerRequest, answer: ChallengeAnswer): Promise<PageSignIn> {
      await count(accountEndpoints.login, request);
      return toPageSignIn(request, await signIn.answerChallenge(answer, toClient(request)));
    },

    /** Signs in to the account of an identity. Throws as `SignIn.signInByIdentity`. */
    async signInByIdentity(request: ServerRequest, account: AccountId): Promise<PageSignIn> {
      return toPageSignIn(request, await signIn.signInByIdentity(account, toClient(request)));
    },

    /**
     * Sets the password with the token of a reset link, and signs in. Returns undefined for an account with a second
     * factor, which signs in with it. Throws as `Passwords.confirmReset`.
     */
    async resetPassword(
      request: ServerRequest,
      { token, password }: { readonly token: string; readonly password: string },
    ): Promise<VaultPageSession | undefined> {
      const client = toClient(request);
      const userId = await passwords.confirmReset(token, password, client);
      const tokens = await signIn.signInByLink(userId, client);
      return tokens && begin(request, tokens);
    },
  };

  /** Returns the session of a cookie; undefined when it has ended or expired, or the account may not sign in. */
  async function find(
    secret: string,
    { address }: ServerRequest,
  ): Promise<VaultPageSession | undefined> {
    const token = await findRefreshToken(db, hashRefreshToken(secret));
    if (token === undefined || token.isRevoked || token.expiresAt <= clock()) return undefined;
    const found = await findVaultUserInSession(db, token.userId, token.sessionId);
    if (found?.isSessionLive !== true || !found.user.isActive) return undefined;
    const { id: userId, handle, email, role } = found.user;
    const { sessionId } = token;
    const caller: IdentifiedCaller = {
      userId,
      handle,
      email,
      role,
      sessionId,
      address,
      account: found.user,
    };
    if (token.lastUsedAt < clock() - TOUCH_MS) await touchSession(db, sessionId, clock());
    return toSession(secret, caller);
  }

  async function toPageSignIn(request: ServerRequest, outcome: SignInOutcome): Promise<PageSignIn> {
    return outcome.kind === "signed_in"
      ? { kind: "signed_in", session: await begin(request, outcome.tokens) }
      : outcome;
  }

  async function begin(request: ServerRequest, tokens: IssuedTokens): Promise<VaultPageSession> {
    const session = await find(tokens.refreshToken, request);
    if (session === undefined) throw new Error("a session that has just begun has ended");
    return { ...session, lifetimeMs: tokens.refreshSeconds * 1000 };
  }
}
