import { lookup as systemLookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { LookupFunction, Socket } from "node:net";
import type { Readable } from "node:stream";
import { Agent, buildConnector, type Dispatcher, request } from "undici";
import type { AddressCheck } from "./address-policy.ts";

/** One request to a server that a user named. */
export interface OutboundRequest {
  readonly url: string;
  readonly method: "GET" | "POST" | "PUT";
  /** Values by name, in the case in which the names are sent. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Names of headers that are not sent after a redirect to another origin. */
  readonly privateHeaders: readonly string[];
  /**
   * False: a redirect is the answer. `with_body`: one that turns the request into a GET without its body is the answer.
   * `same_request`: each is followed with the method and the body, as clients of Git LFS do. Otherwise up to five are followed.
   */
  readonly followsRedirects?: false | "with_body" | "same_request";
  /** Aborts all of it: lookups, connections, redirects and the response. */
  readonly timeoutMs: number;
  /** Maximum length of the response body; the rest is not read. */
  readonly responseBytesMax: number;
  readonly signal?: AbortSignal;
}

/**
 * The outcome of a request. `refused`: the policy forbids the address, or it is invalid. `failed`: no response in time, or
 * not HTTP. `reason` is for people and contains no address.
 */
export type OutboundOutcome =
  | {
      readonly kind: "answered";
      readonly status: number;
      /** Values by lower-case name; those of repeated headers are joined by commas. */
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Buffer;
      /** The body was longer than the maximum. */
      readonly isCut: boolean;
    }
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "failed"; readonly reason: string };

/** Sends one request within the address policy. Never throws; an aborted signal is `failed`. */
export type GuardedRequest = (outbound: OutboundRequest) => Promise<OutboundOutcome>;

/** Resolves a name to its addresses. */
export type Resolve = (
  hostname: string,
) => Promise<readonly { readonly address: string; readonly family: number }[]>;

/** Dependencies of requests to servers that users name. */
export interface Guard {
  readonly check: AddressCheck;
  /** The system's resolver when absent. */
  readonly resolve?: Resolve;
}

/** The policy forbids every address of a host. */
class RefusedAddressError extends Error {
  readonly code = "ERR_ADDRESS_REFUSED";

  constructor(reason: string) {
    super(reason);
    this.name = "RefusedAddressError";
  }
}

const REDIRECTS_MAX = 5;

/**
 * Creates a dispatcher for undici's `request` that connects to permitted addresses only. It resolves a name once, checks
 * its addresses and connects to a permitted one, so a later answer of the name server has no effect (DNS rebinding). It
 * follows no redirects. For streams; `createGuardedRequest` is for small responses. The caller closes it.
 */
export function createGuardedDispatcher({ check, resolve = resolveBySystem }: Guard): Agent {
  const lookupFor =
    (port: number): LookupFunction =>
    (hostname, options, callback) => {
      resolve(hostname).then(
        (found) => {
          const permitted = found.filter(
            ({ address }) => check.refusal(address, port) === undefined,
          );
          const [first] = permitted;
          if (first === undefined) {
            const reason = found[0] && check.refusal(found[0].address, port);
            return callback(new RefusedAddressError(reason ?? "the name has no address"), "", 0);
          }
          return options.all === true
            ? callback(null, [...permitted])
            : callback(null, first.address, first.family);
        },
        (error: NodeJS.ErrnoException) => callback(error, "", 0),
      );
    };
  return new Agent({
    // Few connections are kept alive for a short time: hooks fire seldom, and adapters have their own dispatchers.
    keepAliveTimeout: 4_000,
    connect(options, callback) {
      const port = Number(options.port || (options.protocol === "https:" ? 443 : 80));
      const hostname = options.hostname.replace(/^\[|\]$/g, "");
      // The lookup is not called for a literal address.
      const refusal = isIP(hostname) === 0 ? undefined : check.refusal(hostname, port);
      if (refusal !== undefined) return callback(new RefusedAddressError(refusal), null);
      const connect = buildConnector({ lookup: lookupFor(port), allowH2: false });
      return connect({ ...options, hostname }, (error, socket) => {
        if (error !== null) return callback(error, null);
        const reached = refusalOf(socket, port);
        if (reached === undefined) return callback(null, socket);
        socket.destroy();
        return callback(new RefusedAddressError(reached), null);
      });
    },
  });

  function refusalOf(socket: Socket, port: number): string | undefined {
    return check.refusal(socket.remoteAddress ?? "", port);
  }
}

/** Creates a function that sends small requests through a guarded dispatcher. Each redirect is checked like the first address. */
export function createGuardedRequest(dispatcher: Dispatcher): GuardedRequest {
  return async (outbound) => {
    const timeout = AbortSignal.timeout(outbound.timeoutMs);
    const signal =
      outbound.signal === undefined ? timeout : AbortSignal.any([timeout, outbound.signal]);
    try {
      const answer = await follow(outbound, dispatcher, signal);
      return "kind" in answer ? answer : await readAnswer(answer, outbound.responseBytesMax);
    } catch (error) {
      if (timeout.aborted && !(error instanceof RefusedAddressError))
        return { kind: "failed", reason: `no answer within ${outbound.timeoutMs / 1000} s` };
      return toFailedRequest(error);
    }
  };
}

/** Describes why a request through a guarded dispatcher failed. */
export function toFailedRequest(
  error: unknown,
): Exclude<OutboundOutcome, { readonly kind: "answered" }> {
  if (error instanceof RefusedAddressError)
    return { kind: "refused", reason: `the address is not permitted: ${error.message}` };
  return { kind: "failed", reason: toReason(error) };
}

/** What following a request needs of it. */
type Followed = Pick<
  OutboundRequest,
  "url" | "method" | "headers" | "body" | "privateHeaders" | "followsRedirects"
>;
type Unanswered = Exclude<OutboundOutcome, { readonly kind: "answered" }>;

/** The outcome of a download: as `OutboundOutcome`, with a body that the caller reads to its end or destroys. */
export type OutboundStream =
  | {
      readonly kind: "answered";
      readonly status: number;
      /** As in `OutboundOutcome`. */
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Readable;
      /** As the server declares it. */
      readonly size: number | undefined;
    }
  | Unanswered;

/** Downloads a file within the address policy. Never throws; an aborted signal is `failed`. */
export type GuardedDownload = (
  outbound: Pick<OutboundRequest, "url" | "headers" | "privateHeaders"> & {
    readonly signal: AbortSignal;
  },
) => Promise<OutboundStream>;

/** Creates a function that downloads files through a guarded dispatcher, as `createGuardedRequest` sends requests. */
export function createGuardedDownload(dispatcher: Dispatcher): GuardedDownload {
  return async ({ signal, ...outbound }) => {
    try {
      const answer = await follow({ ...outbound, method: "GET", body: "" }, dispatcher, signal);
      if ("kind" in answer) return answer;
      const { statusCode: status, body } = answer;
      const headers = toTexts(answer.headers);
      const length = Number(headers["content-length"] ?? Number.NaN);
      const size = Number.isSafeInteger(length) ? length : undefined;
      return { kind: "answered", status, headers, body: body.on("error", ignore), size };
    } catch (error) {
      return toFailedRequest(error);
    }
  };
}

async function follow(
  outbound: Followed,
  dispatcher: Dispatcher,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData | Unanswered> {
  let next: Pick<OutboundRequest, "url" | "method" | "headers"> & { readonly body: string | null } =
    outbound;
  for (let redirects = 0; ; redirects += 1) {
    if (!isWebAddress(next.url))
      return { kind: "refused", reason: "it is not an address of http or https" };
    const answer = await request(next.url, {
      dispatcher,
      method: next.method,
      headers: { ...next.headers },
      body: next.body,
      signal,
    });
    const location = answer.headers["location"];
    const isRedirect = [301, 302, 303, 307, 308].includes(answer.statusCode);
    const keeps = keepsBody(outbound, answer.statusCode);
    const dropsBody = isRedirect && next.method !== "GET" && !keeps;
    const isAnswer =
      outbound.followsRedirects === false ||
      (outbound.followsRedirects === "with_body" && dropsBody);
    if (!isRedirect || typeof location !== "string" || isAnswer) return answer;
    answer.body.on("error", ignore).destroy();
    if (redirects === REDIRECTS_MAX) return { kind: "failed", reason: "too many redirects" };
    const redirected = redirect(outbound, next, location, keeps);
    if (redirected === undefined)
      return { kind: "refused", reason: "a redirect leads to no address, or from https to http" };
    next = redirected;
  }
}

/** Returns the request to the target of a redirect; undefined when it must not be sent. */
function redirect(
  { privateHeaders }: Followed,
  from: Pick<OutboundRequest, "url" | "method" | "headers"> & { readonly body: string | null },
  location: string,
  keeps: boolean,
): typeof from | undefined {
  if (!URL.canParse(location, from.url)) return undefined;
  const before = new URL(from.url);
  const to = new URL(location, from.url);
  if (before.protocol === "https:" && to.protocol === "http:") return undefined;
  const dropped = new Set([
    ...(before.origin === to.origin ? [] : privateHeaders),
    ...(keeps ? [] : ["content-type"]),
  ]);
  const headers = Object.fromEntries(
    Object.entries(from.headers).filter(([name]) => !dropped.has(name.toLowerCase())),
  );
  const rest = keeps
    ? { method: from.method, body: from.body }
    : ({ method: "GET", body: null } as const);
  return { url: to.href, headers, ...rest };
}

/** Returns whether a text is an address of http or https. */
export function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function keepsBody({ followsRedirects }: Followed, status: number): boolean {
  return followsRedirects === "same_request" || status === 307 || status === 308;
}

/** Reads a response up to a number of bytes. */
export async function readAnswer(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  bytesMax: number,
): Promise<OutboundOutcome> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk.subarray(0, bytesMax - size));
      size += chunk.byteLength;
      if (size > bytesMax) break;
    }
  } finally {
    // A body that is not read to its end would block the connection; the error of its abort is expected.
    body.on("error", ignore).destroy();
  }
  return {
    kind: "answered",
    status: statusCode,
    headers: toTexts(headers),
    body: Buffer.concat(chunks),
    isCut: size > bytesMax,
  };
}

function toTexts(headers: Dispatcher.ResponseData["headers"]): Readonly<Record<string, string>> {
  const texts = Object.entries(headers).map(
    ([name, value]) => [name.toLowerCase(), [value ?? ""].flat().join(", ")] as const,
  );
  return Object.fromEntries(texts);
}

/** Describes a failure without the address, which texts of the system contain. */
function toReason(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const inner = error instanceof AggregateError ? (error.errors[0] as unknown) : undefined;
  const word = typeof code === "string" ? code : inner === undefined ? undefined : toReason(inner);
  return (word !== undefined && reasons[word]) || `the request failed (${word ?? "unknown"})`;
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "the connection was refused (ECONNREFUSED)",
  ECONNRESET: "the connection was reset (ECONNRESET)",
  UND_ERR_SOCKET: "the connection was closed early",
  ENOTFOUND: "the name is not known (ENOTFOUND)",
  EAI_AGAIN: "names cannot be looked up at the moment (EAI_AGAIN)",
  EHOSTUNREACH: "the host cannot be reached (EHOSTUNREACH)",
  ENETUNREACH: "the network cannot be reached (ENETUNREACH)",
  UND_ERR_CONNECT_TIMEOUT: "the connection was not made in time",
  UND_ERR_HEADERS_TIMEOUT: "no answer arrived in time",
  UND_ERR_BODY_TIMEOUT: "the answer stopped in the middle",
  CERT_HAS_EXPIRED: "the certificate has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the certificate is self-signed",
};

const resolveBySystem: Resolve = (hostname) => systemLookup(hostname, { all: true });

function ignore(): void {}
