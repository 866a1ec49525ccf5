import type { Failure } from "../outcomes.ts";
import { retryAfterSeconds, type ProviderAnswer } from "../transport.ts";

/**
 * Maps a status to its failure when nothing else is known. `stale` for a missing item; callers that check
 * further decide themselves.
 */
export function toFailure(
  { status, headers }: Pick<ProviderAnswer, "status" | "headers">,
  nowMs: number,
): Failure {
  const note = String(status);
  switch (status) {
    case 401:
      return { kind: "reauth", note };
    case 403:
      return { kind: "forbidden", note };
    case 404:
    case 410:
      return { kind: "stale", note };
    case 405:
    case 501:
      return { kind: "unsupported", reason: "method_refused", note };
    case 413:
    case 507:
      return { kind: "quota_exceeded", note };
    case 423:
      return { kind: "locked", note };
    case 429:
      return { kind: "rate_limited", retryAfterSeconds: retryAfterSeconds(headers, nowMs), note };
    case 503: {
      const seconds = retryAfterSeconds(headers, nowMs);
      // In maintenance, no request reaches what would carry it out.
      if (headers["x-nextcloud-maintenance-mode"] !== undefined)
        return { kind: "offline", sent: false, note: "maintenance" };
      if (seconds !== undefined) return { kind: "rate_limited", retryAfterSeconds: seconds, note };
      return { kind: "offline", sent: true, note };
    }
    default:
      return { kind: "offline", sent: true, note };
  }
}

/** Statuses that refuse a name or its length; they do not mean that the server is unavailable. */
export const NAME_REFUSALS: ReadonlySet<number> = new Set([400, 414, 422]);

/** Maps the status of a request for one item: a status that refuses its name is `invalid_name`. */
export function toItemFailure(
  answer: Pick<ProviderAnswer, "status" | "headers">,
  nowMs: number,
): Failure {
  return NAME_REFUSALS.has(answer.status)
    ? { kind: "invalid_name", rule: "refused_by_provider", note: String(answer.status) }
    : toFailure(answer, nowMs);
}

/** Returns whether a refusal is final and specific: no lookup is needed to interpret it. */
export function isPlain(failure: Failure): boolean {
  return ["reauth", "rate_limited", "quota_exceeded", "locked"].includes(failure.kind);
}
