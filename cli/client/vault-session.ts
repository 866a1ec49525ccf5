import type { CliEnvironment } from "../environment.ts";
import { CliError } from "../errors.ts";
import type { Credentials } from "../profile/credentials.ts";
import type { NamedProfile, Profiles } from "../profile/profiles.ts";
import type { IncomingResponse } from "./transport.ts";
import { parseJson } from "../support/json.ts";

/** A vault session as it is stored: one entry, so that its parts always belong together. */
export interface StoredSession {
  readonly access_token: string;
  /** Epoch milliseconds. */
  readonly access_expires_at: number;
  readonly refresh_token: string;
  /** Epoch milliseconds; null when the cookie has no expiry. */
  readonly refresh_expires_at: number | null;
  /** The daemon that issued it: it is sent to no other. */
  readonly url: string;
}

/** A token is renewed if its remaining lifetime may be too short for a request. */
const leastLifeMs = 30_000;

type VaultSessionDeps = Pick<CliEnvironment, "system" | "clock"> & {
  readonly profiles: Profiles;
  readonly credentials: Credentials;
};

/**
 * Creates the session of the profile in use. A refresh token works once; a second use ends the session. So reading,
 * refreshing and storing happen under a lock across processes, and a process that waited for the lock reads again first: of
 * many processes that need a new token, one refreshes.
 * @param refresh sends the refresh request with this cookie and returns the response, whatever its status
 * @param accept whether a session of this address may be used for the present target
 * @param isIssuer whether this address is the present target's own
 */
export function createVaultSession(
  cli: VaultSessionDeps,
  refresh: (cookie: string) => Promise<IncomingResponse>,
  accept: (url: string) => boolean,
  isIssuer: (url: string) => boolean,
) {
  return {
    /**
     * Returns a token that is valid for a while. @throws CliError `not_signed_in` without a session, `session_revoked`
     * when it has ended
     */
    async accessToken(): Promise<string> {
      const stored = await read();
      if (isFresh(stored)) return stored.access_token;
      return renew(undefined);
    },
    /** The stored token; undefined when it must be renewed. @throws CliError `not_signed_in` without a session */
    async presentToken(): Promise<string | undefined> {
      const stored = await read();
      return isFresh(stored) ? stored.access_token : undefined;
    },
    /** A token other than `refused`, which the server did not accept. */
    renewedToken: (refused: string): Promise<string> => renew(refused),
    /** The value of the `Cookie` header for routes that spare or end the caller's own session; undefined without one. */
    async cookie(): Promise<string | undefined> {
      const stored = toSession(await cli.credentials.read(await cli.profiles.inUse(), "vault"));
      return stored === undefined ? undefined : toCookie(stored.refresh_token);
    },
  };

  async function renew(refused: string | undefined): Promise<string> {
    const profile = await cli.profiles.inUse();
    const lock = await cli.credentials.lockPath(profile, "vault");
    const { withFileLock } = await import("../profile/lock.ts");
    return withFileLock(lock, cli.system, async () => {
      const stored = await read();
      if (isFresh(stored) && stored.access_token !== refused) return stored.access_token;
      const answer = await refresh(toCookie(stored.refresh_token));
      if (answer.status !== 200) return refuse(profile, stored, answer);
      const session = toStoredSession(answer, stored.url, cli.clock());
      await cli.credentials.write(profile, "vault", session);
      return session.access_token;
    });
  }

  async function read(): Promise<StoredSession> {
    const stored = toSession(await cli.credentials.read(await cli.profiles.inUse(), "vault"));
    if (stored === undefined) throw notSignedIn();
    if (!accept(stored.url))
      throw new CliError("not_signed_in", `the vault session belongs to ${stored.url}`, {
        hint: '"croft login vault" signs in to this daemon; profiles keep several',
        service: "vault",
      });
    return stored;
  }

  function isFresh(stored: StoredSession): boolean {
    return stored.access_expires_at - cli.clock() > leastLifeMs;
  }

  /**
   * A refresh token that its own daemon refused will never be accepted again. A refusal by another daemon of this
   * machine, which may answer while this one is down, does not end the session.
   */
  async function refuse(
    profile: NamedProfile,
    stored: StoredSession,
    answer: IncomingResponse,
  ): Promise<never> {
    const [{ toFailure }, { sessionEnds, vaultHints }] = await Promise.all([
      import("./outcomes.ts"),
      import("./vault-hints.ts"),
    ]);
    const failure = toFailure({
      service: "vault",
      status: answer.status,
      body: parseJson(answer.body),
      requestId: undefined,
      retryAfter: answer.headers["retry-after"],
    });
    if (answer.status !== 401)
      throw failure ?? new CliError("unexpected_answer", "the session could not be renewed");
    if (isIssuer(stored.url)) await cli.credentials.remove(profile, "vault");
    const message = failure?.message ?? "";
    throw new CliError("session_revoked", sessionEnds[message] ?? message, {
      httpStatus: 401,
      service: "vault",
      hint: vaultHints[message] ?? '"croft login vault" signs in again',
    });
  }
}

/**
 * Returns the session in the response to a sign-in or refresh. @throws CliError `unexpected_answer` when it has no
 * session
 */
export function toStoredSession(answer: IncomingResponse, url: string, now: number): StoredSession {
  const body = parseJson(answer.body) as { readonly access_token?: unknown } | undefined;
  const cookie = (answer.headers["set-cookie"] ?? []).find((one) => one.startsWith(cookiePrefix));
  const refreshToken = cookie?.slice(cookiePrefix.length).split(";")[0] ?? "";
  if (typeof body?.access_token !== "string" || refreshToken === "")
    throw new CliError("unexpected_answer", "the response contains no session", {
      service: "vault",
    });
  const maxAge = /;\s*max-age=(\d+)/i.exec(cookie ?? "")?.[1];
  return {
    access_token: body.access_token,
    access_expires_at: expiryOf(body.access_token) ?? now + unknownLifeMs,
    refresh_token: refreshToken,
    refresh_expires_at: maxAge === undefined ? null : now + Number(maxAge) * 1000,
    url,
  };
}

const cookiePrefix = "refresh_token=";
/** For a token without an expiry; a refusal renews it anyway. */
const unknownLifeMs = 5 * 60_000;

function toCookie(refreshToken: string): string {
  return `${cookiePrefix}${refreshToken}`;
}

/** Returns the expiry of a JWT in epoch milliseconds. The server checks the signature. */
function expiryOf(token: string): number | undefined {
  const payload = parseJson(Buffer.from(token.split(".")[1] ?? "", "base64url"));
  const { exp } = (payload ?? {}) as { readonly exp?: unknown };
  return typeof exp === "number" ? exp * 1000 : undefined;
}

function toSession(value: unknown): StoredSession | undefined {
  const session = value as Partial<StoredSession> | undefined;
  return typeof session?.refresh_token === "string" && typeof session.access_token === "string"
    ? (session as StoredSession)
    : undefined;
}

function notSignedIn(): CliError {
  return new CliError("not_signed_in", "not signed in to the vault", {
    hint: '"croft login vault" signs in',
    service: "vault",
  });
}
