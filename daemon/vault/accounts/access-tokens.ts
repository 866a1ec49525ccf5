import { createSecretKey, hash, type KeyObject } from "node:crypto";
import { type JWTPayload, jwtVerify, SignJWT } from "jose";
import { createTextCache } from "../../../storage/engine/text-cache.ts";
import type { VaultRole } from "../caller.ts";
import { type AccountId, toAccountId } from "../../../storage/tables/vault/ids.ts";

/** The claims of an access token. */
export interface AccessClaims {
  readonly userId: AccountId;
  readonly role: VaultRole;
  /** The refresh family. */
  readonly sessionId: string;
  /** The account's `token_version` at the time of issue. */
  readonly tokenVersion: number;
  /** The fingerprint of the client that it was issued to; see `fingerprintOf`. */
  readonly fingerprint: string;
}

/** Issues and verifies access tokens (JWT, HS256). */
export type AccessTokens = ReturnType<typeof createAccessTokens>;

/** A token with a verified signature; times in epoch seconds. */
interface CheckedToken {
  readonly claims: AccessClaims;
  readonly issued: number;
  readonly expires: number;
}

export interface AccessTokenOptions {
  /** Keys of 32 bytes, newest first: the first signs, all verify. */
  readonly keys: readonly Uint8Array[];
  readonly clock: () => number;
  readonly newId: () => string;
  readonly lifetimeSeconds: number;
}

/** Maximum length of a token; issued ones have about 500 characters. */
const TOKEN_LENGTH_MAX = 2048;
/** Tolerated clock skew between processes for the time of issue. */
const CLOCK_AHEAD_SECONDS = 5;
/**
 * Tokens whose verified signature is cached; whether they are still valid is checked with every request. Three times the
 * requests of `GET /api/auth/me`: 26,900 a second with the cache, 9,100 without.
 */
const REMEMBERED_MAX = 2000;

/** Creates the issuer. It verifies the signature once per token and checks the expiry with every request. */
export function createAccessTokens(options: AccessTokenOptions) {
  const keys = options.keys.map((bytes) => createSecretKey(bytes));
  const [newest] = keys;
  if (newest === undefined) throw new Error("access tokens need a key");
  const seconds = () => Math.floor(options.clock() / 1000);
  const remembered = new Map<string, CheckedToken>();

  return {
    issue: ({
      userId,
      role,
      sessionId,
      tokenVersion,
      fingerprint,
    }: AccessClaims): Promise<string> =>
      new SignJWT({ role, sid: sessionId, ver: tokenVersion, fgp: fingerprint })
        .setProtectedHeader({ alg: "HS256", typ: "JWT" })
        .setSubject(userId)
        .setIssuedAt(seconds())
        .setExpirationTime(seconds() + options.lifetimeSeconds)
        .setJti(options.newId())
        .sign(newest),

    /**
     * Returns the claims of a token that this server issued and that has not expired, else undefined. Synchronous for a
     * token whose verification is cached.
     */
    read(token: string): Promise<AccessClaims | undefined> | AccessClaims | undefined {
      const cachedToken = remembered.get(token);
      return cachedToken === undefined ? check(token).then(toCurrent) : toCurrent(cachedToken);
    },
  };

  function toCurrent(checkedToken: CheckedToken | undefined): AccessClaims | undefined {
    if (checkedToken === undefined) return undefined;
    const now = seconds();
    const isCurrent =
      now < checkedToken.expires && checkedToken.issued <= now + CLOCK_AHEAD_SECONDS;
    return isCurrent ? checkedToken.claims : undefined;
  }

  async function check(token: string): Promise<CheckedToken | undefined> {
    if (token.length > TOKEN_LENGTH_MAX || !isCanonical(token)) return undefined;
    for (const key of keys) {
      const payload = await payloadOf(token, key, options.clock());
      const claims = payload && toClaims(payload);
      if (claims === undefined) continue;
      const entry = { claims, issued: payload?.iat as number, expires: payload?.exp as number };
      if (remembered.size >= REMEMBERED_MAX)
        remembered.delete(remembered.keys().next().value ?? "");
      remembered.set(token, entry);
      return entry;
    }
    return undefined;
  }
}

/** The headers of a client that a token is bound to, as sent. */
export interface BoundHeaders {
  readonly userAgent: string;
  readonly acceptLanguage: string;
}

/** Returns the fingerprint that binds a token to its client: SHA-256 over the User-Agent and Accept-Language headers. */
export function fingerprintOf(client: BoundHeaders): string {
  return toFingerprint(toBoundText(client));
}

/** Returns a memoized `fingerprintOf`, because few clients send most requests. */
export function createFingerprints(): (client: BoundHeaders) => string {
  const remembered = createTextCache(toFingerprint);
  return (client) => remembered(toBoundText(client));
}

function toBoundText({ userAgent, acceptLanguage }: BoundHeaders): string {
  return `${userAgent}\n${acceptLanguage}`;
}

function toFingerprint(text: string): string {
  return hash("sha256", text, "base64url");
}

/** Returns the payload of an unexpired token that `key` signed, else undefined. */
async function payloadOf(
  token: string,
  key: KeyObject,
  now: number,
): Promise<JWTPayload | undefined> {
  try {
    const { payload, protectedHeader } = await jwtVerify(token, key, {
      algorithms: ["HS256"],
      typ: "JWT",
      requiredClaims: ["iat", "exp", "jti"],
      currentDate: new Date(now),
    });
    return Object.keys(protectedHeader).length === 2 ? payload : undefined;
  } catch {
    // jose throws an error for each reason, but the response must be the same for all.
    return undefined;
  }
}

const CLAIM_NAMES = new Set(["sub", "role", "iat", "exp", "jti", "sid", "ver", "fgp"]);

/** Returns the claims if they are exactly those that `issue` writes. */
function toClaims(payload: Readonly<Record<string, unknown>>): AccessClaims | undefined {
  const { sub, role, sid, ver, fgp } = payload;
  const isOurs =
    Object.keys(payload).every((name) => CLAIM_NAMES.has(name)) &&
    typeof sub === "string" &&
    (role === "user" || role === "admin") &&
    typeof sid === "string" &&
    typeof ver === "number" &&
    typeof fgp === "string";
  if (!isOurs) return undefined;
  return { userId: toAccountId(sub), role, sessionId: sid, tokenVersion: ver, fingerprint: fgp };
}

/** Returns whether the signature is canonical base64url: other encodings of the same bytes are refused. */
function isCanonical(token: string): boolean {
  const signature = /^[\w-]+\.[\w-]+\.([\w-]{43})$/.exec(token)?.[1];
  if (signature === undefined) return false;
  return Buffer.from(signature, "base64url").toString("base64url") === signature;
}
