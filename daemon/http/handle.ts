// daemon/http: transport only. Knows endpoints and Node's HTTP, no feature; each API passes in its routes and an `Api` value.
// Start here (types of routes and responses), then bind.ts (how a request is run), then server.ts (the listener).
import type { IncomingHttpHeaders } from "node:http";
import type { Readable, Writable } from "node:stream";
import type { z } from "zod";
import type {
  AnyEndpoint,
  BodyOf,
  Endpoint,
  Gate,
  ParamsOf,
  QueryOf,
} from "../contract/endpoint.ts";
import type { AppError } from "../errors.ts";
import type { Validators } from "./conditional.ts";

/** One request, as services and APIs see it. */
export interface ServerRequest {
  /** Unique; the response has it as `X-Request-Id`, and so does every log line of the request. */
  readonly id: string;
  /** Arrival of its head, on the clock of `performance.now()`. */
  readonly startedAt: number;
  /** As sent; the GET handler serves HEAD. */
  readonly method: string;
  /** Path and query as sent. */
  readonly target: string;
  /** The client's address by the proxy rule. */
  readonly address: string;
  readonly headers: IncomingHttpHeaders;
  /** The query, decoded; repeated names are kept. */
  readonly query: URLSearchParams;
  /** Aborted when the client disconnects before it has the whole response. */
  readonly signal: AbortSignal;
  /** The undecoded body. Read at most once. */
  readonly body: Readable;
}

/** Returns whether a request has a query; cheaper than decoding it. */
export function hasQuery({ target }: ServerRequest): boolean {
  return target.includes("?");
}

/** One file of a multipart form, as a stream that must be consumed or destroyed. */
export interface FilePart {
  readonly field: string;
  /** As the client named it; undefined when it gave none. Untrusted. */
  readonly filename: string | undefined;
  /** Undefined for a part without a valid media type. */
  readonly contentType: string | undefined;
  readonly stream: Readable;
  /** Exact length if known before the stream ends, which is so for a spooled part; else undefined. */
  readonly size: number | undefined;
}

/** A form whose fields are parsed; `file` is undefined when the form has none. */
export interface MultipartForm<Fields> {
  readonly fields: Fields;
  readonly file: FilePart | undefined;
}

/** A limit for the file of a form, stricter than that of all uploads, and the refusal of a larger file. */
export interface FormLimit {
  readonly fileBytesMax: number;
  toRefusal(): AppError;
}

type BodyInput<E extends AnyEndpoint> =
  NonNullable<E["body"]> extends { kind: "multipart"; fields: infer F }
    ? MultipartForm<F extends z.ZodType ? z.output<F> : never>
    : NonNullable<E["body"]> extends { kind: "file_parts" }
      ? AsyncIterable<FilePart>
      : NonNullable<E["body"]> extends { kind: "stream" }
        ? Readable
        : NonNullable<E["body"]> extends { kind: "whole_bytes" }
          ? Buffer
          : BodyOf<E>;

/** The parsed and typed input of a handler. */
export interface RouteInput<E extends AnyEndpoint, Caller, Opened = unknown> {
  readonly caller: Caller;
  /** The resource in the path, if the endpoint declares a permission on it. */
  readonly opened: Opened;
  readonly params: ParamsOf<E>;
  readonly query: QueryOf<E>;
  readonly body: BodyInput<E>;
  readonly request: ServerRequest;
}

/** The bytes of a source. */
export interface ByteStream extends Readable {
  /** Used in place of reading where it exists: writes the bytes to the response, without ending it. */
  sendTo?(to: Writable): Promise<void>;
}

/** The source of a response's bytes. `release` is called exactly once, when the response is complete or aborted. */
export interface ByteSource {
  /** Total length; undefined when unknown, then ranges are not served. */
  readonly size: number | undefined;
  /** Sent as `application/octet-stream` when it is not a media type. */
  readonly contentType: string;
  /** A strong entity tag without quotes, or undefined. */
  readonly etag: string | undefined;
  readonly lastModified: Date | undefined;
  /** The whole body in memory, for small bodies: sent without a stream. */
  readonly buffer?: Uint8Array | undefined;
  /** Opens the bytes from `start` to `end`, both included; all bytes without a range. The caller owns the stream. */
  open(range?: { readonly start: number; readonly end: number }): Promise<ByteStream>;
  /**
   * Used in place of `open` by sources that can write in constant memory: writes the bytes to the response, without
   * ending it. Rejects when the response closes before its end.
   */
  readonly send?:
    | ((
        range: { readonly start: number; readonly end: number } | undefined,
        to: Writable,
      ) => Promise<void>)
    | undefined;
  /** As `send`, for sources that can write all bytes but no range in this way. */
  readonly sendWhole?: ((to: Writable) => Promise<void>) | undefined;
  release?(): void;
}

export type AnswerHeaders = Readonly<Record<string, string | readonly string[]>>;

/** A response of bytes; the transport handles ranges, conditional requests and HEAD. */
export interface BytesAnswer {
  readonly status: 200 | 501;
  readonly bytes: ByteSource;
  readonly headers?: AnswerHeaders;
}

export interface AnswerExtras {
  readonly headers?: AnswerHeaders;
  /** Forge lists: the count of all matches, for the paging headers. */
  readonly total?: number;
  /** Version of the body: the transport answers 304 to a client that has this version. */
  readonly validators?: Validators;
}

export type BodyOfReply<R> = R extends z.ZodType
  ? z.input<R>
  : R extends { kind: "json_or_bytes"; schema: infer S extends z.ZodType }
    ? z.input<S>
    : R extends { kind: "text" }
      ? string
      : undefined;

type OneAnswer<S, R> =
  | (R extends { kind: "json_or_bytes" } ? BytesAnswer : never)
  | JsonOrBytesAnswer<S, R>;

type JsonOrBytesAnswer<S, R> = R extends { kind: "bytes" }
  ? BytesAnswer
  : BodyOfReply<R> extends undefined
    ? { readonly status: S; readonly body?: undefined } & AnswerExtras
    : { readonly status: S; readonly body: BodyOfReply<R> } & AnswerExtras;

/** The responses of a handler: one of the endpoint's declared replies. */
export type RouteAnswer<E extends AnyEndpoint> = {
  [S in keyof E["replies"] & number]: OneAnswer<S, E["replies"][S]>;
}[keyof E["replies"] & number];

/** A response of any route, as the binder sees it. */
export type AnyAnswer =
  | BytesAnswer
  | ({ readonly status: number; readonly body?: unknown } & AnswerExtras);

/** An endpoint with the function that serves it. */
export interface Route {
  readonly endpoint: AnyEndpoint;
  // oxlint-disable-next-line typescript/no-explicit-any -- existential: the typed input was checked where the route was made
  readonly handler: (input: RouteInput<any, any, any>) => Promise<AnyAnswer>;
  /**
   * Checks an upload before its form is read, which may fill the disk: refuses a caller without the right, and returns
   * the limits of its file. The handler checks again.
   */
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  readonly admit?: ((input: any) => Promise<FormLimit | undefined>) | undefined;
}

/** The input of `Route.admit`. */
export type AdmitInput<E extends AnyEndpoint, Caller, Opened = unknown> = Omit<
  RouteInput<E, Caller, Opened>,
  "body"
>;

/** A refusal or failure as a response. */
export interface RenderedError {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** JSON, or text when `headers` has a content type. */
  readonly body: unknown;
}

/** Reads the whole request body. Refuses as `readWholeBody` does. */
export type ReadBody = () => Promise<Buffer>;

/** The behaviour of one API that the transport depends on. Every function may throw an `AppError`. */
export interface Api<Caller> {
  /** Headers of every response of this API. */
  readonly headers: AnswerHeaders;
  /** Content type of its JSON. */
  readonly jsonContentType: string;
  /** Returns further headers that depend on the request, such as a deprecation warning. */
  headersFor?(request: ServerRequest): Readonly<Record<string, string>> | undefined;
  /** Returns the path to route instead of the requested one. Without this function, the requested path is routed. */
  normalizePath?(path: string): string;
  /**
   * Returns the caller; undefined without credentials or if the gate needs none. Throws if the credentials are wrong.
   * `readBody` is for credentials in a form and counts as an anonymous body.
   */
  authenticate(
    request: ServerRequest,
    gate: Gate,
    readBody: ReadBody,
  ): Promise<Caller | undefined> | undefined;
  /**
   * Whether the caller is authenticated again when the body arrived after the head: otherwise a client could delay the
   * body and act after its session has ended.
   */
  readonly authenticatesAfterBody?: boolean;
  /**
   * Returns whether the credentials of a caller have not been revoked, and their account may still sign in. Called
   * while a
   * body arrives, and at its end: an upload may take hours and must not outlive the right to it.
   */
  isStillSignedIn?(caller: Caller, request: ServerRequest): Promise<boolean>;
  /**
   * Refuses a caller whom the gate does not let through, or who lacks the permission on the resource in the path.
   * Returns that resource.
   */
  authorize(
    caller: Caller | undefined,
    declared: Endpoint,
    request: ServerRequest,
    rawParams: Readonly<Record<string, string>>,
  ): Promise<unknown> | undefined;
  /** Returns the key of the account, for limits; undefined when the peer's address counts instead. */
  accountKey(caller: Caller | undefined): string | undefined;
  /**
   * Returns the values for the query's schema, which may also come from a form. Without this function, the query is
   * used.
   */
  readQuery?(
    declared: Endpoint,
    request: ServerRequest,
    readBody: ReadBody,
  ): Promise<URLSearchParams>;
  /** Decodes the body into the value for its schema. */
  decodeBody(declared: Endpoint, request: ServerRequest, readBody: ReadBody): Promise<unknown>;
  /** Returns the refusal of values that fail their schema. */
  toValidationError(
    where: "path" | "query" | "body",
    error: z.ZodError,
    declared: Endpoint,
  ): AppError;
  renderError(error: AppError, request: ServerRequest): RenderedError;
  /** Renders a refusal that is decided before routing: an undecodable path (400), another origin (403), another host (421). */
  renderEarlyRefusal(status: 400 | 403 | 421, message: string): RenderedError;
  /** Renders the response for an address without a route. */
  notFound(request: ServerRequest): RenderedError;
  methodNotAllowed(allowed: readonly string[]): RenderedError;
  /** Renders a 500, with a fixed text: the details are for the log. */
  internalError(): RenderedError;
}
