/**
 * Why a request cannot be served: the closed list of codes that services throw.
 * Each API maps a code to a status in `http/replies.ts`; `docs/errors.md` lists them all.
 */
export type ErrorCode =
  | "invalid_argument"
  | "invalid_credentials"
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  | "conflict"
  | "unprocessable"
  | "too_large"
  | "rate_limited"
  | "reauth_required"
  | "provider_failed"
  | "unavailable"
  | "storage_full";

/** What a refusal may carry besides its code and text. */
export interface AppErrorDetails {
  /** The underlying failure; for the log only. */
  readonly cause?: unknown;
  /** Response headers that belong to the refusal, such as `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A body that replaces the API's usual error body. */
  readonly body?: unknown;
}

/** A refusal. `message` reaches the client as it stands: no path, statement, address or secret may be in it. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly body: unknown;

  constructor(code: ErrorCode, message: string, details: AppErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "AppError";
    this.code = code;
    this.headers = details.headers;
    this.body = details.body;
  }
}

/** The end of a switch over a union: does not compile while a case is missing, and throws if one slips through. */
export function assertNever(value: never): never {
  throw new Error(`unexpected case: ${JSON.stringify(value)}`);
}
