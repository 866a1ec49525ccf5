import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { CliError } from "../errors.ts";
import type { Service } from "../profile/credentials.ts";
import { multipartLength, multipartStream } from "./multipart.ts";
import { toFailure } from "./outcomes.ts";
import { type IncomingAnswer, type OutgoingRequest, proxyOf, toNetworkError } from "./transport.ts";
import type { Trust } from "./trust.ts";
import { parseJson } from "./vault-session.ts";

/** A file to send as the last part of a form. */
export interface ByteUpload {
  /** Parts before the file; the server acts as soon as the file begins. */
  readonly fields: Readonly<Record<string, string>>;
  readonly fileField: string;
  readonly filename: string;
  readonly contentType: string;
  /** Exact length, or undefined for a pipe. */
  readonly size: number | undefined;
  /** Whether `open` can be called again, so that the request can be repeated. */
  readonly canRestart: boolean;
  /** Opens the bytes. */
  open(): Readable;
  /** Told how many bytes of the file were sent in all. */
  readonly onProgress: (sent: number) => void;
}

/** An answer of bytes. The stream must be consumed or destroyed. */
export interface ByteDownload {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Exact length when the server says it. */
  readonly size: number | undefined;
  readonly stream: Readable;
}

interface StreamRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly trust: Trust;
  readonly signal: AbortSignal;
}

/** Opens a download. @throws CliError for every answer but a success, except 401, which is given back for a renewal. */
export async function openDownload(
  request: StreamRequest & { readonly service: Service },
): Promise<ByteDownload & { readonly body?: Buffer }> {
  const answer = await send(request, "GET", undefined);
  const headers = answer.headers as ByteDownload["headers"];
  const status = answer.statusCode;
  if (status >= 200 && status < 300) {
    const length = headers["content-length"];
    const size = typeof length === "string" ? Number(length) : undefined;
    // Whoever reads the stream is told of its end; one that is given up unread must not end the process.
    answer.body.on("error", () => undefined);
    return { status, headers, size, stream: answer.body };
  }
  const body = Buffer.from(await answer.body.arrayBuffer());
  if (status === 401) return { status, headers, size: undefined, stream: Readable.from([]), body };
  throw downloadFailure(request.service, status, headers, body);
}

/** The failure that a refused download amounts to. */
export function downloadFailure(
  service: Service,
  status: number,
  headers: ByteDownload["headers"],
  body: Buffer,
): CliError {
  const text = (name: string) => {
    const value = headers[name];
    return typeof value === "string" ? value : undefined;
  };
  const failure = toFailure({
    service,
    status,
    body: parseJson(body),
    requestId: text("x-request-id"),
    retryAfter: text("retry-after"),
  });
  return failure ?? new CliError("unexpected_answer", `the daemon answered ${status}`);
}

/** Sends a form with a file and reads the answer whole. What goes wrong with the file itself is thrown as it is. */
export async function sendUpload(
  request: StreamRequest & {
    readonly method: string;
    readonly form: ByteUpload;
    readonly boundary: string;
  },
): Promise<IncomingAnswer> {
  const { form, boundary } = request;
  const length = multipartLength(form, boundary);
  const headers = {
    ...request.headers,
    "Content-Type": `multipart/form-data; boundary=${boundary}`,
    ...(length === undefined ? {} : { "Content-Length": String(length) }),
  };
  const failures: unknown[] = [];
  const body = Readable.from(noting(multipartStream(form, boundary), failures), {
    objectMode: false,
  });
  try {
    return await toWhole(await send({ ...request, headers }, request.method, body));
  } catch (error) {
    // The connection broke off because there was nothing more to send.
    throw request.signal.aborted ? error : (failures[0] ?? error);
  }
}

/** The same chunks; what reading them fails with is kept. */
async function* noting(
  chunks: AsyncGenerator<Uint8Array>,
  failures: unknown[],
): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks;
  } catch (error) {
    failures.push(error);
    throw error;
  }
}

/** A request of text through the proxy of the environment. */
export async function sendThroughProxy(
  request: OutgoingRequest,
  env: StreamRequest["env"],
  trust: Trust,
): Promise<IncomingAnswer> {
  return toWhole(await send({ ...request, env, trust }, request.method, request.body));
}

async function toWhole(answer: Dispatcher.ResponseData): Promise<IncomingAnswer> {
  return {
    status: answer.statusCode,
    headers: answer.headers,
    body: Buffer.from(await answer.body.arrayBuffer()),
  };
}

/** A provider may need long to take in the last byte of an upload. */
const answerTimeoutMs = 10 * 60_000;
const silenceMs = 2 * 60_000;

/**
 * One request over undici's own client, one connection for it. `fetch` would drop the body of a 205 and cannot send
 * a length with a stream; the whole package takes twice as long to load as these two parts.
 */
async function send(
  { url, headers, env, trust, signal }: StreamRequest,
  method: string,
  body: Readable | string | Uint8Array | undefined,
): Promise<Dispatcher.ResponseData> {
  const address = new URL(url);
  const dispatcher = await createDispatcher(address, env, trust);
  const { default: request } = await import("undici/lib/api/api-request.js");
  try {
    const answer = await request.call(dispatcher, {
      path: `${address.pathname}${address.search}`,
      origin: address.origin,
      method: method as Dispatcher.HttpMethod,
      headers,
      body: body ?? null,
      signal,
      headersTimeout: answerTimeoutMs,
      bodyTimeout: silenceMs,
    });
    // Waits for the body, then gives the connection up, so that the process can end.
    dispatcher.close().catch(() => undefined);
    return answer;
  } catch (error) {
    await dispatcher.destroy();
    throw toNetworkError(error, address, signal);
  }
}

async function createDispatcher(
  address: URL,
  env: StreamRequest["env"],
  trust: Trust,
): Promise<Dispatcher> {
  const proxy = proxyOf(address, env);
  const secureContext = address.protocol === "https:" ? await trust() : undefined;
  const tls = secureContext === undefined ? {} : { secureContext };
  if (proxy !== undefined) {
    const { ProxyAgent } = await import("undici");
    return new ProxyAgent({ uri: proxy, requestTls: tls });
  }
  const { default: Client } = await import("undici/lib/dispatcher/client.js");
  return new Client(address.origin, { connect: tls });
}
