import { randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Dispatcher, request } from "undici";
import { toFailedRequest } from "./guarded-request.ts";
import { type LeastRate, watchRate } from "./least-rate.ts";

/** A git repository on another server. */
export interface GitRemote {
  /** An address of http or https without credentials. */
  readonly url: string;
  /** Both are empty for an anonymous visitor. */
  readonly username: string;
  readonly password: string;
}

/**
 * Why the remote did not serve git. `refused`: the policy forbids an address; `status`: it answered with another status
 * than 200; `not_git`: it answered something else than git's protocol; `too_large`: it sent more than allowed; `failed`: no
 * response in time, or a lost connection. `reason` is for people and contains no address.
 */
export type RemoteFailure =
  | { readonly kind: "refused" | "not_git" | "too_large" | "failed"; readonly reason: string }
  | { readonly kind: "status"; readonly status: number };

export interface SessionOptions {
  readonly service: "git-upload-pack" | "git-receive-pack";
  /** Maximum bytes that the remote may send in all. */
  readonly receivedBytesMax: number;
  /** Called with the number of bytes of each part that git or the remote has sent. */
  readonly count?: (bytes: number) => void;
  /** Ends all exchanges with the remote. */
  readonly signal: AbortSignal;
}

/** An open way to one remote for runs of git. The end of the block closes it. */
export interface GatewaySession extends AsyncDisposable {
  /** The address that git uses. It holds no secret. */
  readonly url: string;
  /** Environment and configuration of runs of git. */
  readonly env: Readonly<Record<string, string>>;
  readonly config: Readonly<Record<string, string>>;
  /** Returns why the remote failed, after a run of git failed; undefined when the remote is not the reason. */
  failure(): RemoteFailure | undefined;
}

export type GitGateway = ReturnType<typeof createGitGateway>;

interface Session {
  readonly options: SessionOptions;
  /** Without a slash at the end; follows a redirect of the listing of refs. */
  base: string;
  authorization: string | undefined;
  received: number;
  failure: RemoteFailure | undefined;
}

const SECRET_HEADER = "x-croft-gateway";
const REDIRECTS_MAX = 5;
/** Time without a byte from the remote. A server sends a sign of life every five seconds while it counts objects. */
const IDLE_MS = 120_000;
/** In both directions. A server that packs a large repository, and git that packs a large push, send little for minutes. */
const LEAST_RATE: LeastRate = { graceMs: 600_000, bytesPerSecond: 32 * 1024 };
/** Maximum bytes of the first listing, which git reads into memory. */
const LISTING_BYTES_MAX = 64 * 1024 * 1024;

/**
 * The way of git to servers that users name. Git would resolve names and follow redirects by itself, past the policy for
 * addresses, and would have to be given credentials. So git only speaks to this gateway, a listener on the loopback
 * address, and the gateway speaks to the remote through the guarded dispatcher: each name is resolved once, each address
 * is checked, redirects are checked like the first address, credentials stay in the daemon, and bytes, time and rate
 * are bounded. Another program of this machine cannot use it: each request of git carries a secret, which is in the
 * environment of git and not in its arguments. It listens while sessions are open.
 */
export function createGitGateway({
  dispatcher,
  leastRate = LEAST_RATE,
}: {
  readonly dispatcher: Dispatcher;
  /** Ends exchanges with slower remotes; 32 KiB in a second, after ten minutes. */
  readonly leastRate?: LeastRate;
}) {
  const secret = randomBytes(32).toString("hex");
  const sessions = new Map<string, Session>();
  let listening: Promise<Server> | undefined;

  return {
    /** Opens the way to a remote for one service of git. */
    async open(remote: GitRemote, options: SessionOptions): Promise<GatewaySession> {
      const id = randomUUID();
      const session: Session = {
        options,
        base: remote.url.replace(/\/+$/, ""),
        authorization: toAuthorization(remote),
        received: 0,
        failure: undefined,
      };
      sessions.set(id, session);
      try {
        listening ??= listen().catch((error: unknown) => {
          // The next session tries again.
          listening = undefined;
          throw error;
        });
        const { port } = (await listening).address() as AddressInfo;
        return {
          url: `http://127.0.0.1:${port}/${id}`,
          env: { GIT_ALLOW_PROTOCOL: "http" },
          config: {
            "http.extraHeader": `${SECRET_HEADER}: ${secret}`,
            "http.followRedirects": "false",
            "credential.helper": "",
          },
          failure: () => session.failure,
          [Symbol.asyncDispose]: () => end(id),
        };
      } catch (error) {
        await end(id);
        throw error;
      }
    },
  };

  async function listen(): Promise<Server> {
    const server = createServer((incoming, response) => {
      serve(incoming, response).catch(() => response.destroy());
    });
    // Beneath the limits of the exchanges: git sends the pack of a push in one request.
    server.requestTimeout = 0;
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return server;
  }

  async function end(id: string): Promise<void> {
    sessions.delete(id);
    if (sessions.size > 0) return;
    const server = await listening?.catch(() => undefined);
    // Another session may have begun meanwhile.
    if (sessions.size > 0 || server === undefined) return;
    listening = undefined;
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  }

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, id = "", rest = ""] = /^\/([0-9a-f-]{36})(\/.*)$/.exec(incoming.url ?? "") ?? [];
    const session = sessions.get(id);
    if (session === undefined || !isSecret(incoming.headers[SECRET_HEADER])) {
      response.writeHead(404).end();
      return;
    }
    const { service, signal, count } = session.options;
    const left = new AbortController();
    response.once("close", () => left.abort());
    const slow = new AbortController();
    const rate = watchRate(leastRate, () => {
      session.failure ??= { kind: "failed", reason: "it is too slow" };
      slow.abort();
    });
    const ends = AbortSignal.any([signal, left.signal, slow.signal]);
    const countSent = ({ byteLength }: Buffer) => {
      rate.count(byteLength);
      count?.(byteLength);
    };
    incoming.on("data", countSent).pause();
    try {
      if (incoming.method === "GET" && rest === `/info/refs?service=${service}`)
        await forward(session, await list(session, incoming, ends), response, {
          kind: "advertisement",
          rate,
        });
      else if (incoming.method === "POST" && rest === `/${service}`)
        await forward(session, await exchange(session, incoming, ends), response, {
          kind: "result",
          rate,
        });
      else response.writeHead(404).end();
    } catch (error) {
      if (error instanceof RemoteError) session.failure ??= error.failure;
      // A git that leaves has its own reason.
      else if (!left.signal.aborted) session.failure ??= toFailedRequest(error);
      if (response.headersSent) response.destroy();
      else response.writeHead(502).end();
    } finally {
      rate.stop();
    }
  }

  /** Requests the listing of refs. A redirect to the listing of another repository makes that the remote. */
  async function list(session: Session, incoming: IncomingMessage, signal: AbortSignal) {
    const suffix = `/info/refs?service=${session.options.service}`;
    for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects++) {
      const answer = await send(session, suffix, incoming, { method: "GET", body: null, signal });
      const location = answer.headers["location"];
      if (![301, 302, 303, 307, 308].includes(answer.statusCode) || typeof location !== "string")
        return answer;
      answer.body.on("error", () => undefined).destroy();
      follow(session, location, suffix);
    }
    throw new RemoteError({ kind: "failed", reason: "too many redirects" });
  }

  function follow(session: Session, location: string, suffix: string): void {
    const from = new URL(session.base + suffix);
    const to = URL.canParse(location, from) ? new URL(location, from) : undefined;
    if (to === undefined || !/^https?:$/.test(to.protocol) || !to.href.endsWith(suffix))
      throw new RemoteError({
        kind: "not_git",
        reason: "it redirects to something that is no git repository",
      });
    if (from.protocol === "https:" && to.protocol === "http:")
      throw new RemoteError({ kind: "refused", reason: "a redirect leads from https to http" });
    // Credentials belong to the server for which they were given.
    if (to.origin !== from.origin) session.authorization = undefined;
    to.username = "";
    to.password = "";
    session.base = to.href.slice(0, -suffix.length);
  }

  function exchange(session: Session, incoming: IncomingMessage, signal: AbortSignal) {
    const to = `/${session.options.service}`;
    return send(session, to, incoming, { method: "POST", body: incoming, signal });
  }

  function send(
    { base, authorization }: Session,
    path: string,
    { headers: given }: IncomingMessage,
    options: {
      readonly method: "GET" | "POST";
      readonly body: IncomingMessage | null;
      readonly signal: AbortSignal;
    },
  ): Promise<Dispatcher.ResponseData> {
    const headers: Record<string, string> = {
      "user-agent": given["user-agent"] ?? "git/2",
      accept: given.accept ?? "*/*",
      ...(authorization === undefined ? {} : { authorization }),
    };
    for (const name of ["content-type", "content-encoding", "content-length", "git-protocol"]) {
      const value = given[name];
      if (typeof value === "string" && options.body !== null) headers[name] = value;
      else if (typeof value === "string" && name === "git-protocol") headers[name] = value;
    }
    return request(base + path, {
      dispatcher,
      headers,
      headersTimeout: IDLE_MS,
      bodyTimeout: IDLE_MS,
      ...options,
    });
  }

  /** Passes a response on to git, as far as it is git's protocol and within the limits. */
  async function forward(
    session: Session,
    { statusCode, headers, body }: Dispatcher.ResponseData,
    response: ServerResponse,
    {
      kind,
      rate,
    }: {
      readonly kind: "advertisement" | "result";
      readonly rate: ReturnType<typeof watchRate>;
    },
  ): Promise<void> {
    const { service, receivedBytesMax, count } = session.options;
    const most = kind === "advertisement" ? LISTING_BYTES_MAX : receivedBytesMax;
    const type = `application/x-${service}-${kind}`;
    body.on("error", () => undefined);
    try {
      if (statusCode !== 200) throw new RemoteError({ kind: "status", status: statusCode });
      const isPlain = (headers["content-encoding"] ?? "identity") === "identity";
      if (headers["content-type"] !== type || !isPlain)
        throw new RemoteError({ kind: "not_git", reason: "it is no git repository" });
      response.writeHead(200, { "content-type": type });
      let size = 0;
      for await (const chunk of body as AsyncIterable<Buffer>) {
        size += chunk.byteLength;
        rate.count(chunk.byteLength);
        count?.(chunk.byteLength);
        session.received += chunk.byteLength;
        if (size > most || session.received > receivedBytesMax)
          throw new RemoteError({ kind: "too_large", reason: "it sends more than is allowed" });
        if (!response.write(chunk)) await drained(response);
      }
      response.end();
    } finally {
      body.destroy();
    }
  }

  function isSecret(given: string | string[] | undefined): boolean {
    const bytes = Buffer.from(typeof given === "string" ? given : "");
    return bytes.byteLength === secret.length && timingSafeEqual(bytes, Buffer.from(secret));
  }
}

class RemoteError extends Error {
  readonly failure: RemoteFailure;

  constructor(failure: RemoteFailure) {
    super(failure.kind);
    this.name = "RemoteError";
    this.failure = failure;
  }
}

/** Resolves when more can be written, or when git has left. */
async function drained(response: ServerResponse): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  response.once("drain", resolve).once("close", resolve);
  await promise;
  response.off("drain", resolve).off("close", resolve);
  if (response.destroyed) throw new Error("git has ended");
}

/** Returns the header that signs in at a remote; undefined for an anonymous visitor. */
export function toAuthorization({
  username,
  password,
}: Pick<GitRemote, "username" | "password">): string | undefined {
  if (username === "" && password === "") return undefined;
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}
