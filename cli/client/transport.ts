import type { IncomingHttpHeaders, IncomingMessage, RequestOptions } from "node:http";
import { Readable } from "node:stream";
import type { SecureContext } from "node:tls";
import { join } from "node:path";
import { CliError } from "../errors.ts";
import type { System } from "../system.ts";
import { isLoopbackHost } from "./target.ts";
import type { CliEnvironment } from "../environment.ts";
import { readTextFile } from "../profile/config-file.ts";
import type { OpenResponse, OutgoingRequest } from "./request.ts";

/** A response with its whole body. */
export interface IncomingResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Sends requests. Failed connections are `daemon_unreachable`; after an abort the signal's reason is thrown. */
export type Transport = ReturnType<typeof createTransport>;

/** The parts of a system that requests need. */
export type TransportSystem = Pick<System, "env" | "http" | "https">;

/** A daemon that sends nothing for two minutes has hung; its slowest work takes one. */
const idleMs = 2 * 60_000;
/** A storage provider may take this long to store the last byte of an upload. */
const uploadIdleMs = 10 * 60_000;

/**
 * Sends requests over Node's own HTTP client, which loads in 3 ms of CPU time where undici takes 38 to 77 ms and moves a
 * stream no faster. `fetch` would drop the body of a 205 and cannot send a length with a stream. Connections are not
 * reused: a command makes a request or two. Only a proxy from the environment takes undici.
 */
export function createTransport(
  system: TransportSystem,
  trust: Trust,
  bodyBytesMax = BODY_BYTES_MAX,
) {
  const open = async (request: OutgoingRequest): Promise<OpenResponse> => {
    const url = new URL(request.url);
    const proxy = proxyOf(url, system.env);
    const secureContext = url.protocol === "https:" ? await trust() : undefined;
    if (proxy === undefined) {
      const raw = request.isLarge === true && url.protocol === "http:";
      return (
        (raw ? await openRawly(system, url, request) : undefined) ??
        openDirectly(system, url, request, secureContext)
      );
    }
    const { openThroughProxy } = await import("./proxy.ts");
    return openThroughProxy(proxy, request, secureContext).catch((error: unknown) => {
      throw toNetworkError(error, url, request.signal);
    });
  };
  return {
    /** Sends one request and resolves with the head of the response. */
    open,
    /** Sends one request and reads the whole response. */
    async send(request: OutgoingRequest): Promise<IncomingResponse> {
      const { status, headers, stream } = await open(request);
      try {
        return { status, headers, body: await readBody(stream, bodyBytesMax) };
      } catch (error) {
        if (error instanceof CliError) throw error;
        throw toNetworkError(error, new URL(request.url), request.signal);
      }
    },
  };
}

/** No text of JavaScript can be longer. */
const BODY_BYTES_MAX = 512 * 1024 * 1024;

/** Reads a whole body. @throws CliError `unexpected_answer` for a longer one: a server may send without end */
export async function readBody(stream: Readable, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > bytesMax)
      throw new CliError(
        "unexpected_answer",
        `the server sent more than ${bytesMax} bytes of response`,
      );
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function openRawly(
  { http }: TransportSystem,
  url: URL,
  { headers, signal }: OutgoingRequest,
): Promise<OpenResponse | undefined> {
  const { openRaw } = await import("./raw-download.ts");
  const toError = (error: unknown) => toNetworkError(error, url, signal);
  return openRaw({ http: http(), url, headers, signal, idleMs, toError });
}

function openDirectly(
  { http, https }: TransportSystem,
  url: URL,
  request: OutgoingRequest,
  secureContext: SecureContext | undefined,
): Promise<OpenResponse> {
  const { body, signal } = request;
  const { request: start } = url.protocol === "https:" ? https() : http();
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason as Error);
    const options: RequestOptions & { readonly secureContext?: SecureContext } = {
      method: request.method,
      headers: withLength(request),
      agent: false,
      timeout: body instanceof Readable ? uploadIdleMs : idleMs,
      ...(secureContext === undefined ? {} : { secureContext }),
    };
    let response: IncomingMessage | undefined;
    const outgoing = start(url, options, (incoming) => {
      response = incoming;
      incoming.setTimeout(idleMs);
      // The reader of the stream gets the error; without a reader the error must not end the process.
      incoming.on("error", () => undefined);
      incoming.on("close", () => {
        signal.removeEventListener("abort", abort);
        // A server may refuse an upload before it has read all of it.
        if (body instanceof Readable) body.destroy();
        outgoing.destroy();
      });
      resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, stream: incoming });
    });
    const end = (error: Error) => {
      outgoing.destroy(error);
      response?.destroy(error);
      if (body instanceof Readable) body.destroy();
    };
    const abort = () => end(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    outgoing.on("timeout", () => {
      const isReaderSlow = response !== undefined && response.readableLength > 0;
      const isSourceSlow = response === undefined && !outgoing.writableEnded;
      if (isReaderSlow || isSourceSlow) return;
      end(Object.assign(new Error("no data for minutes"), { code: "ETIMEDOUT" }));
    });
    outgoing.on("error", (error) => {
      if (response !== undefined) return;
      signal.removeEventListener("abort", abort);
      if (body instanceof Readable) body.destroy();
      reject(toNetworkError(error, url, signal));
    });
    if (!(body instanceof Readable)) return void outgoing.end(body);
    body.on("error", (error) => outgoing.destroy(error));
    body.pipe(outgoing);
  });
}

/** Returns the proxy that the environment names for this address; never one for loopback. */
function proxyOf(url: URL, env: Readonly<Record<string, string | undefined>>): string | undefined {
  if (isLoopbackHost(url.hostname)) return undefined;
  const read = (name: string) => env[name] ?? env[name.toUpperCase()] ?? "";
  const proxy = read(url.protocol === "https:" ? "https_proxy" : "http_proxy");
  if (proxy === "") return undefined;
  const exempt = read("no_proxy").split(/[\s,]+/);
  const host = url.hostname.toLowerCase();
  const isExempt = exempt.some((entry) => {
    const name = entry.toLowerCase().replace(/^\*?\./, "");
    return entry === "*" || (name !== "" && (host === name || host.endsWith(`.${name}`)));
  });
  return isExempt ? undefined : proxy;
}

/** Returns the error of a failed connection; after an abort, the reason of the signal. */
function toNetworkError(error: unknown, url: URL, signal: AbortSignal): Error {
  if (signal.aborted) return signal.reason as Error;
  const code = (error as NodeJS.ErrnoException).code ?? "";
  const reason = error instanceof Error && error.message !== "" ? error.message : code;
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return new CliError(
      "daemon_unreachable",
      `the certificate of ${url.origin} is for other names: ${reason}`,
      {
        hint: "name the daemon as its certificate does, with --url, CROFT_URL or the profile",
        cause: error,
      },
    );
  if (/CERT|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)/.test(code))
    return new CliError(
      "daemon_unreachable",
      `${url.origin} has a certificate that is not trusted`,
      {
        hint: "NODE_EXTRA_CA_CERTS names a file with certificates to trust; one of --tls self is keys/tls.crt in the daemon's data directory",
        cause: error,
      },
    );
  const text = plainReasons[code] ?? reason;
  return new CliError("daemon_unreachable", `cannot reach the daemon at ${url.origin}: ${text}`, {
    hint:
      isLoopbackHost(url.hostname) && code !== "EPROTO"
        ? '"croft daemon start" starts it'
        : "check the address with --url, CROFT_URL or the profile",
    cause: error,
  });
}

/** Clearer texts for system errors: OpenSSL's messages name a line of its sources. */
const plainReasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  EPROTO: "TLS handshake failed; is the server plain http?",
};

function withLength({ headers, body, method }: OutgoingRequest): Record<string, string | number> {
  if (body instanceof Readable) return headers;
  if (body !== undefined) return { ...headers, "Content-Length": Buffer.byteLength(body) };
  return method === "GET" || method === "HEAD" ? headers : { ...headers, "Content-Length": 0 };
}

/** The certificates that https trusts; undefined for Node's default. */
export type Trust = () => Promise<SecureContext | undefined>;

/**
 * Trusts the system's certificates and the self-signed one of this home's daemon (`--tls self`). That is not an authority
 * and is valid only for the names of its own machine, so no other server can use it.
 */
export function createTrust(cli: Pick<CliEnvironment, "config">): Trust {
  let known: Awaited<ReturnType<Trust>>;
  // A missing file is read again at the next call: a daemon creates it at its first start.
  return async () => (known ??= await read(cli));
}

async function read(cli: Pick<CliEnvironment, "config">): ReturnType<Trust> {
  const { paths } = await cli.config();
  try {
    const own = readTextFile(join(paths.dataDirectory, "keys", "tls.crt"));
    if (own === undefined) return undefined;
    const { createSecureContext, getCACertificates } = await import("node:tls");
    return createSecureContext({ ca: [...getCACertificates("default"), own] });
  } catch {
    // Another user's home, or a damaged file: its certificate is not trusted.
    return undefined;
  }
}
