import type { Readable } from "node:stream";
import { asText, type JsonObject } from "../json.ts";
import { readJsonObject } from "../response-json.ts";
import { mayRetryRead } from "../outcomes.ts";
import type { SessionStore } from "../provider.ts";
import type { ItemOutcome } from "../item.ts";
import type { ProviderAnswer } from "../transport.ts";
import type { Drive } from "./drive.ts";
import type { GraphFailure } from "./failures.ts";
import type { Graph } from "./graph.ts";

/** The parameters of one upload, as in the contract. */
export interface Upload {
  readonly parent: string;
  readonly name: string;
  readonly content: Readable;
  readonly size: number | undefined;
  readonly session?: SessionStore | undefined;
  readonly signal: AbortSignal;
}

export interface UploadSizes {
  /** Files up to this size are sent as one request. */
  readonly simpleBytesMax: number;
  /** Size of a fragment of an upload session: a multiple of 320 KiB. */
  readonly fragmentBytes: number;
}

export interface UploadDeps {
  readonly graph: Graph;
  readonly drive: Drive;
  readonly sizes: UploadSizes;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** The most attempts of a fragment, the first included. */
export const TRIES_MAX = 4;
const FIRST_WAIT_MS = 500;
/** Time-out of discarding a session. */
const CANCEL_MS = 10_000;

/** The state of an upload session. */
export type Progress =
  | { readonly kind: "next"; readonly offset: number }
  | { readonly kind: "done"; readonly value: JsonObject }
  | GraphFailure;

/** A session and the offset of the next byte that it needs. */
interface OpenSession {
  readonly kind: "ok";
  readonly url: string;
  readonly offset: number;
}

/**
 * Determines the offset of a kept session. `finished` when it has ended and the name is taken: possibly by the uploaded
 * file, which a comparison of bytes decides. Undefined when a new session is needed.
 */
export async function continueSession(
  input: Upload,
  deps: UploadDeps,
): Promise<OpenSession | { readonly kind: "finished" } | GraphFailure | undefined> {
  const { parent, name, session, signal } = input;
  const url = deps.graph.toSigned(session?.saved);
  if (session === undefined || url === undefined) return undefined;
  const progress = await askProgress(url, signal, deps);
  const isGone = progress.kind === "not_found" || progress.kind === "unknown_outcome";
  if (progress.kind !== "next" && !isGone)
    return progress.kind === "done" ? { kind: "finished" } : progress;
  const existing = await deps.drive.lookUpChild(parent, name, signal);
  if (isGone) {
    if (existing.kind === "ok") return { kind: "finished" };
    return existing.kind === "not_found" ? undefined : existing;
  }
  // Some work drives overwrite a file through a session that forbids it.
  if (existing.kind === "ok") return { kind: "conflict" };
  return existing.kind === "not_found" ? { kind: "ok", url, offset: progress.offset } : existing;
}

/**
 * Opens a session. A session whose response is lost has no effect and expires; until then work drives reserve the name
 * for it, although no file has it.
 */
export async function begin(
  input: Upload & { readonly size: number },
  deps: UploadDeps,
): Promise<OpenSession | GraphFailure> {
  const { parent, name, session, signal } = input;
  // Some work drives overwrite a file through a session that forbids it.
  const existing = await deps.drive.lookUpChild(parent, name, signal);
  if (existing.kind === "ok") return { kind: "conflict", existingName: existing.found.item.name };
  if (existing.kind !== "not_found") return existing;
  let mayHaveBegun = false;
  for (let tries = 1; ; tries++) {
    const answer = await deps.graph.call({
      method: "POST",
      path: `${deps.drive.addressOfChild(parent, name)}/createUploadSession`,
      // Work drives refuse `fileSize`, which is documented for personal drives only.
      body: { item: { "@microsoft.graph.conflictBehavior": "fail", name } },
      signal,
    });
    if (answer.kind === "ok") {
      const url = deps.graph.toSigned(answer.value["uploadUrl"]);
      if (url === undefined) return { kind: "offline", sent: true, note: "strange_session" };
      await session?.save(url);
      return { kind: "ok", url, offset: 0 };
    }
    if (answer.kind === "conflict" && mayHaveBegun) {
      const rival = await deps.drive.lookUpChild(parent, name, signal);
      return rival.kind === "not_found" ? { kind: "locked", note: "own_session" } : answer;
    }
    mayHaveBegun ||= answer.kind === "offline" && answer.sent;
    if (!isPassing(answer) || tries === TRIES_MAX || signal.aborted) return answer;
    await deps.sleep(waitMs(answer, tries), signal);
  }
}

/**
 * The session is finished and the response was lost, or it was discarded, or the folder was deleted: a lookup decides.
 */
export const sessionExpired: GraphFailure = { kind: "offline", sent: true, note: "session_gone" };

/** Sends one fragment until the session has all of it; resumes at the offset that the session reports. */
export async function sendFragment(
  url: string,
  start: number,
  bytes: Uint8Array,
  total: number,
  signal: AbortSignal,
  deps: UploadDeps,
): Promise<Progress> {
  const end = start + bytes.length;
  let offset = start;
  for (let tries = 1; ; tries++) {
    signal.throwIfAborted();
    const answer = await deps.graph.callSigned({
      method: "PUT",
      url,
      headers: { "content-range": `bytes ${offset}-${end - 1}/${total}` },
      body: bytes.subarray(offset - start),
      signal,
    });
    let progress = answer.kind === "answered" ? await toProgress(answer, deps) : answer;
    if (progress.kind === "not_found") return sessionExpired;
    const isFinal = progress.kind !== "next" && !isPassing(progress);
    if (isFinal || tries === TRIES_MAX) return progress;
    if (progress.kind !== "next") {
      await deps.sleep(waitMs(progress, tries), signal);
      progress = await askProgress(url, signal, deps);
      if (progress.kind === "not_found") return sessionExpired;
    }
    if (progress.kind !== "next") continue;
    if (progress.offset < start || progress.offset > end)
      return { kind: "offline", sent: true, note: "strange_range" };
    if (progress.offset < end) offset = progress.offset;
    else if (end < total) return progress;
  }
}

/** Returns whether the failure may be temporary: then the same bytes are sent again; the source cannot be read again. */
export function isPassing(outcome: ItemOutcome | Progress): boolean {
  switch (outcome.kind) {
    case "ok":
    case "next":
    case "done":
      return false;
    default:
      return mayRetryRead(outcome);
  }
}

export function waitMs(failure: Progress | ItemOutcome, tries: number): number {
  return failure.kind === "rate_limited" && failure.retryAfterSeconds !== undefined
    ? failure.retryAfterSeconds * 1000
    : FIRST_WAIT_MS * 2 ** (tries - 1);
}

async function toProgress(answer: ProviderAnswer, deps: UploadDeps): Promise<Progress> {
  const { status } = answer;
  if (status === 416) {
    answer.discard();
    return { kind: "offline", sent: true, note: "416" };
  }
  if (status < 200 || status > 299) {
    const failure = await deps.graph.toFailure(answer);
    // The session's URL has expired; the sign-in may still be valid.
    return failure.kind === "reauth"
      ? { kind: "unknown_outcome", note: "session_refused" }
      : failure;
  }
  const body = await readJsonObject(answer);
  if (body.kind !== "ok") return body;
  if (status === 200 || status === 201) {
    if (asText(body.value["id"]) !== undefined) return { kind: "done", value: body.value };
  }
  const ranges: unknown = body.value["nextExpectedRanges"];
  const first: unknown = Array.isArray(ranges) ? ranges[0] : undefined;
  const offset = typeof first === "string" ? /^(\d{1,15})-/.exec(first)?.[1] : undefined;
  return offset === undefined
    ? { kind: "offline", sent: true, note: "strange_progress" }
    : { kind: "next", offset: Number(offset) };
}

async function askProgress(url: string, signal: AbortSignal, deps: UploadDeps): Promise<Progress> {
  const answer = await deps.graph.callSigned({ method: "GET", url, signal });
  return answer.kind === "answered" ? toProgress(answer, deps) : answer;
}

export async function cancel(url: string, deps: UploadDeps): Promise<void> {
  // The caller's signal may be aborted, so this request has its own.
  const signal = AbortSignal.timeout(CANCEL_MS);
  const answer = await deps.graph.callSigned({ method: "DELETE", url, signal });
  if (answer.kind === "answered") answer.discard();
}
