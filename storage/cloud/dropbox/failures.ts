import { asCount, asObject, asText, type JsonObject } from "../json.ts";
import { toCodeWord, type Failure } from "../outcomes.ts";
import { retryAfterSeconds } from "../transport.ts";

/** Failures of the Dropbox API: an outcome, or one of the few that an operation handles itself. */
export type DropboxFailure =
  | Failure
  | { readonly kind: "not_found"; readonly note?: string }
  /** The cursor of a listing has expired: the listing must restart. */
  | { readonly kind: "reset"; readonly note?: string }
  /** An upload session is at another offset. */
  | { readonly kind: "incorrect_offset"; readonly offset: number; readonly note?: string };

/** Maps an error response to a failure. Its texts are only searched for tags and never passed on. */
export function toDropboxFailure(
  answer: { readonly status: number; readonly headers: Readonly<Record<string, string>> },
  body: JsonObject | undefined,
  nowMs: number,
): DropboxFailure {
  const { status, headers } = answer;
  const error = asObject(body?.["error"]);
  const tags = tagsOf(error) ?? tagsOfSummary(body?.["error_summary"]);
  const words = tags.map(toCodeWord).filter((word) => word !== undefined);
  const note = [String(status), ...words.slice(0, 3)].join(" ");
  switch (status) {
    case 400:
      return { kind: "unsupported", reason: "refused", note };
    case 401:
      return { kind: "reauth", note };
    case 403:
      return { kind: "forbidden", note };
    case 409:
      return toRefusal(tags, error, note);
    case 429: {
      const seconds = retryAfterSeconds(headers, nowMs) ?? asCount(error?.["retry_after"]);
      return { kind: "rate_limited", retryAfterSeconds: seconds, note };
    }
    default: {
      const seconds = status === 503 ? retryAfterSeconds(headers, nowMs) : undefined;
      return seconds === undefined
        ? { kind: "offline", sent: true, note }
        : { kind: "rate_limited", retryAfterSeconds: seconds, note };
    }
  }
}

/**
 * Maps the tags of a 409; the first match from the inside out wins. `conflict` means a taken name, whose own
 * tag (`file`, `folder`) has no further meaning, except `file_ancestor`: there a parent is a file.
 */
function toRefusal(
  tags: readonly string[],
  error: JsonObject | undefined,
  note: string,
): DropboxFailure {
  if (tags.includes("incorrect_offset")) {
    const offset = findCorrectOffset(error);
    if (offset !== undefined) return { kind: "incorrect_offset", offset, note };
  }
  for (const tag of tags.toReversed()) {
    const failure = byTag.get(tag);
    if (failure !== undefined) return { ...failure, note };
  }
  return { kind: "forbidden", note };
}

const forbidden: Failure = { kind: "forbidden" };
const noRoom: Failure = { kind: "quota_exceeded" };
const badName: Failure = { kind: "invalid_name", rule: "refused_by_provider" };
const notAFolder: Failure = { kind: "invalid_destination", reason: "not_a_folder" };
const intoItself: Failure = { kind: "invalid_destination", reason: "descendant_destination" };

const byTag: ReadonlyMap<string, DropboxFailure> = new Map<string, DropboxFailure>([
  ["not_found", { kind: "not_found" }],
  ["not_folder", { kind: "stale" }],
  ["not_file", { kind: "unsupported", reason: "no_bytes" }],
  ["unsupported_file", { kind: "unsupported", reason: "no_bytes" }],
  ["unsupported_content_type", { kind: "unsupported", reason: "no_bytes" }],
  ["unsupported_extension", { kind: "unsupported", reason: "refused" }],
  ["restricted_content", forbidden],
  ["file_ancestor", notAFolder],
  ["conflict", { kind: "conflict" }],
  ["insufficient_space", noRoom],
  ["insufficient_quota", noRoom],
  ["no_write_permission", forbidden],
  ["team_folder", forbidden],
  ["team_root", forbidden],
  ["operation_suppressed", forbidden],
  ["cant_copy_shared_folder", forbidden],
  ["cant_nest_shared_folder", forbidden],
  ["cant_move_shared_folder", forbidden],
  ["cant_transfer_ownership", forbidden],
  ["cant_move_into_vault", forbidden],
  ["cant_move_into_family", forbidden],
  ["cant_move_folder_into_itself", intoItself],
  ["duplicated_or_nested_paths", intoItself],
  ["disallowed_name", badName],
  ["malformed_path", badName],
  ["too_many_files", { kind: "unsupported", reason: "too_many_files" }],
  ["too_large", { kind: "unsupported", reason: "too_large" }],
  ["payload_too_large", { kind: "unsupported", reason: "too_large" }],
  ["too_many_write_operations", { kind: "rate_limited", retryAfterSeconds: undefined }],
  ["too_many_requests", { kind: "rate_limited", retryAfterSeconds: undefined }],
  ["locked", { kind: "locked" }],
  ["internal_error", { kind: "offline", sent: true }],
  ["content_hash_mismatch", { kind: "offline", sent: true }],
  ["closed", { kind: "offline", sent: true }],
  ["not_closed", { kind: "offline", sent: true }],
  ["reset", { kind: "reset" }],
]);

/** Returns the tags of an error from the outside in. Nested errors are under the tag's own name or under `reason`. */
function tagsOf(error: JsonObject | undefined): readonly string[] | undefined {
  const tags: string[] = [];
  let at = error;
  for (let depth = 0; at !== undefined && depth < 8; depth++) {
    const tag = asText(at[".tag"]);
    if (tag !== undefined && /^\w{1,60}$/.test(tag)) tags.push(tag);
    at = inner(at, tag);
  }
  return tags.length === 0 ? undefined : tags;
}

function inner(at: JsonObject, tag: string | undefined): JsonObject | undefined {
  const value = tag === undefined ? at["reason"] : (at[tag] ?? at["reason"]);
  // The innermost union may be a plain string.
  return typeof value === "string" ? { ".tag": value } : asObject(value);
}

/** Parses `path/not_found/...`, for responses without tags. */
function tagsOfSummary(summary: unknown): readonly string[] {
  const isSummary = typeof summary === "string" && /^(?:\w{1,60}\/){1,8}\.*$/.test(summary);
  return isSummary ? summary.split("/").slice(0, -1) : [];
}

function findCorrectOffset(error: JsonObject | undefined): number | undefined {
  let at = error;
  for (let depth = 0; at !== undefined && depth < 8; depth++) {
    const offset = asCount(at["correct_offset"]);
    if (offset !== undefined) return offset;
    at = inner(at, asText(at[".tag"]));
  }
  return undefined;
}
