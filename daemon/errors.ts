/**
 * Why a request cannot be served: the closed list of codes that services throw. Each API's renderer turns a code and
 * its data into a response; `http/replies.ts` has the statuses and `docs/errors.md` explains the codes.
 */
export type ErrorCode =
  | "invalid_argument"
  | "invalid_credentials"
  | "unauthenticated"
  | "forbidden"
  | "archived"
  | "not_found"
  | "moved"
  | "timed_out"
  | "conflict"
  | "unprocessable"
  | "precondition_failed"
  | "not_mergeable"
  | "too_large"
  | "unsupported_type"
  | "rate_limited"
  | "reauth_required"
  | "provider_failed"
  | "unavailable"
  | "storage_full";

/** One value of a request that fails validation. */
export interface FieldFailure {
  /**
   * The location of the value: the part of the request (`path`, `query`, `header`, `body`), then the names of the members
   * down to it.
   */
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

/** Facts of a refusal besides its code and message, for the renderers. */
export interface ErrorData {
  /** Seconds after which a retry may succeed. */
  readonly retryAfterSeconds?: number;
  /** With `rate_limited`: the requests that the window allows. */
  readonly rateLimit?: number;
  /** With `moved`: the present address, a path with or without a query. */
  readonly location?: string;
  /** With `moved`: the present names by their parameter in the path of the endpoint, such as `owner`. */
  readonly names?: Readonly<Record<string, string>>;
  /** With `unprocessable`: the values that fail validation. */
  readonly failures?: readonly FieldFailure[];
  /** In the registry of containers: the code of the distribution specification, such as `MANIFEST_UNKNOWN`. */
  readonly registryCode?: string;
  /** Of the provider of OAuth 2: the code of RFC 6749, such as `invalid_grant`. */
  readonly oauthCode?: string;
  /**
   * Distinguishes refusals of one code that an API renders differently: a former name whose owner was deleted, an
   * account that may not act at present, a text that cannot be rendered, an item that the storage does not have.
   */
  readonly reason?: "former_name" | "account_state" | "not_rendered" | "item_not_found";
}

/** Options of an `AppError`: its data, and the underlying failure, which only the log sees. */
export type AppErrorOptions = ErrorData & { readonly cause?: unknown };

/** A refusal. `message` is sent to the client unchanged: it must hold no path, statement, address or secret. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly data: ErrorData;

  constructor(code: ErrorCode, message: string, { cause, ...data }: AppErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "AppError";
    this.code = code;
    this.data = data;
  }
}

/** Ends a switch over a union: a missing case is a compile error, and an unexpected value throws. */
export function assertNever(value: never): never {
  throw new Error(`unexpected case: ${JSON.stringify(value)}`);
}
