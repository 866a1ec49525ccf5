import type { Readable } from "node:stream";
import { asText, readJsonObject, type JsonObject } from "../json.ts";
import { STRANGE_ANSWER } from "../guarded-change.ts";
import { mayRetryRead } from "../outcomes.ts";
import { inPieces } from "../pieces.ts";
import type { ItemOutcome } from "../item.ts";
import { isAsSent, isRewritten } from "../comparison.ts";
import type { ProviderAnswer } from "../transport.ts";
import { toChangeFailure } from "./changes.ts";
import type { Drive } from "./drive.ts";
import type { GraphFailure } from "./failures.ts";
import type { Graph, GraphAnswer } from "./graph.ts";
import { isPossibleId, type DriveItem } from "./items.ts";
import { brokenOneDriveRule } from "./names.ts";
import { createQuickXorHash } from "./quick-xor-hash.ts";

/** The parameters of one upload, as in the contract. */
export interface Upload {
  readonly parent: string;
  readonly name: string;
  readonly content: Readable;
  readonly size: number | undefined;
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
/** How long a new file may take to become visible. */
const SEEN_AFTER_MS = 5_000;
/** Time-out of discarding a session. */
const CANCEL_MS = 10_000;

/** The uploaded content, to recognize the file after a lost response. */
export interface Sent {
  readonly size: number;
  readonly quickXorHash: string;
}

/** The state of an upload session. */
type Progress =
  | { readonly kind: "next"; readonly offset: number }
  | { readonly kind: "done"; readonly value: JsonObject }
  | GraphFailure;

/**
 * Creates a file. A small one is sent as one request, a larger one through an upload session, fragment by fragment; nothing
 * is visible before the last one. Discards the session when the upload fails. Throws what the source throws.
 */
export async function upload(what: Upload, deps: UploadDeps): Promise<ItemOutcome> {
  const { content, name, size, signal } = what;
  // Until the stream is read it needs a listener, because an error must not end the process.
  content.on("error", () => undefined);
  try {
    const rule = brokenOneDriveRule(name);
    if (rule !== undefined) return { kind: "invalid_name", rule };
    if (!isPossibleId(what.parent)) return { kind: "stale", note: "impossible_id" };
    // The service requires the length with every fragment.
    if (size === undefined) return { kind: "unsupported", reason: "length_needed" };
    return size <= deps.sizes.simpleBytesMax
      ? await uploadAtOnce(what, deps)
      : await uploadInSession({ ...what, size }, deps);
  } catch (error) {
    if (signal.aborted && content.errored === null)
      return { kind: "offline", sent: true, note: "aborted" };
    throw error;
  } finally {
    content.destroy();
  }
}

async function uploadAtOnce(what: Upload, deps: UploadDeps): Promise<ItemOutcome> {
  const { signal } = what;
  const bytes = await readWhole(what, deps.sizes.simpleBytesMax);
  const hash = createQuickXorHash();
  hash.update(bytes);
  const sent: Sent = { size: bytes.length, quickXorHash: hash.digest() };
  let mayHaveLanded = false;
  for (let tries = 1; ; tries++) {
    signal.throwIfAborted();
    const answer = await putWhole(what, bytes, deps);
    if (answer.kind === "ok") {
      return answer.status === 201
        ? confirm(answer.value, sent, what, deps)
        : { kind: "unknown_outcome", note: "not_created" };
    }
    // A name that is taken after a lost response may be our own file.
    const isOwnRival = answer.kind === "conflict" && mayHaveLanded;
    mayHaveLanded ||= answer.kind === "offline" && answer.sent;
    const outcome = await determineOutcome(isOwnRival ? lostAnswer : answer, sent, what, deps);
    if (!isPassing(outcome) || tries === TRIES_MAX) return outcome;
    await deps.sleep(waitMs(outcome, tries), signal);
  }
}

async function putWhole(what: Upload, bytes: Uint8Array, deps: UploadDeps): Promise<GraphAnswer> {
  const { parent, name, signal } = what;
  const place = deps.drive.addressOfChild(parent, name);
  const answer = await deps.graph.call({
    method: "PUT",
    path: `${place}/content?@microsoft.graph.conflictBehavior=fail`,
    // This request overwrites by default: both ways to forbid that are used.
    headers: { "if-none-match": "*" },
    body: bytes,
    signal,
  });
  // If-None-Match fails with 412, which also means that the name is taken.
  return answer.kind === "stale" ? { ...answer, kind: "conflict" } : answer;
}

async function uploadInSession(
  what: Upload & { readonly size: number },
  deps: UploadDeps,
): Promise<ItemOutcome> {
  const { name, size, signal } = what;
  const begun = await begin(what, deps);
  if (begun.kind !== "ok")
    return begun.kind === "conflict" ? { ...begun, existingName: name } : toChangeFailure(begun);
  const { url } = begun;

  let isOver = false;
  try {
    const hash = createQuickXorHash();
    let last: Progress = { kind: "next", offset: 0 };
    for await (const piece of inPieces(what.content, deps.sizes.fragmentBytes, size)) {
      hash.update(piece.bytes);
      last = await sendFragment(url, piece.start, piece.bytes, size, signal, deps);
      if (last.kind !== "next") break;
    }
    if (last.kind === "next") return { kind: "offline", sent: true, note: "session_wants_more" };
    const sent: Sent = { size, quickXorHash: hash.digest() };
    isOver = last.kind === "done";
    return last.kind === "done"
      ? await confirm(last.value, sent, what, deps)
      : await determineOutcome(last, sent, what, deps);
  } finally {
    if (!isOver) await cancel(url, deps);
  }
}

/**
 * Opens a session. A session whose response is lost has no effect and expires; until then work drives reserve the name
 * for it, although no file has it.
 */
async function begin(
  what: Upload & { readonly size: number },
  deps: UploadDeps,
): Promise<{ readonly kind: "ok"; readonly url: string } | GraphFailure> {
  const { parent, name, signal } = what;
  // Some work drives overwrite a file through a session that forbids it.
  const taken = await deps.drive.lookAtChild(parent, name, signal);
  if (taken.kind === "ok") return { kind: "conflict", existingName: taken.found.item.name };
  if (taken.kind !== "not_found") return taken;
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
      return url === undefined
        ? { kind: "offline", sent: true, note: "strange_session" }
        : { kind: "ok", url };
    }
    if (answer.kind === "conflict" && mayHaveBegun) {
      const rival = await deps.drive.lookAtChild(parent, name, signal);
      return rival.kind === "not_found" ? { kind: "locked", note: "own_session" } : answer;
    }
    mayHaveBegun ||= answer.kind === "offline" && answer.sent;
    if (!isPassing(answer) || tries === TRIES_MAX || signal.aborted) return answer;
    await deps.sleep(waitMs(answer, tries), signal);
  }
}

/** The session is finished and the response was lost, or it was discarded, or the folder is gone: a lookup decides. */
const sessionGone: GraphFailure = { kind: "offline", sent: true, note: "session_gone" };

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
    if (progress.kind === "not_found") return sessionGone;
    const isFinal = progress.kind !== "next" && !isPassing(progress);
    if (isFinal || tries === TRIES_MAX) return progress;
    if (progress.kind !== "next") {
      await deps.sleep(waitMs(progress, tries), signal);
      progress = await askProgress(url, signal, deps);
      if (progress.kind === "not_found") return sessionGone;
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

/** Returns the file as the drive stores it after a successful response. */
async function confirm(
  value: JsonObject,
  sent: Sent,
  what: Upload,
  deps: UploadDeps,
): Promise<ItemOutcome> {
  const said = deps.drive.toItem(value);
  if (said.kind !== "ok") return determineOutcome(STRANGE_ANSWER, sent, what, deps);
  // Some libraries alter documents after the upload: the altered bytes count from then on.
  const held = await deps.drive.look(said.found.item.id, what.signal);
  const { found } = held.kind === "ok" ? held : said;
  if (isSame(found, sent) || isRewritten(what.name)) return { kind: "ok", item: found.item };
  return { kind: "unknown_outcome", note: "other_bytes" };
}

/** Determines the result of an upload without a successful response: the file may exist. */
async function determineOutcome(
  failure: GraphFailure,
  sent: Sent,
  what: Upload,
  deps: UploadDeps,
): Promise<ItemOutcome> {
  const { parent, name, signal } = what;
  if (failure.kind === "conflict") return { ...failure, existingName: name };
  const mayHaveLanded =
    (failure.kind === "offline" && failure.sent) || failure.kind === "unknown_outcome";
  if (!mayHaveLanded || signal.aborted) return toChangeFailure(failure);
  let found = await deps.drive.lookAtChild(parent, name, signal);
  if (found.kind === "not_found" && failure === sessionGone) {
    // A finished session disappears before its file is visible everywhere.
    await deps.sleep(SEEN_AFTER_MS, signal);
    found = await deps.drive.lookAtChild(parent, name, signal);
  }
  if (found.kind === "ok")
    return isSame(found.found, sent) && isAsSent(found.found.item.name, name)
      ? { kind: "ok", item: found.found.item }
      : { kind: "conflict", existingName: found.found.item.name };
  if (found.kind !== "not_found") return { kind: "unknown_outcome", note: failure.note ?? "lost" };
  if (parent === "") return failure;
  const folder = await deps.drive.look(parent, signal);
  return folder.kind === "not_found" ? { kind: "stale", note: "parent_gone" } : failure;
}

const lostAnswer: GraphFailure = { kind: "offline", sent: true, note: "lost" };

export function isSame(found: DriveItem, sent: Sent): boolean {
  if (found.item.kind !== "file" || found.item.size !== sent.size) return false;
  return found.quickXorHash === undefined || found.quickXorHash === sent.quickXorHash;
}

export async function readWhole(
  what: Pick<Upload, "content" | "size">,
  bytesMax: number,
): Promise<Buffer> {
  for await (const piece of inPieces(what.content, Math.max(bytesMax, 1), what.size))
    return piece.bytes;
  return Buffer.alloc(0);
}
