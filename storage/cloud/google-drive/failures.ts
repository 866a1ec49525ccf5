import { asObject, asText, type JsonObject } from "../json.ts";
import { readJsonObject } from "../response-json.ts";
import { toCodeWord, type Failure, type ReadFailure } from "../outcomes.ts";
import { retryAfterSeconds, type ProviderAnswer } from "../transport.ts";

/** Drive's own failures, besides those of every provider. */
export type DriveFailure =
  | Failure
  | { readonly kind: "not_found"; readonly note?: string }
  /** A failed `If-Match`. */
  | { readonly kind: "precondition_failed"; readonly note?: string }
  /** The id that we chose for a new item is taken: an earlier attempt of ours has created it. */
  | { readonly kind: "id_taken"; readonly note?: string }
  /** Drive considers the request invalid, such as a move into a descendant. */
  | { readonly kind: "bad_request"; readonly note?: string };

/** Maps an error response to a failure; consumes its body. Considers the reason in the body as well as the status. */
export async function toDriveFailure(answer: ProviderAnswer, now: number): Promise<DriveFailure> {
  const { status, headers } = answer;
  const body = await readJsonObject(answer);
  const reason = body.kind === "ok" ? reasonOf(body.value) : undefined;
  const note = reason === undefined ? String(status) : `${status} ${reason}`;
  if (status === 429)
    return { kind: "rate_limited", retryAfterSeconds: retryAfterSeconds(headers, now), note };
  if (status >= 500 || status < 400) return { kind: "offline", sent: true, note };
  // A proxy may answer 404, too: only Drive's own response proves that an item is missing.
  if (reason === undefined && status !== 403) return { kind: "offline", sent: true, note };
  switch (status) {
    case 400:
      return { kind: "bad_request", note };
    case 401:
      return { kind: "reauth", note };
    case 403:
      return toRefusal(reason ?? "", note, retryAfterSeconds(headers, now));
    case 404:
    case 410:
      return { kind: "not_found", note };
    case 409:
      return { kind: "id_taken", note };
    case 412:
      return { kind: "precondition_failed", note };
    default:
      return { kind: "offline", sent: true, note };
  }
}

/** Maps status 403, which has many meanings, by the reason in the body. */
function toRefusal(reason: string, note: string, retryAfter: number | undefined): Failure {
  switch (reason) {
    case "rateLimitExceeded":
    case "userRateLimitExceeded":
    case "sharingRateLimitExceeded":
    case "dailyLimitExceeded":
    case "downloadQuotaExceeded":
    case "quotaExceeded":
      return { kind: "rate_limited", retryAfterSeconds: retryAfter, note };
    case "storageQuotaExceeded":
    case "teamDriveFileLimitExceeded":
    case "numChildrenInNonRootLimitExceeded":
      return { kind: "quota_exceeded", note };
    // The granted scopes do not cover this: only the user can extend them.
    case "insufficientPermissions":
    case "insufficientScopes":
    case "authError":
      return { kind: "reauth", note };
    case "fileNotDownloadable":
    case "fileNotExportable":
      return { kind: "unsupported", reason: "no_bytes", note };
    case "crossDomainMoveRestriction":
    case "teamDrivesFolderMoveInNotSupported":
    case "fileOwnerNotMemberOfTeamDrive":
    case "fileOwnerNotMemberOfWriterDomain":
      return { kind: "invalid_destination", reason: "cross_connection", note };
    default:
      return { kind: "forbidden", note };
  }
}

/** Returns Drive's error reason; undefined when the body is not Drive's. */
function reasonOf(body: JsonObject): string | undefined {
  const error = asObject(body["error"]);
  if (error === undefined) return undefined;
  const errors: unknown = error["errors"];
  const first: unknown = Array.isArray(errors) ? errors[0] : undefined;
  const reason = asText(asObject(first)?.["reason"]) ?? asText(error["status"]);
  // Only plain words: the log accepts no other text of the provider.
  return toCodeWord(reason ?? "") ?? "unnamed";
}

/** Maps the failure of a change: its item is missing or has changed. */
export function toChangeFailure(failure: DriveFailure): Failure {
  if (failure.kind === "not_found") return { ...failure, kind: "stale" };
  return toOther(failure);
}

/** Maps the failure of a lookup or a read. */
export function toReadFailure(failure: DriveFailure): ReadFailure {
  return failure.kind === "not_found" ? failure : toOther(failure);
}

function toOther(failure: Exclude<DriveFailure, { kind: "not_found" }>): Failure {
  switch (failure.kind) {
    case "precondition_failed":
      return { ...failure, kind: "stale" };
    case "id_taken":
      return { ...failure, kind: "unknown_outcome" };
    case "bad_request":
      return { ...failure, kind: "offline", sent: true };
    default:
      return failure;
  }
}
