import type { JsonObject } from "../json.ts";
import { readJsonObject } from "../response-json.ts";
import { RETRY_AFTER_WAIT_SECONDS_MAX } from "../outcomes.ts";
import type { Piece } from "../pieces.ts";
import type { ProviderDeps } from "../provider.ts";
import type { ProviderAnswer } from "../transport.ts";
import { pathOf, type Drive } from "./drive.ts";
import type { DriveFailure } from "./failures.ts";
import { FIELDS } from "./items.ts";

/** A resumable upload (Drive API, Perform a resumable upload). */
export interface Session {
  /** Its address, which is a secret: it needs no token. */
  readonly url: string;
  /**
   * Sends a piece until the session has all of it; after an error resumes at the offset that the session reports. `done`
   * with the file after the last one.
   */
  send(piece: Piece): Promise<Progress>;
  /** Discards the session and its bytes. */
  cancel(): Promise<void>;
}

export type Progress =
  | { readonly kind: "more" }
  | { readonly kind: "done"; readonly value: JsonObject }
  | DriveFailure;

type Standing = { readonly kind: "stands"; readonly offset: number } | Progress;

const TRIES_MAX = 5;
const FIRST_WAIT_MS = 500;
const CANCEL_MS = 10_000;

interface SessionDeps {
  readonly drive: Drive;
  readonly sleep: ProviderDeps["sleep"];
  readonly signal: AbortSignal;
}

/** Opens a session for a file with this metadata; `size` is undefined when it is known only at the end of the source. */
export async function createSession(
  metadata: JsonObject,
  input: {
    readonly size: number | undefined;
    readonly contentType: string;
    /** The id of a file that is replaced. Undefined: the session creates one. */
    readonly over?: string;
  },
  deps: SessionDeps,
): Promise<{ readonly kind: "ok"; readonly session: Session } | DriveFailure> {
  const { signal } = deps;
  const opened = await deps.drive.api.open({
    method: input.over === undefined ? "POST" : "PATCH",
    service: "upload",
    path: input.over === undefined ? "/files" : pathOf(input.over),
    query: { uploadType: "resumable", fields: FIELDS },
    headers: {
      "x-upload-content-type": input.contentType,
      ...(input.size === undefined ? {} : { "x-upload-content-length": String(input.size) }),
    },
    body: metadata,
    signal,
  });
  if (opened.kind !== "answered") return opened;
  opened.discard();
  const url = URL.parse(opened.headers["location"] ?? "")?.href;
  if (url === undefined) return { kind: "offline", sent: true, note: "no_session" };
  return { kind: "ok", session: toSession(url, input.size, deps) };
}

/** Asks a session of an earlier call for its offset; `done` with the file when it has all bytes. */
export async function continueSession(
  url: string,
  size: number,
  deps: SessionDeps,
): Promise<
  | { readonly kind: "stands"; readonly offset: number; readonly session: Session }
  | Extract<Standing, { kind: "done" }>
  | DriveFailure
> {
  const standing = await put(url, `bytes */${size}`, new Uint8Array(), deps);
  if (standing.kind === "more") throw new Error("a query is never answered by more");
  return standing.kind === "stands"
    ? { ...standing, session: toSession(url, size, deps) }
    : standing;
}

/** Discards a session and its bytes. A session that has ended or is unreachable is not an error. */
export async function cancelSession(url: string, { api }: Pick<Drive, "api">): Promise<void> {
  // The caller's signal may be aborted, so this request has its own.
  const signal = AbortSignal.timeout(CANCEL_MS);
  const answer = await api.openSession({ method: "DELETE", url, signal });
  if (answer.kind === "answered") answer.discard();
}

async function put(
  url: string,
  range: string,
  body: Uint8Array,
  { drive, signal }: SessionDeps,
): Promise<Standing> {
  const headers = { "content-range": range, "content-length": String(body.byteLength) };
  const answer = await drive.api.openSession({ method: "PUT", url, headers, body, signal });
  return answer.kind === "answered" ? toStanding(answer) : answer;
}

function toSession(url: string, size: number | undefined, deps: SessionDeps): Session {
  const { signal } = deps;
  return {
    url,
    async send({ start, bytes, isLast }) {
      const end = start + bytes.length;
      const total = isLast ? String(end) : String(size ?? "*");
      let offset = start;
      let broken = 0;
      let isAsked = false;
      for (;;) {
        signal.throwIfAborted();
        const part = isAsked ? new Uint8Array() : bytes.subarray(offset - start);
        const range = part.length === 0 ? "*" : `${offset}-${end - 1}`;
        const standing = await put(url, `bytes ${range}/${total}`, part, deps);
        if (standing.kind === "stands") {
          const isWithin = standing.offset >= start && standing.offset <= end;
          // A response without a range is ambiguous once some bytes have arrived: the session is queried.
          if (!isWithin && !isAsked && ++broken < TRIES_MAX) {
            isAsked = true;
            continue;
          }
          // Bytes before this piece are no longer in memory.
          if (!isWithin) return { kind: "offline", sent: true, note: "strange_range" };
          if (standing.offset === end && !isLast) return { kind: "more" };
          if (standing.offset <= offset && !isAsked && ++broken === TRIES_MAX)
            return { kind: "offline", sent: true, note: "no_progress" };
          offset = standing.offset;
          isAsked = false;
          continue;
        }
        if (!isPassing(standing) || ++broken === TRIES_MAX) return standing;
        await deps.sleep(waitMs(standing, broken), signal);
        isAsked = true;
      }
    },

    cancel: () => cancelSession(url, deps.drive),
  };
}

async function toStanding(answer: ProviderAnswer): Promise<Standing> {
  if (answer.status === 308) {
    answer.discard();
    const { range } = answer.headers;
    // No bytes have arrived yet: then there is no range.
    if (range === undefined) return { kind: "stands", offset: 0 };
    const last = /^(?:bytes=)?0-(\d{1,15})$/.exec(range)?.[1];
    return last === undefined
      ? { kind: "offline", sent: true, note: "strange_range" }
      : { kind: "stands", offset: Number(last) + 1 };
  }
  const body = await readJsonObject(answer);
  return body.kind === "ok" ? { kind: "done", value: body.value } : body;
}

/** Returns whether querying the session's offset may help. */
function isPassing(standing: Standing): boolean {
  if (standing.kind === "offline") return true;
  return (
    standing.kind === "rate_limited" &&
    (standing.retryAfterSeconds ?? 0) <= RETRY_AFTER_WAIT_SECONDS_MAX
  );
}

function waitMs(standing: Standing, broken: number): number {
  return standing.kind === "rate_limited" && standing.retryAfterSeconds !== undefined
    ? standing.retryAfterSeconds * 1000
    : FIRST_WAIT_MS * 2 ** (broken - 1);
}
