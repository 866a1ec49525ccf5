import { asObject, asText, type JsonObject } from "../json.ts";
import { toCodeWord, type Failure } from "../outcomes.ts";
import { retryAfterSeconds } from "../transport.ts";

/** Failures of Microsoft Graph: an outcome, or the addressed item is missing. */
export type GraphFailure = Failure | { readonly kind: "not_found"; readonly note?: string };

/** Maps an error response to a failure. Its texts are only searched for codes and never passed on. */
export function toGraphFailure(
  answer: { readonly status: number; readonly headers: Readonly<Record<string, string>> },
  body: JsonObject | undefined,
  nowMs: number,
): GraphFailure {
  const { status, headers } = answer;
  const codes = codesOf(body);
  const word = toCodeWord(codes[0] ?? "");
  const note = word === undefined ? String(status) : `${status} ${word}`;
  const hasCode = (...expected: readonly string[]) => expected.some((code) => codes.includes(code));

  const limited = { retryAfterSeconds: retryAfterSeconds(headers, nowMs), note } as const;
  // 509 is the bandwidth limit of SharePoint.
  if (status === 429 || status === 509) return { kind: "rate_limited", ...limited };
  if (status === 503 && limited.retryAfterSeconds !== undefined)
    return { kind: "rate_limited", ...limited };
  if (status === 507 || hasCode("quotaLimitReached", "insufficientStorage"))
    return { kind: "quota_exceeded", note };
  if (status >= 500)
    return status === 501 ? { kind: "unsupported", note } : { kind: "offline", sent: true, note };

  switch (status) {
    case 400:
      if (hasCode("invalidName", "nameContainsInvalidCharacters", "pathIsTooLong", "nameTooLong"))
        return { kind: "invalid_name", rule: "refused_by_provider", note };
      return { kind: "unsupported", reason: "refused", note };
    case 401:
      return { kind: "reauth", note };
    case 403:
      return hasCode("activityLimitReached", "throttledRequest")
        ? { kind: "rate_limited", ...limited }
        : { kind: "forbidden", note };
    case 404:
      return { kind: "not_found", note };
    case 405:
    case 413:
    case 415:
      return { kind: "unsupported", reason: "refused", note };
    case 409:
      return toConflict(codes, asText(asObject(body?.["error"])?.["message"]) ?? "", note);
    case 412:
      return { kind: "stale", note };
    case 423:
      return { kind: "locked", note };
    default:
      return { kind: "offline", sent: true, note };
  }
}

/** 409 means a taken name, a failed etag condition, an item in use, or a lock. */
function toConflict(codes: readonly string[], message: string, note: string): Failure {
  if (codes.includes("nameAlreadyExists")) return { kind: "conflict", note };
  const isGuard = codes.includes("resourceModified") || codes.includes("preconditionFailed");
  if (isGuard || /e-?tag/i.test(message)) return { kind: "stale", note };
  if (codes.includes("resourceLocked")) return { kind: "locked", note };
  return { kind: "forbidden", note };
}

/** Returns the codes of an error from the outside in, as far as they are plain words. */
function codesOf(body: JsonObject | undefined): readonly string[] {
  const codes: string[] = [];
  let error = asObject(body?.["error"]);
  for (let depth = 0; error !== undefined && depth < 5; depth++) {
    const code = asText(error["code"]);
    if (code !== undefined && /^\w{1,60}$/.test(code)) codes.push(code);
    error = asObject(error["innererror"] ?? error["innerError"]);
  }
  return codes;
}
