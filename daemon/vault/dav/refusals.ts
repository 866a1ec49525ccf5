import type { AppError } from "../../errors.ts";
import { statusOfCode, toRefusal } from "../../http/replies.ts";
import type { ReadFailure } from "../../../storage/cloud/outcomes.ts";
import { quotaExceeded } from "../documents/documents.service.ts";
import type { RecordingFailed } from "../cloud/changes/change-recorder.ts";

/** A condition of RFC 4918 that a request breaks: the element below `error`. */
export interface Condition {
  readonly element: string;
  readonly hrefs?: readonly string[];
}

/** A refusal in the protocol's words. */
export class DavRefusal extends Error {
  readonly status: number;
  readonly condition: Condition | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    message: string,
    options: {
      readonly condition?: Condition;
      readonly headers?: Readonly<Record<string, string>>;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "DavRefusal";
    this.status = status;
    this.condition = options.condition;
    this.headers = options.headers ?? {};
  }
}

export const notFound = () => new DavRefusal(404, "There is nothing at this address.");
export const noParent = () =>
  new DavRefusal(409, "The folder of this address does not exist. Create it first (MKCOL).");
export const exists = () => new DavRefusal(405, "Something of this name exists already.");
export const preconditionFailed = () =>
  new DavRefusal(412, "The condition of the request does not hold (precondition failed).");

const RETRY_SECONDS = 30;

/** Returns an error as a refusal in the protocol's words; undefined for a bug. */
export function toDavRefusal(error: unknown): DavRefusal | undefined {
  if (error instanceof DavRefusal) return error;
  const refusal = toRefusal(error);
  return refusal && fromAppError(refusal);
}

function fromAppError(error: AppError): DavRefusal {
  const { code, message, data } = error;
  const retry = data.retryAfterSeconds;
  const headers = retry === undefined ? {} : { "Retry-After": String(retry) };
  const text = data.failures?.map(({ msg }) => msg).join(". ") ?? message;
  return new DavRefusal(statusOf(error), text, { headers, cause: error.cause });

  function statusOf({ code: _ }: AppError): number {
    // 413 would say that a smaller file might be stored; clients show a full disk for 507.
    if (code === "too_large" && message === quotaExceeded().message) return 507;
    // A client would ask its user for the password of croft, again and again.
    if (code === "reauth_required") return 503;
    return statusOfCode[code];
  }
}

/** Returns the refusal of a change or a read that a storage did not do. */
export function fromFailure(failure: ReadFailure | RecordingFailed): DavRefusal {
  switch (failure.kind) {
    case "not_found":
      return notFound();
    case "stale":
    case "changed":
      return new DavRefusal(412, "It has changed since. Get it again and compare.");
    case "conflict":
      return new DavRefusal(409, "Something of this name exists already.");
    case "invalid_destination":
      return new DavRefusal(403, "A folder cannot move into itself.");
    case "reauth":
      return new DavRefusal(503, "The storage must be connected again: croft vault connection.");
    case "unsupported":
      return new DavRefusal(403, "This storage cannot do that.");
    case "invalid_name":
      return new DavRefusal(403, `The storage does not accept this name (${failure.rule}).`);
    case "range_not_satisfiable":
      return new DavRefusal(416, "The range begins after the last byte.");
    case "offline":
      return new DavRefusal(503, "The storage cannot be reached at the moment.", {
        headers: { "Retry-After": String(RETRY_SECONDS) },
      });
    case "rate_limited":
      return new DavRefusal(503, "The storage asks for a pause.", {
        headers: { "Retry-After": String(Math.ceil(failure.retryAfterSeconds ?? RETRY_SECONDS)) },
      });
    case "quota_exceeded":
      return new DavRefusal(507, "The storage is full.");
    case "forbidden":
      return new DavRefusal(403, "The storage does not allow this.");
    case "locked":
      return new DavRefusal(423, "Another program holds a lock on it in the storage.");
    case "unknown_outcome":
    case "recording_failed":
      return new DavRefusal(502, "The storage did not say whether it was done. Look again.");
  }
}
