import { Readable } from "node:stream";
import { type Dispatcher, errors } from "undici";
import { BrokenOff, TOO_LONG, TOO_SLOW, type Failure } from "./outcomes.ts";

/** One request to a provider. It is sent once: no redirect is followed, nothing is tried again. */
export interface ProviderRequest {
  readonly method: string;
  readonly url: string;
  /** Path and query as they are sent, encoded; instead of the URL's, which lose segments made of dots. */
  readonly path?: string;
  /** Values in Latin-1. `accept-encoding: identity` is sent unless another is given. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A stream is consumed or destroyed in any case, and needs `content-length` among the headers unless sent in chunks. */
  readonly body?: string | Uint8Array | Readable | undefined;
  readonly signal: AbortSignal;
  /** Until the answer's head is there, after the request was written; 60 s when absent, 5 minutes where `isLong`. */
  readonly headTimeoutMs?: number;
  /** The other end has much to do first: until then a byte now and then tells that it is still at it. */
  readonly isLong?: boolean;
}

/** What the provider said. The body must be taken by one of its functions. */
export interface ProviderAnswer {
  readonly kind: "answered";
  readonly status: number;
  /** Lower-case names; repeated ones joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as text, of which no more than `bytesMax` may come (1 MiB when absent). */
  text(bytesMax?: number): Promise<{ readonly kind: "ok"; readonly text: string } | Offline>;
  /**
   * The body as it comes. With `length` it gives exactly as many bytes; whatever breaks it off destroys it with
   * `BrokenOff`. Must be consumed or destroyed.
   */
  stream(length: number | undefined): Readable;
  /** Gives up the body. */
  discard(): void;
}

export type Offline = Extract<Failure, { kind: "offline" }>;

/** Sends requests to a provider. */
export interface Transport {
  /** Rejects only with the error of a body that failed by itself; everything else is an outcome. */
  send(what: ProviderRequest): Promise<ProviderAnswer | Offline>;
}

/** The note of an `offline` that the address policy is the reason of: at connect this is an invalid setting. */
export const ADDRESS_REFUSED = "address_refused";

const HEAD_TIMEOUT_MS = 60_000;
const LONG_HEAD_TIMEOUT_MS = 300_000;
/** Between two pieces of a body. */
const IDLE_TIMEOUT_MS = 60_000;
const TEXT_BYTES_MAX = 1024 * 1024;

/** How fast a body must come at least. The time in which nobody takes it does not count. */
export interface Pace {
  readonly bytesMin: number;
  /** So many bytes in each span of this length. */
  readonly spanMs: number;
}

/** Slower than any line: a server that sends a byte now and then would be waited for without an end. */
const SLOWEST: Pace = { bytesMin: 1024, spanMs: 60_000 };

/** Slower than that nobody is who says at all that he is still at it. */
const SIGN_OF_LIFE: Pace = { bytesMin: 1, spanMs: 60_000 };

/** For a whole answer that is read before anything is said: a listing may be long, and no line is that slow. */
const WHOLE_MS = 15 * 60_000;

/** Breaks a stream off that has not come to its end in the time that a whole answer may take. */
export function inTime(stream: Readable): Readable {
  const timer = setTimeout(
    () => stream.destroy(new BrokenOff({ kind: "offline", sent: true, note: TOO_SLOW })),
    WHOLE_MS,
  ).unref();
  return stream.once("close", () => clearTimeout(timer));
}

/** The transport of all adapters that speak HTTP. The dispatcher decides which addresses may be called. */
export function createTransport(dispatcher: Dispatcher, slowest: Pace = SLOWEST): Transport {
  return {
    async send({ method, url, path, headers, body, signal, isLong = false, ...limits }) {
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
          // undici closes the connection after HEAD by default: two connections for each small file that is uploaded.
          reset: false,
          headersTimeout: headTimeoutMs,
          bodyTimeout: IDLE_TIMEOUT_MS,
        });
        return toAnswer(answer, isLong ? SIGN_OF_LIFE : slowest);
      } catch (error) {
        // The other end may close a connection while the source is still read: only its own error counts.
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

/** Seconds that a `Retry-After` asks for, in either of its spellings; undefined when there is none. */
export function retryAfterSeconds(
  headers: Readonly<Record<string, string>>,
  nowMs: number,
): number | undefined {
  const text = headers["retry-after"]?.trim();
  if (text === undefined || text === "") return undefined;
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : (Date.parse(text) - nowMs) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(Math.ceil(seconds), 0), 86_400);
}

/** Watches a body for an error of its own, and lets go of it when the request is over. */
function watchSource(body: Readable) {
  let failed: { readonly error: unknown } | undefined;
  let isOver = false;
  const onError = (error: unknown) => {
    if (!isOver) failed ??= { error };
  };
  // The listener stays: an error that comes late must not end the process.
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
 * Aborts when the head has not come twice as late as it may. Interim answers (1xx) put undici's own limit off, each of them.
 * The time of a stream that is sent does not count.
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
  // It may break off while the head is still looked at: who then takes the body hears of it.
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
        const failure = error instanceof BrokenOff ? error.failure : undefined;
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

/** The body under our own error, and never shorter or longer than it was said to be. */
function toStream(body: Readable, length: number | undefined, slowest: Pace): Readable {
  const broken = (note: string, cause?: unknown) =>
    new BrokenOff({ kind: "offline", sent: true, note }, cause);
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
  // Likewise.
  out.on("error", ignore);
  body.on("data", (chunk: Buffer) => {
    size += chunk.byteLength;
    if (length !== undefined && size > length) return out.destroy(broken("longer_than_said"));
    // Given when it is known that nothing follows: the beginning of a longer file is none that was asked for.
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

/** Errors after which the request has certainly not left: no connection, no certificate that is good, no common cipher. */
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

/** A word for the log. Texts of the system hold addresses, so that only codes are kept. */
function toNote(error: unknown): string {
  return codeOf(error) ?? (error instanceof errors.UndiciError ? error.name : "failed");
}

function codeOf(error: unknown): string | undefined {
  // Several addresses were tried: the first one's error stands for all.
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}

function ignore(): void {}
