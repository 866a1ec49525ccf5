import type { IncomingHttpHeaders, RequestOptions } from "node:http";
import type { SecureContext } from "node:tls";
import { CliError } from "../errors.ts";
import type { System } from "../system.ts";
import { isLoopbackHost } from "./target.ts";
import type { Trust } from "./trust.ts";

/** One request as it goes out. */
export interface OutgoingRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
  readonly signal: AbortSignal;
}

/** A whole answer. */
export interface IncomingAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Sends one request and reads its answer whole. */
export type Transport = (request: OutgoingRequest) => Promise<IncomingAnswer>;

type SecureContextOptions = { readonly secureContext?: SecureContext };

/** What of a system requests go through. */
export type TransportSystem = Pick<System, "env" | "http" | "https">;

/** A daemon that sends nothing for so long has hung; its slowest work answers within a minute. */
const silenceMs = 120_000;

/**
 * Requests of text and JSON over Node's own HTTP, which starts faster than undici (streams of bytes use that, see
 * bytes.ts). Bodies of 205 answers are kept. Connections are not reused: a command makes a request or two.
 */
export function createTransport({ env, http, https }: TransportSystem, trust: Trust): Transport {
  return async (request) => {
    const url = new URL(request.url);
    if (proxyOf(url, env) !== undefined) {
      const { sendThroughProxy } = await import("./bytes.ts");
      return sendThroughProxy(request, env, trust);
    }
    const secureContext = url.protocol === "https:" ? await trust() : undefined;
    const { request: send } = url.protocol === "https:" ? https() : http();
    return new Promise<IncomingAnswer>((resolve, reject) => {
      const options: RequestOptions & SecureContextOptions = {
        method: request.method,
        headers: withLength(request),
        agent: false,
        signal: request.signal,
        timeout: silenceMs,
        ...(secureContext === undefined ? {} : { secureContext }),
      };
      const outgoing = send(url, options, (answer) => {
        const chunks: Buffer[] = [];
        answer.on("data", (chunk: Buffer) => chunks.push(chunk));
        answer.on("error", fail);
        answer.on("end", () =>
          resolve({
            status: answer.statusCode ?? 0,
            headers: answer.headers,
            body: Buffer.concat(chunks),
          }),
        );
      });
      outgoing.on("timeout", () => outgoing.destroy(new Error("it sent nothing for two minutes")));
      outgoing.on("error", fail);
      outgoing.end(request.body);

      function fail(error: Error): void {
        reject(toNetworkError(error, url, request.signal));
      }
    });
  };
}

/** The proxy that the environment names for this address; never one for this machine. */
export function proxyOf(
  url: URL,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
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

/** What a failed connection amounts to. */
export function toNetworkError(error: unknown, url: URL, signal: AbortSignal): Error {
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
        ? '"croft serve" starts it'
        : "check the address with --url, CROFT_URL or the profile",
    cause: error,
  });
}

/** In place of the system's words, where those say little: OpenSSL's name a line of its sources. */
const plainReasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  EPROTO: "what listens there does not speak https as it should; is it http?",
};

function withLength({ headers, body, method }: OutgoingRequest): Record<string, string | number> {
  if (body !== undefined) return { ...headers, "Content-Length": Buffer.byteLength(body) };
  return method === "GET" || method === "HEAD" ? headers : { ...headers, "Content-Length": 0 };
}
