import type { z } from "zod";
import type { failure as failureSchema } from "../../contract/vault/cloud/shapes.ts";
import type { Failure } from "../../../storage/cloud/outcomes.ts";
import { assertNever } from "../../errors.ts";

/** The response to a failed change: a flat body and the status of its kind. */
export interface FailureReply {
  readonly status: 401 | 409 | 422 | 503;
  readonly body: z.input<typeof failureSchema>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Maps outcomes to statuses and bodies. */
export function toFailureReply(
  failure: Failure | { readonly kind: "recording_failed" },
): FailureReply {
  switch (failure.kind) {
    case "stale":
      return { status: 409, body: { kind: "stale", reason: "item_changed" } };
    case "conflict":
      return { status: 409, body: { kind: "conflict", reason: "name_collision" } };
    case "invalid_destination":
      return { status: 409, body: { kind: "invalid_destination", reason: failure.reason } };
    case "reauth":
      return { status: 401, body: { kind: "reauth_required", reason: "provider_error" } };
    case "unsupported":
      return {
        status: 422,
        body: { kind: "unsupported_operation", reason: "provider_unsupported" },
      };
    case "invalid_name":
      return { status: 422, body: { kind: "invalid_name", reason: failure.rule } };
    case "offline":
      return { status: 503, body: { kind: "offline", reason: "provider_error" } };
    case "rate_limited":
      return {
        status: 503,
        body: { kind: "offline", reason: "rate_limited" },
        ...retryAfter(failure.retryAfterSeconds),
      };
    case "quota_exceeded":
      return { status: 503, body: { kind: "failed", reason: "quota_exceeded" } };
    case "forbidden":
      return { status: 503, body: { kind: "failed", reason: "permission_denied" } };
    case "locked":
      return { status: 503, body: { kind: "failed", reason: "locked" } };
    case "unknown_outcome":
      return { status: 503, body: { kind: "failed", reason: "unknown_outcome" } };
    case "recording_failed":
      return { status: 503, body: { kind: "recording_failed", reason: "provider_accepted" } };
    default:
      return assertNever(failure);
  }
}

function retryAfter(seconds: number | undefined): { headers?: Record<string, string> } {
  return seconds === undefined ? {} : { headers: { "Retry-After": String(Math.ceil(seconds)) } };
}
