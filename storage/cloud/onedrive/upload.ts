import type { JsonObject } from "../json.ts";
import { STRANGE_ANSWER } from "../guarded-change.ts";
import { inPieces, pieceFrom, withContent } from "../pieces.ts";
import type { ItemOutcome } from "../item.ts";
import { isAsSent, isRewritten } from "../comparison.ts";
import { toChangeFailure } from "./changes.ts";
import type { GraphFailure } from "./failures.ts";
import type { GraphAnswer } from "./graph.ts";
import { isPossibleId, type DriveItem } from "./items.ts";
import { brokenOneDriveRule } from "./names.ts";
import { createQuickXorHash } from "./quick-xor-hash.ts";
import {
  begin,
  cancel,
  continueSession,
  isPassing,
  sendFragment,
  sessionExpired,
  TRIES_MAX,
  waitMs,
  type Progress,
  type Upload,
  type UploadDeps,
} from "./session.ts";

/** How long a new file may take to become visible. */
const SEEN_AFTER_MS = 5_000;

/** The uploaded content, to recognize the file after a lost response. */
export interface Sent {
  readonly size: number;
  readonly quickXorHash: string;
}

/**
 * Creates a file. A small one is sent as one request, a larger one through an upload session, fragment by fragment;
 * nothing is visible before the last one. Discards the session when the upload fails, unless it is kept for another
 * call. Throws errors of the source.
 */
export async function upload(input: Upload, deps: UploadDeps): Promise<ItemOutcome> {
  const { name, size } = input;
  return withContent(input, async () => {
    const rule = brokenOneDriveRule(name);
    if (rule !== undefined) return { kind: "invalid_name", rule };
    if (!isPossibleId(input.parent)) return { kind: "stale", note: "impossible_id" };
    // The service requires the length with every fragment.
    if (size === undefined) return { kind: "unsupported", reason: "length_needed" };
    return size <= deps.sizes.simpleBytesMax
      ? uploadAtOnce(input, deps)
      : uploadInSession({ ...input, size }, deps);
  });
}

async function uploadAtOnce(input: Upload, deps: UploadDeps): Promise<ItemOutcome> {
  const { signal } = input;
  const bytes = await readWhole(input, deps.sizes.simpleBytesMax);
  const hash = createQuickXorHash();
  hash.update(bytes);
  const sent: Sent = { size: bytes.length, quickXorHash: hash.digest() };
  let mayHaveLanded = false;
  for (let tries = 1; ; tries++) {
    signal.throwIfAborted();
    const answer = await putWhole(input, bytes, deps);
    if (answer.kind === "ok") {
      return answer.status === 201
        ? confirm(answer.value, sent, input, deps)
        : { kind: "unknown_outcome", note: "not_created" };
    }
    // A name that is taken after a lost response may be our own file.
    const isOwnRival = answer.kind === "conflict" && mayHaveLanded;
    mayHaveLanded ||= answer.kind === "offline" && answer.sent;
    const outcome = await determineOutcome(isOwnRival ? lostAnswer : answer, sent, input, deps);
    if (!isPassing(outcome) || tries === TRIES_MAX) return outcome;
    await deps.sleep(waitMs(outcome, tries), signal);
  }
}

async function putWhole(input: Upload, bytes: Uint8Array, deps: UploadDeps): Promise<GraphAnswer> {
  const { parent, name, signal } = input;
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
  input: Upload & { readonly size: number },
  deps: UploadDeps,
): Promise<ItemOutcome> {
  const { name, size, session, signal } = input;
  const begun = (await continueSession(input, deps)) ?? (await begin(input, deps));
  if (begun.kind === "conflict") return { ...begun, existingName: name };
  if (begun.kind !== "ok" && begun.kind !== "finished") return toChangeFailure(begun);

  let isOver = false;
  try {
    const hash = createQuickXorHash();
    let last: Progress =
      begun.kind === "finished" ? sessionExpired : { kind: "next", offset: begun.offset };
    for await (const piece of inPieces(input.content, deps.sizes.fragmentBytes, size)) {
      hash.update(piece.bytes);
      const rest = last.kind === "next" ? pieceFrom(piece, last.offset) : undefined;
      if (rest === undefined || begun.kind === "finished") continue;
      last = await sendFragment(begun.url, rest.start, rest.bytes, size, signal, deps);
      if (last.kind !== "next") break;
    }
    if (last.kind === "next") {
      // It has all bytes and no file: another session begins from the start.
      await session?.save(undefined);
      return { kind: "offline", sent: true, note: "session_wants_more" };
    }
    const sent: Sent = { size, quickXorHash: hash.digest() };
    isOver = last.kind === "done";
    return last.kind === "done"
      ? await confirm(last.value, sent, input, deps)
      : await determineOutcome(last, sent, input, deps);
  } finally {
    if (begun.kind === "ok" && !isOver && session === undefined) await cancel(begun.url, deps);
  }
}

/** Returns the file as the drive stores it after a successful response. */
async function confirm(
  value: JsonObject,
  sent: Sent,
  input: Upload,
  deps: UploadDeps,
): Promise<ItemOutcome> {
  const parsed = deps.drive.toItem(value);
  if (parsed.kind !== "ok") return determineOutcome(STRANGE_ANSWER, sent, input, deps);
  // Some libraries alter documents after the upload: the altered bytes count from then on.
  const stored = await deps.drive.lookUp(parsed.found.item.id, input.signal);
  const { found } = stored.kind === "ok" ? stored : parsed;
  if (isSame(found, sent) || isRewritten(input.name)) return { kind: "ok", item: found.item };
  return { kind: "unknown_outcome", note: "other_bytes" };
}

/** Determines the result of an upload without a successful response: the file may exist. */
async function determineOutcome(
  failure: GraphFailure,
  sent: Sent,
  input: Upload,
  deps: UploadDeps,
): Promise<ItemOutcome> {
  const { parent, name, signal } = input;
  if (failure.kind === "conflict") return { ...failure, existingName: name };
  const mayHaveLanded =
    (failure.kind === "offline" && failure.sent) || failure.kind === "unknown_outcome";
  if (!mayHaveLanded || signal.aborted) return toChangeFailure(failure);
  let found = await deps.drive.lookUpChild(parent, name, signal);
  if (found.kind === "not_found" && failure === sessionExpired) {
    // A finished session disappears before its file is visible everywhere.
    await deps.sleep(SEEN_AFTER_MS, signal);
    found = await deps.drive.lookUpChild(parent, name, signal);
  }
  if (found.kind === "ok")
    return isSame(found.found, sent) && isAsSent(found.found.item.name, name)
      ? { kind: "ok", item: found.found.item }
      : { kind: "conflict", existingName: found.found.item.name };
  if (found.kind !== "not_found") return { kind: "unknown_outcome", note: failure.note ?? "lost" };
  if (parent === "") return failure;
  const folder = await deps.drive.lookUp(parent, signal);
  return folder.kind === "not_found" ? { kind: "stale", note: "parent_gone" } : failure;
}

const lostAnswer: GraphFailure = { kind: "offline", sent: true, note: "lost" };

export function isSame(found: DriveItem, sent: Sent): boolean {
  if (found.item.kind !== "file" || found.item.size !== sent.size) return false;
  return found.quickXorHash === undefined || found.quickXorHash === sent.quickXorHash;
}

export async function readWhole(
  input: Pick<Upload, "content" | "size">,
  bytesMax: number,
): Promise<Buffer> {
  for await (const piece of inPieces(input.content, Math.max(bytesMax, 1), input.size))
    return piece.bytes;
  return Buffer.alloc(0);
}
