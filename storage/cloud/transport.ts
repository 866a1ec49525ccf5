import { Readable } from "node:stream";
import { type Dispatcher, errors } from "undici";
import { StreamAborted, TOO_LONG, TOO_SLOW, type Failure } from "./outcomes.ts";

/** One request to a provider. It is sent once, without redirects and retries. */
export interface ProviderRequest {
  readonly method: string;
  readonly url: string;
  /** Path and query to send, encoded. Overrides those of the URL, which drops dot segments. */
  readonly path?: string;
  /** Values in Latin-1. `accept-encoding: identity` is sent unless another is set. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A stream is always consumed or destroyed, and needs a `content-length` header unless sent in chunks. */
  readonly body?: string | Uint8Array | Readable | undefined;
  readonly signal: AbortSignal;
  /** Time-out for the response head after the request was written; 60 s when absent, 5 minutes with `isLong`. */
  readonly headTimeoutMs?: number;
  /** The server has long work to do first: until then it keeps the connection alive with single bytes. */
  readonly isLong?: boolean;
}

/** The response of a provider. The caller must consume the body by one of its functions. */
export interface ProviderAnswer {
  readonly kind: "answered";
  readonly status: number;
  /** Lower-case names; repeated headers joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
  /** Returns the body as text, of at most `bytesMax` bytes (1 MiB when absent). */
  text(bytesMax?: number): Promise<{ readonly kind: "ok"; readonly text: string } | Offline>;
  /**
   * Returns the body as a stream. With `length` it yields exactly that many bytes; any failure destroys it with
   * `StreamAborted`. Must be consumed or destroyed.
   */
  stream(length: number | undefined): Readable;
  /** Discards the body. */
  discard(): void;
}

/** Runs `work` between the response and its reader. Discards the response when `work` throws. */
export async function discardingIfThrown<T>(
  answer: ProviderAnswer,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    answer.discard();
    throw error;
  }
}

export type Offline = Extract<Failure, { kind: "offline" }>;

/** Sends requests to a provider. */
export type Transport = ReturnType<typeof createTransport>;

/** The note of an `offline` that the address policy caused: when connecting, this is an invalid setting. */
export const ADDRESS_REFUSED = "address_refused";

const HEAD_TIMEOUT_MS = 60_000;
const LONG_HEAD_TIMEOUT_MS = 300_000;
/** Time-out between two chunks of a body. */
const IDLE_TIMEOUT_MS = 60_000;
const TEXT_BYTES_MAX = 1024 * 1024;

/** Minimum rate of a body. The time in which the reader pauses does not count. */
export interface Pace {
  readonly bytesMin: number;
  /** Minimum number of bytes in each window. */
  readonly spanMs: number;
}

/** Slower than any real connection: a server that trickles bytes would otherwise never time out. */
const SLOWEST: Pace = { bytesMin: 1024, spanMs: 60_000 };

/** Minimum keep-alive rate while a long operation is in progress. */
const SIGN_OF_LIFE: Pace = { bytesMin: 1, spanMs: 60_000 };

/** Time-out of a response that is buffered whole: a listing may be long, but no real connection is this slow. */
const WHOLE_MS = 15 * 60_000;

/** Aborts a stream that has not ended within the time-out of a whole response. */
export function inTime(stream: Readable): Readable {
  const timer = setTimeout(
    () => stream.destroy(new StreamAborted({ kind: "offline", sent: true, note: TOO_SLOW })),
    WHOLE_MS,
  ).unref();
  return stream.once("close", () => clearTimeout(timer));
}

/** Creates the HTTP transport of all adapters. The dispatcher enforces the address policy. */
export function createTransport(dispatcher: Dispatcher, slowest: Pace = SLOWEST) {
  return {
    /** Rejects only with the error of a request body that failed by itself; everything else is an outcome. */
    async send({
      method,
      url,
      path,
      headers,
      body,
      signal,
      isLong = false,
      ...limits
    }: ProviderRequest): Promise<ProviderAnswer | Offline> {
      const { headTimeoutMs = isLong ? LONG_HEAD_TIMEOUT_MS : HEAD_TIMEOUT_MS } = limits;
      const stream = body instanceof Readable ? body : undefined;
      const source = stream && watchSource(stream);
      const late = watchHead(stream, headTimeoutMs);
      try {
        const { origin, pathname, search } = new URL(url);
        const answer = await dispatcher.request({
          origin,
          path: path ?? pathname + search,
          method: method as Dispatcher.HttpMethod,
          headers: { "accept-encoding": "identity", ...headers },
          body: body ?? null,
          signal: AbortSignal.any([signal, late.signal]),
          // undici closes the connection after HEAD by default: two connections for each small upload.
          reset: false,
          headersTimeout: headTimeoutMs,
          bodyTimeout: IDLE_TIMEOUT_MS,
        });
        return toAnswer(answer, isLong ? SIGN_OF_LIFE : slowest);
      } catch (error) {
        // The server may close a connection while the source is still read: only the source's own error counts.
        const failed = source?.failure();
        if (failed !== undefined) throw failed.error;
        return toOffline(late.signal.aborted ? new errors.HeadersTimeoutError() : error, signal);
      } finally {
        late.end();
        source?.finish();
      }
    },
  };
}

/** Parses a `Retry-After` header, a number or a date, to seconds; undefined when it is invalid. */
export function retryAfterSeconds(
  headers: Readonly<Record<string, string>>,
  nowMs: number,
): number | undefined {
  const text = headers["retry-after"]?.trim();
  if (text === undefined || text === "") return undefined;
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : (Date.parse(text) - nowMs) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(Math.ceil(seconds), 0), 86_400);
}

/** Watches a request body for an error of its own, and detaches when the request is over. */
function watchSource(body: Readable) {
  let failed: { readonly error: unknown } | undefined;
  let isOver = false;
  const onError = (error: unknown) => {
    if (!isOver) failed ??= { error };
  };
  // The listener stays: a late error must not end the process.
  body.on("error", onError);
  if (body.errored !== null) failed = { error: body.errored };
  return {
    failure: () => failed,
    finish() {
      isOver = true;
      body.destroy();
    },
  };
}

/**
 * Aborts when the head is twice as late as allowed: each interim response (1xx) restarts undici's own time-out.
 * The time of sending a streamed body does not count.
 */
function watchHead(body: Readable | undefined, headTimeoutMs: number) {
  const late = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const begin = () => {
    timer = setTimeout(() => late.abort(), 2 * headTimeoutMs);
  };
  if (body === undefined) begin();
  else body.once("close", begin);
  return {
    signal: late.signal,
    end() {
      body?.off("close", begin);
      clearTimeout(timer);
    },
  };
}

function toAnswer(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  slowest: Pace,
): ProviderAnswer {
  // It may fail while the head is still processed: the reader of the body then gets the error.
  body.on("error", ignore);
  const discard = () => {
    body.destroy();
  };
  return {
    kind: "answered",
    status: statusCode,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [
        name.toLowerCase(),
        [value ?? ""].flat().join(", "),
      ]),
    ),
    discard,

    async text(bytesMax = TEXT_BYTES_MAX) {
      const chunks: Buffer[] = [];
      let size = 0;
      try {
        const whole = inTime(toStream(body, undefined, slowest));
        for await (const chunk of whole as AsyncIterable<Buffer>) {
          size += chunk.byteLength;
          if (size > bytesMax) return { kind: "offline", sent: true, note: TOO_LONG };
          chunks.push(chunk);
        }
      } catch (error) {
        const failure = error instanceof StreamAborted ? error.failure : undefined;
        return failure?.kind === "offline"
          ? failure
          : { kind: "offline", sent: true, note: toNote(error) };
      } finally {
        discard();
      }
      return { kind: "ok", text: Buffer.concat(chunks).toString("utf8") };
    },

    stream: (length) => toStream(body, length, slowest),
  };
}

/** Streams the body with our own error, never shorter or longer than announced. */
function toStream(body: Readable, length: number | undefined, slowest: Pace): Readable {
  const broken = (note: string, cause?: unknown) =>
    new StreamAborted({ kind: "offline", sent: true, note }, cause);
  let size = 0;
  let sizeBefore = 0;
  let last: Buffer | undefined;
  const watch = setInterval(() => {
    if (body.isPaused()) return;
    if (size - sizeBefore < slowest.bytesMin) out.destroy(broken(TOO_SLOW));
    sizeBefore = size;
  }, slowest.spanMs).unref();
  const out = new Readable({
    read() {
      if (!body.isPaused()) return;
      sizeBefore = size;
      watch.refresh();
      body.resume();
    },
    destroy(error, done) {
      clearInterval(watch);
      body.destroy();
      done(error);
    },
  });
  // See above.
  out.on("error", ignore);
  body.on("data", (chunk: Buffer) => {
    size += chunk.byteLength;
    if (length !== undefined && size > length) return out.destroy(broken("longer_than_said"));
    // Held back until it is certain that nothing follows: the beginning of a longer file must not pass as the requested one.
    if (size === length) last = chunk;
    else if (!out.push(chunk)) body.pause();
  });
  body.on("end", () => {
    if (length !== undefined && size < length) out.destroy(broken("shorter_than_said"));
    else {
      clearInterval(watch);
      if (last !== undefined) out.push(last);
      out.push(null);
    }
  });
  body.on("error", (error) => out.destroy(broken(toNote(error), error)));
  body.on("close", () => {
    if (!body.readableEnded) out.destroy(broken("closed"));
  });
  body.pause();
  if (body.errored !== null) out.destroy(broken(toNote(body.errored), body.errored));
  return out;
}

/** Errors after which the request has certainly not been sent: no connection, no valid certificate, no common cipher. */
const notSent = [
  /^(ECONNREFUSED|ENOTFOUND|ENODATA|EAI_\w+|ENETUNREACH|EHOSTUNREACH|EHOSTDOWN|EADDRNOTAVAIL)$/,
  /^(UND_ERR_CONNECT_TIMEOUT|ERR_ADDRESS_REFUSED)$/,
  /^(CERT_|CRL_|UNABLE_TO_|ERROR_IN_C)\w+$/,
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|INVALID_CA|INVALID_PURPOSE)$/,
  /^(PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH|ERR_TLS_CERT_ALTNAME_\w+)$/,
  /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|UNSUPPORTED_PROTOCOL|\w+_HANDSHAKE_FAILURE)$/,
  /^ERR_SSL_(TLSV1_ALERT_PROTOCOL_VERSION|TLSV1_UNRECOGNIZED_NAME|DH_KEY_TOO_SMALL|EE_KEY_TOO_SMALL)$/,
];

function toOffline(error: unknown, signal: AbortSignal): Offline {
  const code = codeOf(error);
  if (code === "ERR_ADDRESS_REFUSED")
    return { kind: "offline", sent: false, note: ADDRESS_REFUSED };
  const sent = !(code !== undefined && notSent.some((codes) => codes.test(code)));
  return { kind: "offline", sent, note: signal.aborted ? "aborted" : toNote(error) };
}

/** Returns a short code for the log. System messages contain addresses, so only codes are logged. */
function toNote(error: unknown): string {
  return codeOf(error) ?? (error instanceof errors.UndiciError ? error.name : "failed");
}

function codeOf(error: unknown): string | undefined {
  // Several addresses were tried; the first error is reported.
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}

function ignore(): void {}
