import { Buffer } from "node:buffer";

/**
 * Every way in which a call on somebody else's storage may fail. Adapters return these and throw nothing;
 * a caller's `switch` ends in `assertNever`. `note` is a short word for the log (an errno, a status code):
 * never an address, a path, a secret or the provider's own text.
 */
export type Failure =
  /** The item, its version or its parent is no longer what the caller saw; a missing item too. */
  | { readonly kind: "stale"; readonly note?: string }
  /** The name is taken at the destination, and not by an earlier attempt of the same call. */
  | { readonly kind: "conflict"; readonly existingName?: string; readonly note?: string }
  /** The destination is the item itself, lies below it, is a file, or belongs to another storage. */
  | {
      readonly kind: "invalid_destination";
      readonly reason: DestinationFault;
      readonly note?: string;
    }
  /** The credentials are refused for good: only the person can help. */
  | { readonly kind: "reauth"; readonly note?: string }
  /** The provider cannot do this at all, or not with this item. */
  | { readonly kind: "unsupported"; readonly reason?: string; readonly note?: string }
  /** The name breaks a rule of the provider's own. `rule` is a stable word such as `reserved_name`. */
  | { readonly kind: "invalid_name"; readonly rule: string; readonly note?: string }
  /**
   * Unreachable or failing: network, time-out, 5xx, an unmounted root. `sent` is false when the request certainly
   * never left, so that repeating it is harmless even for a change.
   */
  | { readonly kind: "offline"; readonly sent: boolean; readonly note?: string }
  /** Refused for now because of too many calls. */
  | {
      readonly kind: "rate_limited";
      readonly retryAfterSeconds: number | undefined;
      readonly note?: string;
    }
  /** No room left at the provider. */
  | { readonly kind: "quota_exceeded"; readonly note?: string }
  /** Signed in but not allowed; reconnecting would not help. */
  | { readonly kind: "forbidden"; readonly note?: string }
  /** Held by somebody else for the moment. */
  | { readonly kind: "locked"; readonly note?: string }
  /** The change was sent, the answer was lost, and looking afterwards could not tell whether it happened. */
  | { readonly kind: "unknown_outcome"; readonly note?: string };

export type DestinationFault =
  | "cross_connection"
  | "self_destination"
  | "descendant_destination"
  | "not_a_folder";

/** What only looking and reading may find besides. */
export type ReadFailure =
  | Failure
  | { readonly kind: "not_found"; readonly note?: string }
  /** The version that was asked for is gone: its bytes cannot be had any more. */
  | { readonly kind: "changed"; readonly note?: string }
  /** The range begins behind the last byte. */
  | { readonly kind: "range_not_satisfiable"; readonly size: number; readonly note?: string };

/** What only connecting may find besides: a setting that cannot be used. `setting` names it. */
export type ConnectFailure =
  | Failure
  | {
      readonly kind: "invalid_setting";
      readonly setting: string;
      readonly reason: string;
      readonly note?: string;
    };

/**
 * A stream of bytes that broke off: the error that such a stream is destroyed with.
 * The failure tells whether going on from the last byte makes sense.
 */
export class BrokenOff extends Error {
  readonly failure: ReadFailure;
  /** False: whoever asks for the rest would only wait once more. */
  readonly mayGoOn: boolean;

  constructor(failure: ReadFailure, cause?: unknown) {
    super(`the bytes broke off: ${failure.kind}`, cause === undefined ? undefined : { cause });
    this.name = "BrokenOff";
    this.failure = failure;
    this.mayGoOn = !isWaitedFor(failure);
  }
}

/** The note of an `offline` of a server that gives a byte now and then, */
export const TOO_SLOW = "too_slow";
/** and of one that gives more than anybody reads. */
export const TOO_LONG = "answer_too_long";
const waitedNotes: ReadonlySet<string> = new Set([
  TOO_SLOW,
  TOO_LONG,
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
]);

/** Whether a server has had all the time, or all the bytes, that it may have: trying again would only mean to wait again. */
export function isWaitedFor(failure: ReadFailure): boolean {
  return failure.kind === "offline" && waitedNotes.has(failure.note ?? "");
}

/** Longest wait that a provider's Retry-After may impose on a request that somebody waits for. */
export const RETRY_AFTER_WAIT_SECONDS_MAX = 5;

/** Whether the same look or read may be tried again at once or after a short wait. */
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

/** Whether the same change may be tried again without any danger of doing it twice. */
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
 * A provider's word for what is wrong, as the log may have it; undefined when it may be anything else. Codes are made of
 * letters; tokens and keys, which an answer may repeat, have digits among them.
 */
export function toCodeWord(text: string): string | undefined {
  return /^[A-Za-z_]{2,60}$/.test(text) ? text : undefined;
}

/** Largest length of a name in bytes of UTF-8. */
export const NAME_BYTES_MAX = 255;

/**
 * The rule that a name breaks at every provider, or undefined when it is fine: not empty, not `.` or `..`, no slash,
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
