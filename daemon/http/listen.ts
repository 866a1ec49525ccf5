import { get, type Server, type ServerResponse } from "node:http";
import { Server as TlsServer } from "node:https";
import { createServer as createProbe, type AddressInfo, type Socket } from "node:net";
import { AppError } from "../errors.ts";
import type { Settings } from "../settings/settings.ts";
import { limitChunks, limitConnections, limitPipelining, sliceReads } from "./connection-limit.ts";
import { startInSlices } from "./request-slices.ts";
import type { NodeHandler } from "./server.ts";
import type { Certificate, CertificateFiles } from "./tls.ts";

/**
 * Time for which an idle connection stays open: longer than proxies keep theirs, which is 60 s with nginx. A proxy that
 * sends a request on a connection that closes in this moment answers 502.
 */
const KEEP_ALIVE_MS = 75_000;
const HEADERS_MAX = 200;

/** Address, port and timeouts of one listener. With `tls` it serves https instead of http. */
export interface ListenAt {
  readonly host: string;
  readonly port: number;
  readonly tls: CertificateFiles | undefined;
  readonly timeouts: Timeouts;
  /** The flag that error messages suggest for another port; `--port` by default. */
  readonly portFlag?: "--port" | "--tls-port";
}

/** Timeouts against slow and abusive clients, in milliseconds. A streamed body may take as long as `request`. */
export interface Timeouts {
  readonly headers: number;
  /** Time without a byte in either direction. A client that waits for the first byte of its response is not idle. */
  readonly idle: number;
  /** Time for a whole request; 0 means no limit. */
  readonly request: number;
}

export type Listening = Awaited<ReturnType<typeof listenAt>>;

/** Thrown when the daemon cannot listen on a port; `code` is the system's error code, `hint` the remedy. */
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

/** Starts a listener. Throws `ListenError` when the port is in use or not permitted. */
export async function listenAt(handler: NodeHandler, at: ListenAt) {
  const port = await freePort(at);
  const { listen } = await import("listhen");
  const responses = new WeakMap<Socket, ServerResponse>();
  const limited = limitConnections(limitChunks(startInSlices(handler)));
  const noted = limitPipelining(
    (message, response) => {
      responses.set(message.socket, response);
      limited.handler(message, response);
    },
    (socket) => responses.get(socket),
  );
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
  limited.watch(server);
  sliceReads(server);
  tune(server, at.timeouts, (socket) => isAwaited(responses.get(socket)));
  const scheme = at.tls === undefined ? "http" : "https";
  const host = at.host.includes(":") ? `[${at.host}]` : at.host;
  const bound = (server.address() as AddressInfo).port;
  return {
    url: `${scheme}://${host}:${bound}`,
    port: bound,
    /** Serves another certificate to new connections; running ones keep theirs. Does nothing for http. */
    replaceCertificate: ({ cert, key }: Certificate) => {
      if (server instanceof TlsServer) server.setSecureContext({ cert, key });
    },
    /** Stops accepting, waits at most `graceMs` for running requests, then closes all connections. */
    stop: (graceMs: number) => stopServer(server, graceMs),
  };
}

/** Returns whether a host name or address is a loopback one. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/**
 * Removes listhen's own listener, which tracks requests for a shutdown and throws when one is destroyed before its
 * response has ended: any client could end the daemon. `stop` does not need it.
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

/**
 * Returns whether a request has arrived whole and its response has not started, for example while an upload is stored
 * remotely.
 */
function isAwaited(response: ServerResponse | undefined): boolean {
  return response !== undefined && response.req.complete && !response.headersSent;
}

/** Resolves with the port when it is free. listhen would take another one, or crash the process, when it is not. */
async function freePort({ host, port, portFlag = "--port" }: ListenAt): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const probe = createProbe();
  probe.once("error", (error: NodeJS.ErrnoException) => {
    const isTaken = error.code === "EADDRINUSE";
    (isTaken ? isCroft(host, port) : Promise.resolve(false)).then((isOther) => {
      reject(toListenError(error, host, port, portFlag, isOther));
    }, reject);
  });
  probe.listen({ host, port, exclusive: true }, () => {
    const { port: found } = probe.address() as AddressInfo;
    probe.close(() => resolve(found));
  });
  return promise;
}

/** Returns the error for a port on which the daemon cannot listen. */
export function toListenError(
  error: NodeJS.ErrnoException,
  host: string,
  port: number,
  flag: string,
  isOther = false,
): Error {
  const code = error.code ?? "UNKNOWN";
  return new ListenError(code, listenText(code, host, port, flag, isOther), error);
}

/** Milliseconds in which the program on a taken port may say what it is. */
const ASK_MS = 1_000;

/** Returns whether another croft listens on a port, by its start page. */
function isCroft(host: string, port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const name = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  const request = get({ host: name, port, path: "/", timeout: ASK_MS }, (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      // The first word is enough, and the program may send anything.
      if (text.length > 64) request.destroy();
    });
    response.on("close", () => resolve(text.startsWith("croft ")));
  });
  request.on("timeout", () => request.destroy());
  request.on("error", () => resolve(false));
  return promise;
}

function listenText(
  code: string,
  host: string,
  port: number,
  flag: string,
  isOther: boolean,
): ListenText {
  if (code === "EADDRINUSE")
    return [
      isOther
        ? `Port ${port} on ${host} is taken by another croft, the daemon of another home.`
        : `Port ${port} on ${host} is taken by another program.`,
      `${flag} takes another port, 0 a free one`,
    ];
  if (code === "EACCES")
    return [
      `This user may not listen on port ${port} of ${host}.`,
      `${flag} takes a port above 1023, 0 a free one`,
    ];
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
    return [`${host} is not an address of this machine.`, "--host takes another one"];
  return [`Cannot listen on ${host} port ${port} (${code}).`];
}

/** How often a stopping server closes the connections that have become idle. */
const SWEEP_MS = 50;

async function stopServer(server: Server, graceMs: number): Promise<void> {
  const closed = Promise.withResolvers<void>();
  server.close(() => closed.resolve());
  server.closeIdleConnections();
  // A connection whose request has just ended is kept alive, and would hold the server for the rest of the time.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed.promise;
  clearInterval(sweep);
  clearTimeout(timer);
}

/** All listeners of the daemon. */
export type ListeningEverywhere = Awaited<ReturnType<typeof listenEverywhere>>;

/**
 * Listens for http, and for https when TLS is on. Refuses plain http beyond loopback unless `insecure_http` allows it.
 * All or nothing: closes the first port when the second one is not available.
 */
export async function listenEverywhere(
  settings: Settings,
  handler: NodeHandler,
  certificate: CertificateFiles | undefined,
) {
  const timeouts = {
    headers: settings.headersTimeoutSeconds * 1000,
    idle: settings.idleTimeoutSeconds * 1000,
    request: settings.requestTimeoutSeconds * 1000,
  };
  const open: Listening[] = [];
  const stop = async (graceMs: number) => {
    await Promise.all(open.map((listening) => listening.stop(graceMs)));
  };
  const add = async (at: Omit<ListenAt, "timeouts" | "host">) => {
    open.push(await listenAt(handler, { ...at, host: settings.host, timeouts }));
  };
  const plain = isLoopback(settings.host) || settings.insecureHttp;
  if (!plain && certificate === undefined)
    throw new AppError(
      "invalid_argument",
      `${settings.host} is reachable from other machines, and plain http would send passwords in the clear. ` +
        "Add --tls self (or --tls CERT,KEY), or --insecure-http behind a proxy that speaks https.",
    );
  try {
    if (plain) await add({ port: settings.port, tls: undefined });
    if (certificate !== undefined)
      await add({
        port: httpsPort(settings, plain),
        tls: certificate,
        portFlag: plain ? "--tls-port" : "--port",
      });
  } catch (error) {
    await stop(0);
    throw error;
  }
  return {
    /** http first. */
    urls: open.map((listening) => listening.url),
    /** Serves another certificate to new connections of https. */
    replaceCertificate: (replacement: Certificate) => {
      for (const listening of open) listening.replaceCertificate(replacement);
    },
    /** Stops accepting on all of them and waits for running requests at most `graceMs`. */
    stop,
  };
}

/** Returns the port of SSH: the configured one, else the second after http's, or a free one. */
export function toSshPort({ sshPort, port }: Settings): number {
  return sshPort ?? (port === 0 ? 0 : port + 2);
}

/** Returns the port of https: the configured one, else the one after http's (or a free one); without plain http its port. */
function httpsPort(settings: Settings, plain: boolean): number {
  if (settings.tlsPort !== undefined) return settings.tlsPort;
  if (!plain) return settings.port;
  return settings.port === 0 ? 0 : settings.port + 1;
}
