// daemon/http: transport only. Knows endpoints and Node's HTTP, no feature.
// May import: daemon/contract, daemon/errors.ts, node, h3. Forge and vault hand their routes in as values.
// Start here (what a route is), then bind.ts (how it is run), then server.ts (how it is listened to).
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

/** The facts of one request that services and APIs may look at. */
export interface ServerRequest {
  /** Unique; sent back as `X-Request-Id` and written on every log line of the request. */
  readonly id: string;
  /** When its head had arrived, on the clock of `performance.now()`. */
  readonly startedAt: number;
  /** As sent; HEAD is served by the GET handler. */
  readonly method: string;
  /** Path and query as sent. */
  readonly target: string;
  /** The client's address by the proxy rule (vault API, Authentication). */
  readonly address: string;
  readonly headers: IncomingHttpHeaders;
  /** The query, decoded; repeated names are kept. */
  readonly query: URLSearchParams;
  /** Aborted when the client goes away before it has the whole answer. */
  readonly signal: AbortSignal;
  /** The undecoded body. Read at most once. */
  readonly body: Readable;
}

/** Whether a request has a query at all: cheaper to ask than its decoded values. */
export function hasQuery({ target }: ServerRequest): boolean {
  return target.includes("?");
}

/** One file of a multipart form, as a stream that must be consumed or destroyed. */
export interface FilePart {
  readonly field: string;
  /** As the client named it; undefined when it gave none. Untrusted. */
  readonly filename: string | undefined;
  readonly contentType: string | undefined;
  readonly stream: Readable;
  /** Exact length when it is known before the stream ends (the part was spooled), else undefined. */
  readonly size: number | undefined;
}

/** A form whose fields are parsed; `file` is undefined when the form has none. */
export interface MultipartForm<Fields> {
  readonly fields: Fields;
  readonly file: FilePart | undefined;
}

type BodyInput<E extends AnyEndpoint> =
  NonNullable<E["body"]> extends { kind: "multipart"; fields: infer F }
    ? MultipartForm<F extends z.ZodType ? z.output<F> : never>
    : NonNullable<E["body"]> extends { kind: "stream" }
      ? Readable
      : BodyOf<E>;

/** What a handler is called with: everything parsed and typed. */
export interface RouteInput<E extends AnyEndpoint, Caller> {
  readonly caller: Caller;
  readonly params: ParamsOf<E>;
  readonly query: QueryOf<E>;
  readonly body: BodyInput<E>;
  readonly request: ServerRequest;
}

/** Where the bytes of an answer come from. `release` is called exactly once, when the answer is done or given up. */
export interface ByteSource {
  /** Total length, or undefined when it is not known (no ranges then). */
  readonly size: number | undefined;
  readonly contentType: string;
  /** A strong entity tag without quotes, or undefined. */
  readonly etag: string | undefined;
  readonly lastModified: Date | undefined;
  /** The whole of it in memory, for small bodies: answered without a stream. */
  readonly buffer?: Uint8Array | undefined;
  /** Opens the bytes from `start` to `end`, both included; the whole when no range is given. */
  open(range?: { readonly start: number; readonly end: number }): Promise<Readable>;
  /**
   * Writes the bytes to the response instead, without ending it, where the source can do that in constant memory.
   * Rejects when the response closes before its end. Used in place of `open`.
   */
  readonly send?:
    | ((
        range: { readonly start: number; readonly end: number } | undefined,
        to: Writable,
      ) => Promise<void>)
    | undefined;
  release?(): void;
}

export type AnswerHeaders = Readonly<Record<string, string | readonly string[]>>;

/** An answer of bytes; ranges, conditional requests and HEAD are seen to by the transport. */
export interface BytesAnswer {
  readonly status: 200;
  readonly bytes: ByteSource;
  readonly headers?: AnswerHeaders;
}

interface AnswerExtras {
  readonly headers?: AnswerHeaders;
  /** Forge lists: the count of all matches, for the paging headers. */
  readonly total?: number;
}

type BodyOfReply<R> = R extends z.ZodType
  ? z.input<R>
  : R extends { kind: "text" }
    ? string
    : undefined;

type OneAnswer<S, R> = R extends { kind: "bytes" }
  ? BytesAnswer
  : BodyOfReply<R> extends undefined
    ? { readonly status: S; readonly body?: undefined } & AnswerExtras
    : { readonly status: S; readonly body: BodyOfReply<R> } & AnswerExtras;

/** What a handler may answer: one of the endpoint's declared replies. */
export type RouteAnswer<E extends AnyEndpoint> = {
  [S in keyof E["replies"] & number]: OneAnswer<S, E["replies"][S]>;
}[keyof E["replies"] & number];

/** An answer of any route, as the binder sees it. */
export type AnyAnswer =
  | BytesAnswer
  | ({ readonly status: number; readonly body?: unknown } & AnswerExtras);

/** An endpoint with the function that serves it. */
export interface Route {
  readonly endpoint: AnyEndpoint;
  // oxlint-disable-next-line typescript/no-explicit-any -- existential: the typed input was checked where the route was made
  readonly handler: (input: RouteInput<any, any>) => Promise<AnyAnswer>;
}

/** Text of an error as an API renders it. */
export interface RenderedError {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** JSON, or text when `headers` names another content type. */
  readonly body: unknown;
}

/** What makes the two APIs differ in the transport's eyes. Every function may throw an `AppError`. */
export interface Api<Caller> {
  readonly name: "forge" | "vault";
  /** Headers of every answer of this API. */
  readonly headers: AnswerHeaders;
  /** Further headers that depend on the request, such as a warning about how it was made. */
  headersFor?(request: ServerRequest): Readonly<Record<string, string>> | undefined;
  /** Who calls: undefined when no credentials were given or the gate needs none; throws when they are wrong. */
  authenticate(request: ServerRequest, gate: Gate): Promise<Caller | undefined> | undefined;
  /**
   * Whether who calls is asked once more when a body that is read whole came after its head: else a client could hold
   * the body back and act after its session has ended. Not asked again when absent.
   */
  readonly looksAgain?: boolean;
  /** Refuses a caller whom the gate does not let through. */
  authorize(
    caller: Caller | undefined,
    declared: Endpoint,
    request: ServerRequest,
    rawParams: Readonly<Record<string, string>>,
  ): Promise<void> | undefined;
  /** The key of the per-account limit; undefined when the peer's address counts instead. */
  accountKey(caller: Caller | undefined): string | undefined;
  /** Looks up what the path names before the body is read, and refuses when it is missing (forge API, order of the checks). */
  resolve?(declared: Endpoint, rawParams: Readonly<Record<string, string>>): Promise<void>;
  /** The values that the query's schema parses, where they may also come in a form; the query itself when absent. */
  readQuery?(
    declared: Endpoint,
    request: ServerRequest,
    readBody: () => Promise<Buffer>,
  ): Promise<URLSearchParams>;
  /** Turns the body's bytes into the value that the schema parses. */
  decodeBody(
    declared: Endpoint,
    request: ServerRequest,
    readBody: () => Promise<Buffer>,
  ): Promise<unknown>;
  /** The refusal for values that do not fit their schema. */
  toValidationError(
    where: "path" | "query" | "body",
    error: z.ZodError,
    declared: Endpoint,
  ): AppError;
  renderError(error: AppError): RenderedError;
  /** The answer to an address that no route has. */
  notFound(request: ServerRequest): RenderedError;
  methodNotAllowed(allowed: readonly string[]): RenderedError;
  /** The fixed text of a 500. */
  internalError(): RenderedError;
}
