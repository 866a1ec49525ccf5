import { Buffer } from "node:buffer";

/**
 * Every way in which a call on a storage may fail. Adapters return these and throw nothing;
 * a caller's `switch` ends in `assertNever`. `note` is a short word for the log (an errno, a status code):
 * never an address, a path, a secret or the provider's own text.
 */
export type Failure =
  /** The item, its version or its parent has changed since the caller saw it, or the item is missing. */
  | { readonly kind: "stale"; readonly note?: string }
  /** The name is taken at the destination, but not by an earlier attempt of the same call. */
  | { readonly kind: "conflict"; readonly existingName?: string; readonly note?: string }
  /** The destination is the item itself, lies below it, is a file, or belongs to another storage. */
  | {
      readonly kind: "invalid_destination";
      readonly reason: DestinationFault;
      readonly note?: string;
    }
  /** The credentials are rejected permanently: the user must reconnect. */
  | { readonly kind: "reauth"; readonly note?: string }
  /** The provider cannot do this at all, or not with this item. */
  | { readonly kind: "unsupported"; readonly reason?: string; readonly note?: string }
  /** The name breaks a rule of the provider's own. `rule` is a stable word such as `reserved_name`. */
  | { readonly kind: "invalid_name"; readonly rule: string; readonly note?: string }
  /**
   * Unreachable or failing: network, time-out, 5xx, an unmounted root. `sent` is false when the request was
   * certainly not sent, so that a retry is harmless even for a change.
   */
  | { readonly kind: "offline"; readonly sent: boolean; readonly note?: string }
  /** Rate limited. */
  | {
      readonly kind: "rate_limited";
      readonly retryAfterSeconds: number | undefined;
      readonly note?: string;
    }
  /** The provider is out of space. */
  | { readonly kind: "quota_exceeded"; readonly note?: string }
  /** Signed in but not allowed; reconnecting would not help. */
  | { readonly kind: "forbidden"; readonly note?: string }
  /** Locked by another client. */
  | { readonly kind: "locked"; readonly note?: string }
  /** The change was sent, the response was lost, and a check afterwards could not determine the result. */
  | { readonly kind: "unknown_outcome"; readonly note?: string };

export type DestinationFault =
  | "cross_connection"
  | "self_destination"
  | "descendant_destination"
  | "not_a_folder";

/** Additional failures of reads. */
export type ReadFailure =
  | Failure
  | { readonly kind: "not_found"; readonly note?: string }
  /** The bytes of the requested version are no longer available. */
  | { readonly kind: "changed"; readonly note?: string }
  /** The range begins after the last byte. */
  | { readonly kind: "range_not_satisfiable"; readonly size: number; readonly note?: string };

/** Additional failures of connecting: an invalid setting. `setting` names it. */
export type ConnectFailure =
  | Failure
  | {
      readonly kind: "invalid_setting";
      readonly setting: string;
      readonly reason: string;
      readonly note?: string;
    };

/** The error of a stream that was aborted. Its failure states whether the stream can be resumed after the last byte. */
export class StreamAborted extends Error {
  readonly failure: ReadFailure;
  /** False if a resumed request would only time out again. */
  readonly isResumable: boolean;

  constructor(failure: ReadFailure, cause?: unknown) {
    super(`the stream was aborted: ${failure.kind}`, cause === undefined ? undefined : { cause });
    this.name = "StreamAborted";
    this.failure = failure;
    this.isResumable = !isWaitedFor(failure);
  }
}

/** The note of an `offline` failure of a server that sends too slowly. */
export const TOO_SLOW = "too_slow";
/** The note of an `offline` failure of a server that sends too much. */
export const TOO_LONG = "answer_too_long";
const waitedNotes: ReadonlySet<string> = new Set([
  TOO_SLOW,
  TOO_LONG,
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
]);

/** Returns whether a server exhausted its time or byte limit: a retry would only take the same time again. */
export function isWaitedFor(failure: ReadFailure): boolean {
  return failure.kind === "offline" && waitedNotes.has(failure.note ?? "");
}

/** The longest Retry-After that a waiting request accepts. */
export const RETRY_AFTER_WAIT_SECONDS_MAX = 5;

/** Returns whether the same read may be retried, at once or after a short wait. */
export function mayRetryRead(failure: ReadFailure): boolean {
  switch (failure.kind) {
    case "offline":
    case "locked":
      return true;
    case "rate_limited":
      return (failure.retryAfterSeconds ?? 0) <= RETRY_AFTER_WAIT_SECONDS_MAX;
    default:
      return false;
  }
}

/** Returns whether the same change may be retried without any risk of doing it twice. */
export function mayRetryChange(failure: Failure): boolean {
  switch (failure.kind) {
    case "offline":
      return !failure.sent;
    case "rate_limited":
      return (failure.retryAfterSeconds ?? 0) <= RETRY_AFTER_WAIT_SECONDS_MAX;
    case "locked":
      return true;
    default:
      return false;
  }
}

/**
 * Returns a provider's error code if it is safe to log; undefined otherwise. Codes consist of letters; tokens and keys,
 * which a response may repeat, contain digits.
 */
export function toCodeWord(text: string): string | undefined {
  return /^[A-Za-z_]{2,60}$/.test(text) ? text : undefined;
}

/** Longest name, in bytes of UTF-8. */
export const NAME_BYTES_MAX = 255;

/** Longest extension, in bytes: what follows the last dot of other names is a part of the stem. */
const EXTENSION_BYTES_MAX = 32;

/** Returns a name with `mark` before its extension. Its stem is shortened to the longest name allowed. */
export function markName(name: string, mark: string): string {
  const dot = name.lastIndexOf(".");
  const isExtension = dot > 0 && Buffer.byteLength(name.slice(dot)) <= EXTENSION_BYTES_MAX;
  const extension = isExtension ? name.slice(dot) : "";
  const stem = name.slice(0, name.length - extension.length);
  return cutToBytes(stem, NAME_BYTES_MAX - Buffer.byteLength(mark + extension)) + mark + extension;
}

/** Returns the beginning of a text, of whole characters, that has at most `bytesMax` bytes of UTF-8. */
export function cutToBytes(text: string, bytesMax: number): string {
  let bytes = 0;
  let end = 0;
  for (const letter of text) {
    bytes += Buffer.byteLength(letter);
    if (bytes > bytesMax) break;
    end += letter.length;
  }
  return text.slice(0, end);
}

/**
 * Returns the rule that a name breaks at every provider, or undefined when it is valid: not empty, not `.` or `..`, no slash,
 * no control character, no lone surrogate, at most 255 bytes.
 */
export function brokenNameRule(name: string): string | undefined {
  if (name === "") return "empty";
  if (name === "." || name === "..") return "dot_name";
  if (name.includes("/")) return "slash";
  if (/\p{Cc}/u.test(name)) return "control_character";
  if (!name.isWellFormed()) return "not_unicode";
  return Buffer.byteLength(name) > NAME_BYTES_MAX ? "too_long" : undefined;
}
