import type { Database } from "../../../storage/engine/database.ts";
import { findUserById, type ForgeUser } from "../../../storage/tables/forge/accounts/users.ts";
import {
  deleteExpiredWebSessions,
  deleteOtherWebSessions,
  deleteWebSession,
  findWebSession,
  insertWebSession,
  listWebSessions,
  toPasswordMark,
  touchWebSession,
  type WebSession,
} from "../../../storage/tables/forge/accounts/web-sessions.ts";
import { AppError } from "../../errors.ts";
import type { ServerRequest } from "../../http/handle.ts";
import { createSecret, toSession, toSessionId } from "../../pages/sessions.ts";
import type { OwnPassword } from "../accounts/own-password.service.ts";
import type { SecondFactors } from "../accounts/second-factors.service.ts";
import type { SignInAttempts } from "../accounts/sign-in-attempts.ts";
import type { UserId } from "../../../storage/tables/forge/ids.ts";
import type { Authentication } from "../accounts/authentication.ts";
import type { ForgeCaller } from "../caller.ts";
import type { ForgeSession } from "./forge-page.ts";

const DAY_MS = 24 * 3_600_000;
/** Lifetime of a session. */
export const SESSION_MS = 14 * DAY_MS;
/** Maximum number of sessions of one user: a new one ends the oldest. */
const SESSIONS_MAX = 20;
/** The last use of a session is recorded this often at most. */
const USED_EVERY_MS = 5 * 60_000;
/** Longest name of a browser that is kept, in characters. */
const BROWSER_MAX = 255;

export type Sessions = ReturnType<typeof createSessions>;

export interface SessionsDeps {
  readonly db: Database;
  readonly clock: () => number;
  readonly random: (bytes: number) => Uint8Array;
  readonly authentication: Authentication;
  readonly ownPassword: OwnPassword;
  readonly secondFactors: Pick<SecondFactors, "use">;
  readonly signInAttempts: Pick<SignInAttempts, "code">;
}

/** Deletes expired sessions. Returns how many. */
export function deleteExpiredSessions(db: Database, now: number): Promise<number> {
  return deleteExpiredWebSessions(db, { now, latest: now + SESSION_MS });
}

/** Browser sessions of the pages. */
export function createSessions(deps: SessionsDeps) {
  const { db, clock, random, authentication, ownPassword, secondFactors, signInAttempts } = deps;
  return {
    /** Returns the session of a cookie; undefined when it is unknown or expired, or when the account may not sign in. */
    async find(secret: string, request: ServerRequest): Promise<ForgeSession | undefined> {
      const found = await findWebSession(db, toSessionId(secret));
      if (found === undefined || found.expiresAt <= clock()) return undefined;
      const user = await findUserById(db, found.userId);
      if (user === undefined || !user.isActive || user.prohibitLogin) return undefined;
      if (toMark(user) !== found.passwordMark) return undefined;
      if (clock() - (found.usedAt ?? 0) >= USED_EVERY_MS)
        await touchWebSession(db, found.id, { ...toPlace(request), usedAt: clock() });
      return toSession(secret, toCaller(user));
    },

    /**
     * Signs in by name or e-mail address, password and, if the account has a second factor, a code. Throws
     * `invalid_credentials` if one of them is wrong, `forbidden` for an account that may not sign in, `rate_limited`.
     */
    async signIn(
      request: ServerRequest,
      {
        name,
        password,
        code,
      }: { readonly name: string; readonly password: string; readonly code: string },
    ): Promise<ForgeSession> {
      const pair = Buffer.from(`${name}:${password}`).toString("base64");
      const headers = { authorization: `Basic ${pair}`, "x-gitea-otp": code };
      // Passed on as Basic credentials, so that attempts by form and by header count together.
      const { id, startedAt, method, address, signal, body } = request;
      const query = new URLSearchParams();
      const caller = await authentication.authenticate(
        { id, startedAt, method, target: "/user/login", address, headers, query, signal, body },
        { changesPassword: true },
      );
      // A token must not start a session: its scope may be narrower than that of a session.
      if (caller?.method !== "basic_password")
        throw new AppError("invalid_credentials", "invalid username, password or code");
      return begin(caller.user, request);
    },

    /**
     * Signs in to the account of an identity that a provider has confirmed. Undefined for an account with a second factor,
     * which `answerCode` checks. Throws `forbidden` for an account that may not sign in.
     */
    async signInByIdentity(
      userId: UserId,
      request: ServerRequest,
    ): Promise<ForgeSession | undefined> {
      const user = await getUser(userId);
      return user.twoFactorEnabled ? undefined : begin(user, request);
    },

    /** Completes that sign-in by a code. Throws as it does, `invalid_credentials` for a wrong code, and `rate_limited`. */
    async answerCode(userId: UserId, code: string, request: ServerRequest): Promise<ForgeSession> {
      const user = await getUser(userId);
      const check = () => secondFactors.use(user, code);
      if (!(await signInAttempts.code(userId, request.address, check)))
        throw new AppError("invalid_credentials", "The code is wrong.");
      return begin(user, request);
    },

    /** Ends a session. Idempotent. */
    signOut: (session: ForgeSession): Promise<void> => deleteWebSession(db, toKey(session)),

    /** Lists the sessions of the user of a session, the last used first, and tells which one is this. */
    async list(
      session: ForgeSession,
    ): Promise<readonly (WebSession & { readonly isCurrent: boolean })[]> {
      const { id, userId } = toKey(session);
      const user = await findUserById(db, userId);
      const all =
        user && (await listWebSessions(db, { userId, passwordMark: toMark(user) }, clock()));
      return (all ?? []).map((each) => ({ ...each, isCurrent: each.id === id }));
    },

    /** Ends a session of the user, by its id. Idempotent. */
    end: (session: ForgeSession, id: string): Promise<void> =>
      deleteWebSession(db, { ...toKey(session), id }),

    /** Ends all other sessions of the user. */
    endOthers: (session: ForgeSession): Promise<void> => deleteOtherWebSessions(db, toKey(session)),

    /** Changes the password and ends all sessions of the user; returns a new one. Throws as `OwnPassword.change`. */
    async changePassword(
      { caller }: ForgeSession,
      passwords: { readonly current: string; readonly next: string },
      request: ServerRequest,
    ): Promise<ForgeSession> {
      await ownPassword.change(caller, passwords, request.address);
      const user = await findUserById(db, caller.user.id);
      if (user === undefined) throw new AppError("not_found", "the account was deleted");
      return begin(user, request);
    },

    /** Deletes expired sessions. Returns how many. */
    deleteExpired: (): Promise<number> => deleteExpiredSessions(db, clock()),
  };

  async function getUser(userId: UserId): Promise<ForgeUser> {
    const user = await findUserById(db, userId);
    if (user === undefined || !user.isActive || user.prohibitLogin)
      throw new AppError("forbidden", "This account may not sign in.");
    return user;
  }

  async function begin(user: ForgeUser, request: ServerRequest): Promise<ForgeSession> {
    const secret = createSecret(random);
    const session = {
      id: toSessionId(secret),
      userId: user.id,
      passwordMark: toMark(user),
      expiresAt: clock() + SESSION_MS,
      ...toPlace(request),
    };
    await db.transaction((tx) => insertWebSession(tx, session, SESSIONS_MAX));
    return toSession(secret, toCaller(user));
  }
}

/** The browser and the address of a request. */
const toPlace = ({ headers, address }: ServerRequest) => ({
  userAgent: (headers["user-agent"] ?? "").slice(0, BROWSER_MAX),
  address,
});

const toKey = ({ secret, caller }: ForgeSession) => ({
  id: toSessionId(secret),
  userId: caller.user.id,
});

const toCaller = (user: ForgeUser): ForgeCaller => ({
  user,
  actor: user,
  method: "basic_password",
  scope: undefined,
});

const toMark = ({ passwordHash }: ForgeUser): string => toPasswordMark(passwordHash);
