import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer as createProbe, type AddressInfo, type Socket } from "node:net";
import { toNodeHandler, type H3 } from "h3";
import type { HostRefusal } from "./host-check.ts";
import type { Api, ServerRequest } from "./handle.ts";
import { writeAnswer } from "./replies.ts";

const KEEP_ALIVE_MS = 5_000;
const HEADERS_MAX = 200;

/** One API behind its prefixes. */
export interface MountedApi {
  readonly app: H3;
  // oxlint-disable-next-line typescript/no-explicit-any -- the caller type does not matter to the transport
  readonly api: Api<any>;
  /** Whether a path belongs to this API. */
  readonly owns: (path: string) => boolean;
}

/** A page outside both APIs: health, metrics, documents. */
export type PlainRoute = (request: ServerRequest, response: ServerResponse) => Promise<void> | void;

export interface HandlerOptions {
  readonly apis: readonly MountedApi[];
  /** Exact path to page; GET and HEAD only. */
  readonly pages: ReadonlyMap<string, PlainRoute>;
  readonly checkHost: (request: IncomingMessage) => HostRefusal | undefined;
  readonly toServerRequest: (message: IncomingMessage, response: ServerResponse) => ServerRequest;
  readonly onRequest: (message: IncomingMessage, response: ServerResponse) => void;
  readonly onBug: (error: unknown, request: ServerRequest) => void;
}

export type NodeHandler = (message: IncomingMessage, response: ServerResponse) => void;

/**
 * The one function that every connection ends in: names the request, checks its host and origin, and hands it
 * to the API of its prefix. Two apps and this switch, not one mounted into the other: a mounted app loses its
 * own 404 and error bodies.
 */
export function createNodeHandler(options: HandlerOptions): NodeHandler {
  const mounted = options.apis.map((each) => ({ ...each, handle: toNodeHandler(each.app) }));
  return (message, response) => {
    options.onRequest(message, response);
    const target = message.url ?? "/";
    const mark = target.indexOf("?");
    const pathname = mark === -1 ? target : target.slice(0, mark);
    const mine = mounted.find((each) => each.owns(pathname));
    const refusal = options.checkHost(message);
    if (refusal !== undefined) {
      refuse(response, refusal.status, refusal.message, mine?.api);
      return;
    }
    if (mine !== undefined) {
      if (isMalformed(pathname)) {
        refuse(response, 400, `unable to unescape path ${pathname}`, mine.api);
        return;
      }
      if (hasDotSegment(pathname)) {
        refuseUnknown(options.toServerRequest(message, response), response, mine.api);
        return;
      }
      // A backslash is a character of a name like any other; the router would take it for a slash.
      const literal = pathname.replaceAll("\\", "%5C");
      const path = mine.api.name === "forge" ? normalised(literal) : literal;
      if (path !== pathname) message.url = path + target.slice(pathname.length);
      void mine.handle(message as never, response as never);
      return;
    }
    void servePage(options, message, response, pathname);
  };
}

async function servePage(
  options: HandlerOptions,
  message: IncomingMessage,
  response: ServerResponse,
  pathname: string,
): Promise<void> {
  const request = options.toServerRequest(message, response);
  const page = options.pages.get(pathname);
  try {
    if (page === undefined) writeAnswer(response, 404, TEXT, "404 page not found\n", "");
    else if (message.method === "GET" || message.method === "HEAD") await page(request, response);
    else
      writeAnswer(response, 405, { ...TEXT, Allow: "GET, HEAD" }, "405 method not allowed\n", "");
  } catch (error) {
    options.onBug(error, request);
    writeAnswer(response, 500, TEXT, "Internal server error\n", "");
  }
}

const TEXT = {
  "Content-Type": "text/plain; charset=utf-8",
  "X-Content-Type-Options": "nosniff",
} as const;

function refuse(
  response: ServerResponse,
  status: number,
  message: string,
  api: MountedApi["api"] | undefined,
): void {
  const headers = { "X-Content-Type-Options": "nosniff", ...api?.headers, Connection: "close" };
  if (api?.name === "forge" && status === 400)
    writeAnswer(response, status, { ...headers, ...TEXT }, `400 Bad Request: ${message}`, "");
  else if (api?.name === "forge")
    writeAnswer(response, status, headers, { message }, "application/json;charset=utf-8");
  else writeAnswer(response, status, headers, { detail: message }, "application/json");
}

/** The answer to an address that no route has, before any router sees it. */
function refuseUnknown(
  request: ServerRequest,
  response: ServerResponse,
  api: MountedApi["api"],
): void {
  const { status, headers, body } = api.notFound(request);
  const all = { ...api.headers, ...headers, Connection: "close" };
  writeAnswer(response, status, all, body, "application/json");
}

/**
 * Whether a path has a segment `.` or `..`, written in any way. The router would resolve it: what is meant as the name of
 * an item or a hook would be the connection or the repository that it belongs to.
 */
function hasDotSegment(pathname: string): boolean {
  return /\/(?:\.|%2e){1,2}(?:\/|$)/i.test(pathname);
}

/** Whether a path has escapes that mean nothing. */
function isMalformed(pathname: string): boolean {
  if (!pathname.includes("%")) return false;
  try {
    decodeURIComponent(pathname);
    return false;
  } catch {
    return true;
  }
}

/** The forge's paths without repeated and trailing slashes (forge behaviour, 1.1). */
function normalised(pathname: string): string {
  if (!pathname.includes("//") && !pathname.endsWith("/")) return pathname;
  return pathname.replace(/\/{2,}/g, "/").replace(/(?<=.)\/$/, "");
}

/** Where to listen. `tls` serves https instead of http on that port. */
export interface ListenAt {
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly timeouts: Timeouts;
  /** What another port is chosen with; `--port` unless said otherwise. */
  readonly portFlag?: "--port" | "--tls-port";
}

/** Bounds on slow and abusive clients, in milliseconds. A body that streams may take as long as `request`. */
export interface Timeouts {
  readonly headers: number;
  /** Without a byte either way. A client that has sent everything and waits for the first byte of its answer is not idle. */
  readonly idle: number;
  /** 0 is no limit. */
  readonly request: number;
}

export interface Listening {
  readonly url: string;
  readonly port: number;
  /** Stops accepting, lets running requests finish for `graceMs`, then cuts the rest off. */
  stop(graceMs: number): Promise<void>;
}

/** Why a port could not be had, and what helps; `code` is the system's. */
class ListenError extends Error {
  readonly code: string;
  readonly hint: string | undefined;
  constructor(code: string, [message, hint]: ListenText, cause: unknown) {
    super(message, { cause });
    this.name = "ListenError";
    this.code = code;
    this.hint = hint;
  }
}

type ListenText = readonly [message: string, hint?: string];

/** Listens with listhen. Fails with `ListenError` when the port is taken or may not be used. */
export async function listenAt(handler: NodeHandler, at: ListenAt): Promise<Listening> {
  const port = await freePort(at);
  const { listen } = await import("listhen");
  const answers = new WeakMap<Socket, ServerResponse>();
  const noted: NodeHandler = (message, response) => {
    answers.set(message.socket, response);
    handler(message, response);
  };
  const listener = await listen(noted, {
    port: { port, ports: [], alternativePortRange: [0, 0], random: false, host: at.host },
    hostname: at.host,
    https: at.tls === undefined ? false : { cert: at.tls.certFile, key: at.tls.keyFile },
    public: !isLoopback(at.host),
    isProd: true,
    isTest: true,
    showURL: false,
    autoClose: false,
    open: false,
    clipboard: false,
    qr: false,
  });
  const server = listener.server as Server;
  keepOnly(server, noted);
  tune(server, at.timeouts, (socket) => isAwaited(answers.get(socket)));
  const scheme = at.tls === undefined ? "http" : "https";
  const host = at.host.includes(":") ? `[${at.host}]` : at.host;
  const bound = (server.address() as AddressInfo).port;
  return {
    url: `${scheme}://${host}:${bound}`,
    port: bound,
    stop: (graceMs) => stopServer(server, graceMs),
  };
}

/** Whether a host name or address stays on this machine. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/**
 * listhen watches requests for a shutdown of its own, and its watcher throws when a request was destroyed before its
 * answer had ended: any client could end the daemon. `stop` does without it.
 */
function keepOnly(server: Server, handler: NodeHandler): void {
  for (const listener of server.listeners("request"))
    if (listener !== handler) server.removeListener("request", listener as NodeHandler);
}

function tune(
  server: Server,
  timeouts: Timeouts,
  isWaitingForUs: (socket: Socket) => boolean,
): void {
  server.headersTimeout = timeouts.headers;
  server.requestTimeout = timeouts.request;
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.maxHeadersCount = HEADERS_MAX;
  server.setTimeout(timeouts.idle, (socket: Socket) => {
    if (!isWaitingForUs(socket)) socket.destroy();
  });
}

/** Whether all of a request is here and nothing of its answer has gone out: a large upload may be on its way to a storage. */
function isAwaited(response: ServerResponse | undefined): boolean {
  return response !== undefined && response.req.complete && !response.headersSent;
}

/** listhen would take another port or crash the process when this one is taken; a probe finds out first. */
async function freePort({ host, port, portFlag = "--port" }: ListenAt): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const probe = createProbe();
  probe.once("error", (error: NodeJS.ErrnoException) => {
    const code = error.code ?? "UNKNOWN";
    reject(new ListenError(code, listenText(code, host, port, portFlag), error));
  });
  probe.listen({ host, port, exclusive: true }, () => {
    const { port: found } = probe.address() as AddressInfo;
    probe.close(() => resolve(found));
  });
  return promise;
}

function listenText(code: string, host: string, port: number, flag: string): ListenText {
  if (code === "EADDRINUSE")
    return [
      `Port ${port} on ${host} is taken by another program.`,
      `${flag} takes another port, 0 a free one`,
    ];
  if (code === "EACCES")
    return [
      `This user may not listen on port ${port} of ${host}.`,
      `${flag} takes a port above 1023, 0 a free one`,
    ];
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
    return [`${host} is no address of this machine.`, "--host takes another one"];
  return [`Cannot listen on ${host} port ${port} (${code}).`];
}

async function stopServer(server: Server, graceMs: number): Promise<void> {
  const closed = Promise.withResolvers<void>();
  server.close(() => closed.resolve());
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed.promise;
  clearTimeout(timer);
}
