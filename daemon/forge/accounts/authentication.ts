import { hash } from "node:crypto";
import type { Database, Queries } from "../../../storage/engine/database.ts";
import { findEmail } from "../../../storage/tables/forge/accounts/emails.ts";
import { findPublicKey } from "../../../storage/tables/forge/accounts/keys.ts";
import { findDeployKey } from "../../../storage/tables/forge/repositories/deploy-keys.ts";
import { findTask } from "../../../storage/tables/forge/actions/tasks.ts";
import { findTokenById } from "../../../storage/tables/forge/accounts/tokens.ts";
import {
  findUserById,
  findUserByName,
  type ForgeUser,
  replacePasswordHash,
  touchLastLogin,
} from "../../../storage/tables/forge/accounts/users.ts";
import { keepWebSessions } from "../../../storage/tables/forge/accounts/web-sessions.ts";
import { AppError } from "../../errors.ts";
import { writeIfPossible } from "../../utilities/within.ts";
import { hasQuery, type ServerRequest } from "../../http/handle.ts";
import type { PasswordHasher } from "../../utilities/password-hasher.ts";
import type { ActingUser, ForgeCaller } from "../caller.ts";
import { bareRefusal, notFound } from "../refusals.ts";
import { type ForgeUrls, toApiUrl, toUrl } from "../urls.ts";
import { isPublicOnly } from "./scopes.ts";
import type { SignInAttempts } from "./sign-in-attempts.ts";
import type { Tokens } from "./tokens.service.ts";

/** Checks second-factor codes. */
export interface SecondFactorCheck {
  /** Consumes a code. Returns true for a current, unused code, and for exactly one of several concurrent callers. */
  use(user: ForgeUser, code: string): Promise<boolean>;
}

export interface AuthenticationDeps {
  readonly db: Database;
  readonly clock: () => number;
  readonly passwords: PasswordHasher;
  readonly tokens: Tokens;
  readonly secondFactors: SecondFactorCheck;
  readonly attempts: SignInAttempts;
  readonly urls: ForgeUrls;
  /** Finds the running job that a token belongs to. */
  readonly findTaskCaller: (
    token: string,
  ) => Promise<{ readonly user: ActingUser; readonly scope: string } | undefined>;
}

export type Authentication = ReturnType<typeof createAuthentication>;

type Method = Omit<ForgeCaller, "actor">;

/** Returns whether the request has any part that `authenticate` reads. */
function hasCredentials(request: ServerRequest): boolean {
  const { authorization, sudo } = request.headers;
  return authorization !== undefined || sudo !== undefined || hasQuery(request);
}

/** Minimum interval between updates of the time of the last login. */
const LOGIN_EVERY_MS = 60_000;
/** Pattern of a job's token: a password of another form is not looked up as one. */
const TASK_TOKEN = /^[0-9a-f]{40}$/;
/** Longer passwords are refused unchecked. */
export const PASSWORD_BYTES_MAX = 4096;

/** Authenticates requests to the forge. */
export function createAuthentication(deps: AuthenticationDeps) {
  const { db, clock, passwords, tokens, secondFactors, attempts, urls, findTaskCaller } = deps;
  /** Password checks in progress, by a hash of account and password: the hash that fits, as it is stored after the check. */
  const checks = new Map<string, Promise<string | undefined>>();
  return {
    /**
     * Returns the caller that the request's credentials belong to, undefined without
     * credentials. Throws `invalid_credentials` if all of them are wrong, `rate_limited` after too many wrong ones,
     * `forbidden` if the account may not use the API or may not impersonate, `not_found` for an unknown name to
     * impersonate.
     * @param options `form`: fields of the body, which take precedence over the query. `changesPassword`: the request
     * changes the caller's password, so an account that must change it may sign in with it.
     */
    async authenticate(
      request: ServerRequest,
      {
        form,
        changesPassword = false,
      }: { readonly form?: URLSearchParams; readonly changesPassword?: boolean } = {},
    ): Promise<ForgeCaller | undefined> {
      if (form === undefined && !hasCredentials(request)) return undefined;
      const field = (name: string) => form?.get(name) || request.query.get(name) || "";
      const found = await findCredentials(request, field);
      if (found === "wrong")
        throw new AppError("invalid_credentials", "invalid username, password or token");
      const sudo = field("sudo") || headerOf(request, "sudo");
      if (found === undefined) {
        if (sudo !== "") throw onlyAdministrators();
        return undefined;
      }
      assertMayUse(found.user);
      const isChange = changesPassword && found.method === "basic_password";
      if (found.user.mustChangePassword && !isChange) throw mustChangePassword(found.user, urls);
      if (sudo === "") return { ...found, actor: found.user };
      if (!found.user.isAdmin) throw onlyAdministrators();
      const user = await findUserByName(db, sudo);
      if (user === undefined) throw notFound();
      if (isPublicOnly(found) && user.visibility !== "public")
        throw new AppError("forbidden", "token scope is limited to public users");
      return { ...found, user, actor: found.user };
    },
  };

  /** Tries the methods in the document's order; a later one may succeed after an earlier one failed. */
  async function findCredentials(
    request: ServerRequest,
    field: (name: string) => string,
  ): Promise<Method | "wrong" | undefined> {
    let hasToken = false;
    for (const secret of [field("token"), field("access_token"), headerToken(request)]) {
      if (!secret) continue;
      hasToken = true;
      const owner = (await tokens.find(secret)) ?? (await findTaskCaller(secret));
      if (owner !== undefined) return { ...owner, method: "token" };
    }
    const basic = basicPair(request);
    if (basic === undefined) return hasToken ? "wrong" : undefined;
    return (await findByBasic(basic, request)) ?? "wrong";
  }

  async function findByBasic(
    { name, password }: { readonly name: string; readonly password: string },
    request: ServerRequest,
  ): Promise<Method | undefined> {
    const isTokenAsName = password === "" || password === "x-oauth-basic";
    const secret = isTokenAsName ? name : password;
    const owner =
      (await tokens.find(secret)) ??
      (TASK_TOKEN.test(secret) ? await findTaskCaller(secret) : undefined);
    if (owner !== undefined) return { ...owner, method: "basic_token" };
    if (isTokenAsName || Buffer.byteLength(password) > PASSWORD_BYTES_MAX) return undefined;
    const user = await findByPassword(name.trim(), password, request.address);
    if (user === undefined || user.prohibitLogin) return undefined;
    const code = headerOf(request, "x-gitea-otp");
    if (user.twoFactorEnabled && !(await takeCode(user, code, request.address))) return undefined;
    await recordLogin(user);
    return { user, method: "basic_password", scope: undefined };
  }

  /** Returns the account that a login and password belong to. */
  async function findByPassword(
    login: string,
    password: string,
    address: string,
  ): Promise<ForgeUser | undefined> {
    const user = await findLogin(login);
    const account = user === undefined ? `name ${login.toLowerCase()}` : `id ${user.id}`;
    const key = hash("sha256", `${account}\n${password}`, "hex");
    const passwordHash = await attempts.password(account, address, {
      check: () => shareCheck(key, user, password),
      shared: () => checks.get(key),
    });
    return user && passwordHash !== undefined ? { ...user, passwordHash } : undefined;
  }

  function shareCheck(key: string, user: ForgeUser | undefined, password: string) {
    const running =
      checks.get(key) ?? checkPassword(user, password).finally(() => checks.delete(key));
    checks.set(key, running);
    return running;
  }

  /** Returns the hash that fits; what the request creates, such as a token, is bound to the one that is stored. */
  async function checkPassword(
    user: ForgeUser | undefined,
    password: string,
  ): Promise<string | undefined> {
    // An unknown account takes as long as a known one.
    const { fits, outdated } = await passwords.verify(user?.passwordHash ?? "", password);
    if (user === undefined || !fits) return undefined;
    if (!outdated) return user.passwordHash;
    const next = await passwords.hash(password);
    await writeIfPossible(() => renewHash(user, next));
    const stored = (await findUserById(db, user.id))?.passwordHash ?? "";
    if (stored === next || stored === user.passwordHash) return stored;
    // A concurrent request has replaced the hash as well, or has changed the password.
    return (await passwords.verify(stored, password)).fits ? stored : undefined;
  }

  /** Stores another hash of the same password, with which the sessions of browsers go on. */
  function renewHash({ id, passwordHash: from }: ForgeUser, to: string): Promise<void> {
    return db.transaction(async (tx) => {
      if (await replacePasswordHash(tx, id, from, to)) await keepWebSessions(tx, id, { from, to });
    });
  }

  async function takeCode(user: ForgeUser, code: string, address: string): Promise<boolean> {
    // A request without a code, such as a client's first try, is refused but does not count as a guess.
    if (code === "") return false;
    return attempts.code(user.id, address, () => secondFactors.use(user, code));
  }

  async function recordLogin(user: ForgeUser): Promise<void> {
    const now = clock();
    const isRecent =
      user.lastLoginAt !== undefined && Math.abs(now - user.lastLoginAt) < LOGIN_EVERY_MS;
    if (!isRecent) await writeIfPossible(() => touchLastLogin(db, user.id, now));
  }

  async function findLogin(name: string): Promise<ForgeUser | undefined> {
    if (!name.includes("@")) return findUserByName(db, name);
    const email = await findEmail(db, name);
    return email?.isVerified ? findUserById(db, email.userId) : undefined;
  }
}

function assertMayUse(user: ForgeUser): void {
  if (!user.isActive || user.prohibitLogin)
    throw bareRefusal(
      "This account is prohibited from signing in, please contact your site administrator.",
    );
}

const mustChangePassword = (user: ForgeUser, urls: ForgeUrls) =>
  bareRefusal(
    `You must change your password. Run "croft account password --username ${user.name}", ` +
      `POST it to ${toApiUrl(urls, "/user/password")}, or sign in at ${toUrl(urls, "/user/settings/change_password")}`,
  );

const onlyAdministrators = () => bareRefusal("Only administrators allowed to sudo.");

function headerToken(request: ServerRequest): string | undefined {
  const parts = headerOf(request, "authorization")
    .split(/\s+/)
    .filter((part) => part !== "");
  const [scheme = "", secret] = parts;
  return parts.length === 2 && /^(?:token|bearer)$/i.test(scheme) ? secret : undefined;
}

function basicPair(request: ServerRequest): { name: string; password: string } | undefined {
  const match = /^basic\s+([A-Za-z0-9+/=_-]+)\s*$/i.exec(headerOf(request, "authorization"));
  if (match?.[1] === undefined) return undefined;
  const text = Buffer.from(match[1], "base64").toString();
  const colon = text.indexOf(":");
  // PostgreSQL stores no NUL, so no name contains one.
  if (text.includes("\0")) return undefined;
  return colon === -1 ? undefined : { name: text.slice(0, colon), password: text.slice(colon + 1) };
}

function headerOf(request: ServerRequest, name: string): string {
  const value = request.headers[name];
  return (typeof value === "object" ? value[0] : value) ?? "";
}

/**
 * Authenticates the caller of a long-lived response again. Returns the user on whose behalf the caller acts, undefined
 * if the credentials are no longer valid: the token was deleted or has ended, the password changed, or the account may no
 * longer sign in or impersonate.
 */
export async function findStillSignedIn(
  db: Queries,
  { actor, user, method, tokenId, hasEnded, scope }: ForgeCaller,
): Promise<ForgeUser | undefined> {
  if (hasEnded?.() === true) return undefined;
  const owner = await findUserById(db, actor.id);
  if (owner === undefined || !owner.isActive || owner.prohibitLogin || owner.mustChangePassword)
    return undefined;
  if (method === "basic_password") {
    if (owner.passwordHash !== actor.passwordHash) return undefined;
  } else {
    const token = tokenId === undefined ? undefined : await findTokenById(db, tokenId);
    if (token?.userId !== owner.id || token.scope !== scope) return undefined;
  }
  if (user.id === owner.id) return owner;
  return owner.isAdmin ? findUserById(db, user.id) : undefined;
}

/** Returns whether the credentials of any caller are still valid, those of jobs and SSH keys too. */
export async function isStillSignedIn(db: Queries, caller: ForgeCaller): Promise<boolean> {
  const { actor, method, keyId } = caller;
  if (actor.task !== undefined) {
    const task = await findTask(db, actor.task.id);
    return task !== undefined && task.completedAt === undefined;
  }
  if (method !== "ssh_key") return (await findStillSignedIn(db, caller)) !== undefined;
  const owner = await findUserById(db, actor.id);
  if (owner === undefined) return false;
  const maySignIn = owner.isActive && !owner.prohibitLogin;
  if (actor.deployKey !== undefined) {
    const { id, repositoryId } = actor.deployKey;
    // An organization never signs in, so the prohibition does not apply to it.
    if (owner.kind === "individual" && !maySignIn) return false;
    return (await findDeployKey(db, repositoryId, id)) !== undefined;
  }
  const key = keyId === undefined ? undefined : await findPublicKey(db, keyId);
  return maySignIn && !owner.mustChangePassword && key?.userId === owner.id;
}
