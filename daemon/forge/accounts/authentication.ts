import { type Database, StorageError } from "../../../storage/engine/database.ts";
import { findEmail } from "../../../storage/tables/forge/accounts/emails.ts";
import {
  findUserById,
  findUserByName,
  type ForgeUser,
  replacePasswordHash,
  touchLastLogin,
} from "../../../storage/tables/forge/accounts/users.ts";
import { AppError } from "../../errors.ts";
import { hasQuery, type ServerRequest } from "../../http/handle.ts";
import type { PasswordHasher } from "../../utilities/password-hasher.ts";
import type { ForgeCaller } from "../caller.ts";
import { bareRefusal, notFound } from "../refusals.ts";
import { type ForgeUrls, toUrl } from "../urls.ts";
import type { SignInAttempts } from "./sign-in-attempts.ts";
import type { Tokens } from "./tokens.service.ts";

/** Checks the code of a second factor where one is enrolled. */
export interface SecondFactorCheck {
  /** Whether `code` is a current code that was not used before; using it up when it is. */
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
}

/** Tells who calls the forge. */
export interface Authentication {
  /**
   * Who calls, by the credentials of the request (forge behaviour, 2.1 to 2.3): undefined when it carries none.
   * Refuses with `invalid_credentials` when all are wrong, with `forbidden` when the account may not use the API or
   * may not impersonate, with `not_found` when nobody has the impersonated name. `form`: what the body says besides;
   * it counts for more than the query.
   */
  authenticate(request: ServerRequest, form?: URLSearchParams): Promise<ForgeCaller | undefined>;
}

type Method = Omit<ForgeCaller, "actor">;

/** Whether anything is there that `authenticate` looks at. */
function hasCredentials(request: ServerRequest): boolean {
  const { authorization, sudo } = request.headers;
  return authorization !== undefined || sudo !== undefined || hasQuery(request);
}

/** A password login is noted no more often. */
const LOGIN_EVERY_MS = 60_000;
const PASSWORD_BYTES_MAX = 4096;

export function createAuthentication(deps: AuthenticationDeps): Authentication {
  const { db, clock, passwords, tokens, secondFactors, attempts, urls } = deps;
  return {
    async authenticate(request, form) {
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
      assertMayUse(found.user, urls);
      if (sudo === "") return { ...found, actor: found.user };
      if (!found.user.isAdmin) throw onlyAdministrators();
      const user = await findUserByName(db, sudo);
      if (user === undefined) throw notFound();
      return { ...found, user, actor: found.user };
    },
  };

  /** Tries the methods in their order; a later one may succeed where an earlier one failed. */
  async function findCredentials(
    request: ServerRequest,
    field: (name: string) => string,
  ): Promise<Method | "wrong" | undefined> {
    let given = false;
    for (const secret of [field("token"), field("access_token"), headerToken(request)]) {
      if (!secret) continue;
      given = true;
      const owner = await tokens.find(secret);
      if (owner !== undefined) return { ...owner, method: "token" };
    }
    const basic = basicPair(request);
    if (basic === undefined) return given ? "wrong" : undefined;
    return (await findByBasic(basic, request)) ?? "wrong";
  }

  async function findByBasic(
    { name, password }: { readonly name: string; readonly password: string },
    request: ServerRequest,
  ): Promise<Method | undefined> {
    const isTokenAsName = password === "" || password === "x-oauth-basic";
    const owner = await tokens.find(isTokenAsName ? name : password);
    if (owner !== undefined) return { ...owner, method: "basic_token" };
    if (isTokenAsName || Buffer.byteLength(password) > PASSWORD_BYTES_MAX) return undefined;
    const login = name.trim();
    const attempt = { of: "password", name: login, address: request.address } as const;
    await attempts.assertAllowed(attempt);
    const user = await findLogin(login);
    const { fits, outdated } = await passwords.verify(user?.passwordHash ?? "", password);
    if (user === undefined || !fits) {
      await attempts.fail(attempt);
      return undefined;
    }
    await attempts.succeed(attempt);
    if (user.prohibitLogin) return undefined;
    if (user.twoFactorEnabled && !(await fitsCode(user, headerOf(request, "x-gitea-otp"))))
      return undefined;
    await noteSignIn(user, outdated ? password : undefined);
    return { user, method: "basic_password", scope: undefined };
  }

  /** Keeps the hash and the time of the last sign-in up to date. A disk that is full must not turn people away. */
  async function noteSignIn(user: ForgeUser, outdatedPassword: string | undefined): Promise<void> {
    const now = clock();
    const isRecent =
      user.lastLoginAt !== undefined && Math.abs(now - user.lastLoginAt) < LOGIN_EVERY_MS;
    try {
      if (outdatedPassword !== undefined)
        await replacePasswordHash(
          db,
          user.id,
          user.passwordHash,
          await passwords.hash(outdatedPassword),
        );
      if (!isRecent) await touchLastLogin(db, user.id, now);
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
    }
  }

  async function fitsCode(user: ForgeUser, code: string): Promise<boolean> {
    // A request without a code, such as a client's first try, is wrong but no guess.
    if (code === "") return false;
    const attempt = { of: "code", userId: user.id } as const;
    await attempts.assertAllowed(attempt);
    const fits = await secondFactors.use(user, code);
    await (fits ? attempts.succeed(attempt) : attempts.fail(attempt));
    return fits;
  }

  async function findLogin(name: string): Promise<ForgeUser | undefined> {
    if (!name.includes("@")) return findUserByName(db, name);
    const email = await findEmail(db, name);
    return email?.isVerified ? findUserById(db, email.userId) : undefined;
  }
}

function assertMayUse(user: ForgeUser, urls: ForgeUrls): void {
  if (!user.isActive || user.prohibitLogin)
    throw bareRefusal(
      "This account is prohibited from signing in, please contact your site administrator.",
    );
  if (user.mustChangePassword)
    throw bareRefusal(
      // The doubled slash is what clients of the reference see.
      `You must change your password. Change it at: ${toUrl(urls, "//user/change_password")}`,
    );
}

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
  // No database takes a NUL, and no name or password has one.
  if (text.includes("\0")) return undefined;
  return colon === -1 ? undefined : { name: text.slice(0, colon), password: text.slice(colon + 1) };
}

function headerOf(request: ServerRequest, name: string): string {
  const value = request.headers[name];
  return (typeof value === "object" ? value[0] : value) ?? "";
}
