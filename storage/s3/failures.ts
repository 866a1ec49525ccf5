import { toCodeWord, type Failure, type ReadFailure } from "../cloud/outcomes.ts";
import { retryAfterSeconds } from "../cloud/transport.ts";

/** A failed request: the server's response, and the failure that it means. */
export interface Refused {
  readonly kind: "refused";
  /** 0 when there was no response. */
  readonly status: number;
  /** The server's error code; otherwise empty. */
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly failure: ReadFailure;
}

/**
 * Maps a status and a code to a failure of a read. A 400 for a request with a key concerns that key only:
 * it says nothing about the state of the connection.
 */
export function toFailure(
  {
    status,
    code,
    headers = {},
    hasKey = false,
  }: {
    readonly status: number;
    readonly code: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly hasKey?: boolean;
  },
  nowMs: number,
): ReadFailure {
  const note = toCodeWord(code) ?? `status_${status}`;
  const failure = byCode[code];
  if (failure !== undefined) return { ...failure, note: failure.note ?? note };
  const wait = retryAfterSeconds(headers, nowMs);
  if (status === 429 || code === "SlowDown" || (status === 503 && wait !== undefined))
    return { kind: "rate_limited", retryAfterSeconds: wait, note };
  switch (status) {
    case 400:
    case 414:
      return hasKey && !requestFaults.has(code)
        ? { kind: "invalid_name", rule: "refused_by_provider", note }
        : { kind: "offline", sent: true, note };
    case 401:
      return { kind: "reauth", note };
    case 403:
      return { kind: "forbidden", note };
    case 404:
      return { kind: "not_found", note };
    case 405:
    case 501:
      return { kind: "unsupported", reason: "not_implemented", note };
    case 304:
    case 412:
      return { kind: "changed", note };
    case 507:
      return { kind: "quota_exceeded", note };
    default:
      return { kind: "offline", sent: true, note };
  }
}

/** Maps the same to a failure of a write: a missing or changed object is `stale`. */
export function toChangeFailure(failure: ReadFailure): Failure {
  switch (failure.kind) {
    case "not_found":
    case "changed":
    case "range_not_satisfiable":
      return { kind: "stale", ...(failure.note === undefined ? {} : { note: failure.note }) };
    default:
      return failure;
  }
}

/** Returns whether a request was refused or failed. */
export function isRefused(outcome: { readonly kind: string }): outcome is Refused {
  return outcome.kind === "refused";
}

/** Returns whether the request may have succeeded although no response says so. */
export function mayHaveLanded(refused: Refused): boolean {
  return (
    refused.failure.kind === "offline" &&
    refused.failure.sent &&
    refused.code !== "RequestTimeTooSkewed"
  );
}

/** Returns whether a precondition failed; servers report it in several ways. */
export function isPrecondition(refused: Refused): boolean {
  return refused.status === 412 || refused.status === 304 || refused.code === "PreconditionFailed";
}

/** Returns whether a concurrent request conflicted at the same key: the request may be retried. */
export function isRace(refused: Refused): boolean {
  return refused.code === "ConditionalRequestConflict" || refused.code === "OperationAborted";
}

/** Codes of status 400 that concern the request itself, not the key. */
const requestFaults: ReadonlySet<string> = new Set([
  "AuthorizationHeaderMalformed",
  "AuthorizationQueryParametersError",
  "BadDigest",
  "EntityTooSmall",
  "IncompleteBody",
  "InvalidBucketName",
  "InvalidDigest",
  "InvalidPart",
  "InvalidPartOrder",
  "InvalidRequest",
  "MalformedXML",
  "RequestTimeout",
  "XAmzContentSHA256Mismatch",
]);

const reauth = { kind: "reauth" } as const;
const full = { kind: "quota_exceeded" } as const;

const byCode: Readonly<Record<string, ReadFailure>> = {
  InvalidAccessKeyId: reauth,
  SignatureDoesNotMatch: reauth,
  ExpiredToken: reauth,
  InvalidToken: reauth,
  TokenRefreshRequired: reauth,
  NotSignedUp: reauth,
  // Signing in again would not help: the daemon's or the server's clock is wrong.
  RequestTimeTooSkewed: { kind: "offline", sent: true, note: "clock_skew" },
  NoSuchBucket: { kind: "offline", sent: true, note: "bucket_missing" },
  // Nothing was changed, and a retry may succeed.
  ConditionalRequestConflict: { kind: "locked" },
  OperationAborted: { kind: "locked" },
  // Gateways to file systems: a folder has the name of the file, or the other way round.
  ExistingObjectIsDirectory: { kind: "conflict" },
  ExistingObjectIsFile: { kind: "conflict" },
  AccessDenied: { kind: "forbidden" },
  AccountProblem: { kind: "forbidden" },
  AllAccessDisabled: { kind: "forbidden" },
  NoSuchKey: { kind: "not_found" },
  NoSuchVersion: { kind: "not_found" },
  PreconditionFailed: { kind: "changed" },
  InvalidObjectState: { kind: "unsupported", reason: "archived" },
  NotImplemented: { kind: "unsupported", reason: "not_implemented" },
  MethodNotAllowed: { kind: "unsupported", reason: "not_implemented" },
  EntityTooLarge: { kind: "unsupported", reason: "file_too_large" },
  KeyTooLongError: { kind: "invalid_name", rule: "path_too_long" },
  XMinioInvalidObjectName: { kind: "invalid_name", rule: "refused_by_provider" },
  QuotaExceeded: full,
  QuotaExceededException: full,
  StorageQuotaExceeded: full,
  XMinioStorageFull: full,
  XMinioAdminBucketQuotaExceeded: full,
  InsufficientCapacity: full,
};
