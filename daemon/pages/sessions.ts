import { hash } from "node:crypto";
import type { ServerRequest } from "../http/handle.ts";

/** A signed-in browser. */
export interface Session<Caller> {
  /** The value of the cookie. */
  readonly secret: string;
  /** The token in the forms of this session's pages, against cross-site requests. */
  readonly formToken: string;
  readonly caller: Caller;
  /** How long the browser keeps the cookie, where it differs from that of other sessions of the site. */
  readonly lifetimeMs?: number;
}

/** The cookie of a site's sessions. */
export interface SessionCookie {
  readonly name: string;
  readonly lifetimeMs: number;
  /** The path below which browsers send it; all addresses when absent. */
  readonly path?: string;
}

const SECRET_BYTES = 32;

/** Returns an unpredictable secret for a new session. */
export function createSecret(random: (bytes: number) => Uint8Array): string {
  return Buffer.from(random(SECRET_BYTES)).toString("base64url");
}

export function toSession<Caller>(secret: string, caller: Caller): Session<Caller> {
  return { secret, formToken: hash("sha256", `form\n${secret}`, "base64url"), caller };
}

/** Hashes the secret, so that the database contains no valid cookie. */
export function toSessionId(secret: string): string {
  return hash("sha256", `session\n${secret}`, "hex");
}

/** Returns the secret of the session that a request names. */
export function readSessionCookie(
  { headers }: ServerRequest,
  cookie: SessionCookie,
): string | undefined {
  for (const part of (headers.cookie ?? "").split(";")) {
    const [name, value] = part.trim().split("=");
    if (name === cookie.name && value !== undefined && /^[\w-]{43}$/.test(value)) return value;
  }
  return undefined;
}

/** Returns the header that starts a session, or ends the current one for null. */
export function toSetCookie(
  session: Session<unknown> | null,
  { name, lifetimeMs, path = "/" }: SessionCookie,
  /** The address of the server, without a trailing slash. */
  publicUrl: string,
): string {
  const isSecure = publicUrl.startsWith("https:");
  // A cookie of all addresses stays at the root, where a proxy removes the path of the public URL.
  const below = path === "/" ? path : new URL(publicUrl).pathname.replace(/\/$/, "") + path;
  const common = `; Path=${below}; HttpOnly; SameSite=Strict${isSecure ? "; Secure" : ""}`;
  return session === null
    ? `${name}=${common}; Max-Age=0`
    : `${name}=${session.secret}${common}; Max-Age=${(session.lifetimeMs ?? lifetimeMs) / 1000}`;
}
