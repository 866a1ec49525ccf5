import type { IncomingMessage } from "node:http";
import type { RateLimiter } from "../../http/bind.ts";
import type { ServerRequest } from "../../http/handle.ts";
import { isLoopback } from "../../http/listen.ts";
import { AppError } from "../../errors.ts";
import type { Authentication } from "../accounts/authentication.ts";
import type { VaultCaller } from "../caller.ts";
import { toClient } from "../accounts/client.ts";
import { hasMachineTokenPrefix } from "../accounts/machine-token-secret.ts";
import { DavRefusal } from "./refusals.ts";

export type DavSignIn = ReturnType<typeof createDavSignIn>;

export interface DavSignInDeps {
  readonly authentication: Pick<Authentication, "identify">;
  readonly limiter: RateLimiter;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Requests of an account in a minute. */
  readonly requestsPerMinute: number;
}

/** Wrong credentials of an address in a minute, as at the sign-in. */
const WRONG_LIMIT = { max: 10, seconds: 60 } as const;
/** Addresses and accounts that are remembered; the oldest are forgotten. */
const REMEMBERED_MAX = 10_000;
const MINUTE_MS = 60_000;

/**
 * Finds the caller of a request: HTTP Basic with the e-mail address of the account and a machine token. A password is never
 * checked here, so none can be guessed. After too many wrong tokens an address waits, with right ones as well.
 */
export function createDavSignIn(deps: DavSignInDeps) {
  const { authentication, limiter, clock, requestsPerMinute } = deps;
  /** Until when addresses wait. Epoch milliseconds. */
  const waiting = new Map<string, number>();
  /** Requests of accounts in the present minute. In memory: a row for each would cost more than the request. */
  const used = new Map<string, { count: number; readonly endsAt: number }>();

  async function noteWrong(address: string): Promise<void> {
    const { allowed, remaining, resetSeconds } = await limiter.consume(
      `vault.dav:${address}`,
      WRONG_LIMIT,
    );
    if (limiter.counts && (!allowed || remaining === 0))
      remember(waiting, address, clock() + resetSeconds * 1000);
  }

  function countRequest(userId: string): void {
    if (!limiter.counts) return;
    const now = clock();
    const known = used.get(userId);
    // A window from the future is one of a clock that was set back.
    const isOver = known === undefined || known.endsAt <= now || known.endsAt > now + MINUTE_MS;
    const window = isOver ? { count: 0, endsAt: now + MINUTE_MS } : known;
    window.count += 1;
    remember(used, userId, window);
    if (window.count > requestsPerMinute) throw tooMany(Math.ceil((window.endsAt - now) / 1000));
  }

  return {
    /** Returns the caller and the token. Refuses with 401, 403 and 429. */
    async find(
      request: ServerRequest,
      message: IncomingMessage,
    ): Promise<{ readonly caller: VaultCaller; readonly token: string }> {
      assertPrivate(message);
      const given = readBasic(request.headers.authorization);
      if (given === undefined)
        throw challenge("Sign in with your e-mail address and a machine token.");
      const address = limiter.addressKey(request.address);
      const until = waiting.get(address);
      const now = clock();
      if (until !== undefined && until > now && until <= now + WRONG_LIMIT.seconds * 1000)
        throw tooMany(Math.ceil((until - now) / 1000));
      const { email, token } = given;
      const caller = hasMachineTokenPrefix(token) ? await identify(request, token) : undefined;
      if (caller === undefined || caller.email !== email.trim().toLowerCase()) {
        await noteWrong(address);
        throw challenge(hasMachineTokenPrefix(token) ? WRONG_TOKEN : NO_PASSWORDS);
      }
      if (caller.role !== "user")
        throw new DavRefusal(403, "Administrators have no documents and connections.");
      countRequest(caller.userId);
      return { caller, token };
    },
  };

  async function identify(request: ServerRequest, token: string): Promise<VaultCaller | undefined> {
    try {
      return await authentication.identify(token, toClient(request));
    } catch (error) {
      if (error instanceof AppError && error.code === "unauthenticated") return undefined;
      throw error;
    }
  }
}

const NO_PASSWORDS =
  'The password here is a machine token, not that of the account. Make one: croft vault token create "my laptop" --scope write';
const WRONG_TOKEN =
  "The machine token has ended or is another account's. Make one: croft vault token create NAME --scope write";

function challenge(text: string): DavRefusal {
  return new DavRefusal(401, text, {
    headers: {
      "WWW-Authenticate": 'Basic realm="croft: e-mail and machine token", charset="UTF-8"',
    },
  });
}

function tooMany(seconds: number): DavRefusal {
  return new DavRefusal(429, `Too many requests. Try again in ${seconds} seconds.`, {
    headers: { "Retry-After": String(seconds) },
  });
}

function readBasic(header: string | undefined): { email: string; token: string } | undefined {
  const [, encoded] = /^basic +([A-Za-z0-9+/_=-]{1,2048})$/i.exec(header?.trim() ?? "") ?? [];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  return colon === -1 ? undefined : { email: text.slice(0, colon), token: text.slice(colon + 1) };
}

/**
 * Refuses a token that came over the network without encryption. A proxy in front says how the client spoke to it; without a
 * proxy a client is on this machine or speaks https.
 */
function assertPrivate({ socket, headers }: IncomingMessage): void {
  if ("encrypted" in socket) return;
  const forwarded = String(headers["x-forwarded-proto"] ?? "")
    .split(",")[0]
    ?.trim()
    .toLowerCase();
  const peer = socket.remoteAddress?.replace(/^::ffff:(?=\d)/, "") ?? "";
  if (forwarded === "https" || (!forwarded && isLoopback(peer))) return;
  throw new DavRefusal(403, "WebDAV needs https here: the token would be readable on its way.");
}

function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= REMEMBERED_MAX) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
