import { isExpected, isRewritten } from "../comparison.ts";
import { STRANGE_ANSWER, toEarlyFailure } from "../guarded-change.ts";
import type { Failure } from "../outcomes.ts";
import { inPieces, withContent } from "../pieces.ts";
import type { Replacement } from "../provider.ts";
import type { ItemOutcome } from "../item.ts";
import { toChangeFailure } from "./changes.ts";
import type { GraphAnswer } from "./graph.ts";
import { isHeaderValue, type DriveItem } from "./items.ts";
import { createQuickXorHash } from "./quick-xor-hash.ts";
import { cancel, isPassing, sendFragment, TRIES_MAX, waitMs, type UploadDeps } from "./session.ts";
import { isSame, readWhole, type Sent } from "./upload.ts";

/**
 * Replaces a file if it is still the expected version. A small one is one request with the precondition `If-Match`. A
 * larger one goes through an upload session: a session that is opened with a precondition breaks it itself on some
 * drives, so its version is compared just before the last fragment. A version that another client writes in between
 * remains as an earlier version.
 */
export async function replace(input: Replacement, deps: UploadDeps): Promise<ItemOutcome> {
  const { id, expected, size, signal } = input;
  return withContent(input, async () => {
    if (expected.etag !== undefined && !isHeaderValue(expected.etag)) return { kind: "stale" };
    // The service requires the length with every fragment.
    if (size === undefined) return { kind: "unsupported", reason: "length_needed" };
    const current = await deps.drive.lookUp(id, signal);
    if (current.kind !== "ok") return toEarlyFailure(current, toChangeFailure);
    const before = current.found;
    if (before.item.kind === "folder") return { kind: "unsupported", reason: "folder" };
    if (!isExpected(before.item, expected)) return { kind: "stale" };
    return size <= deps.sizes.simpleBytesMax
      ? replaceAtOnce(input, before, deps)
      : replaceInSession({ ...input, size }, before, deps);
  });
}

async function replaceAtOnce(
  input: Replacement,
  before: DriveItem,
  deps: UploadDeps,
): Promise<ItemOutcome> {
  const { signal } = input;
  const bytes = await readWhole(input, deps.sizes.simpleBytesMax);
  const hash = createQuickXorHash();
  hash.update(bytes);
  const sent: Sent = { size: bytes.length, quickXorHash: hash.digest() };
  for (let tries = 1; ; tries++) {
    signal.throwIfAborted();
    const answer = await putContent(before, bytes, signal, deps);
    const outcome = await determineOutcome(answer, before, sent, signal, deps);
    if (!isPassing(outcome) || tries === TRIES_MAX) return outcome;
    await deps.sleep(waitMs(outcome, tries), signal);
  }
}

async function putContent(
  { item }: DriveItem,
  bytes: Uint8Array,
  signal: AbortSignal,
  deps: UploadDeps,
): Promise<GraphAnswer> {
  const send = (etag: string | undefined) =>
    deps.graph.call({
      method: "PUT",
      path: `${deps.drive.addressOf(item.id)}/content`,
      headers: etag === undefined ? {} : { "if-match": etag },
      body: bytes,
      signal,
    });
  const answer = await send(item.etag);
  if (answer.kind !== "stale") return answer;
  // Some libraries refuse their own etag: if nothing has changed, the condition is useless there.
  const current = await deps.drive.lookUp(item.id, signal);
  if (current.kind !== "ok" || current.found.item.etag !== item.etag) return answer;
  return send(undefined);
}

async function replaceInSession(
  input: Replacement & { readonly size: number },
  before: DriveItem,
  deps: UploadDeps,
): Promise<ItemOutcome> {
  const { size, signal } = input;
  const { id } = before.item;
  const opened = await deps.graph.call({
    method: "POST",
    path: `${deps.drive.addressOf(id)}/createUploadSession`,
    body: { item: { "@microsoft.graph.conflictBehavior": "replace" } },
    signal,
  });
  // A session whose response is lost has no effect and expires.
  if (opened.kind !== "ok") return toChangeFailure(opened);
  const url = deps.graph.toSigned(opened.value["uploadUrl"]);
  if (url === undefined) return { kind: "offline", sent: true, note: "strange_session" };

  let isOver = false;
  try {
    const hash = createQuickXorHash();
    for await (const piece of inPieces(input.content, deps.sizes.fragmentBytes, size)) {
      hash.update(piece.bytes);
      if (piece.isLast) {
        // The session may have changed the etag, but not the version of the content.
        const now = await deps.drive.lookUp(id, signal);
        if (now.kind !== "ok") return toEarlyFailure(now, toChangeFailure);
        if (now.found.item.version !== before.item.version) return { kind: "stale" };
      }
      const progress = await sendFragment(url, piece.start, piece.bytes, size, signal, deps);
      if (progress.kind === "next") continue;
      isOver = progress.kind === "done";
      const answer: GraphAnswer =
        progress.kind === "done" ? { ...progress, kind: "ok", status: 200 } : progress;
      const sent: Sent = { size, quickXorHash: hash.digest() };
      return await determineOutcome(answer, before, sent, signal, deps);
    }
    return { kind: "offline", sent: true, note: "session_wants_more" };
  } finally {
    if (!isOver) await cancel(url, deps);
  }
}

/** Looks up the file after the request: the drive may have altered it, and the response may be lost. */
async function determineOutcome(
  answer: GraphAnswer,
  before: DriveItem,
  sent: Sent,
  signal: AbortSignal,
  deps: UploadDeps,
): Promise<ItemOutcome> {
  const parsed = answer.kind === "ok" ? deps.drive.toItem(answer.value) : answer;
  const failure: Failure = parsed.kind === "ok" ? STRANGE_ANSWER : toChangeFailure(parsed);
  const mayHaveLanded =
    answer.kind === "ok" ||
    (failure.kind === "offline" && failure.sent) ||
    failure.kind === "unknown_outcome";
  if (!mayHaveLanded || signal.aborted) return failure;
  const now = await deps.drive.lookUp(before.item.id, signal);
  if (now.kind === "not_found") return { kind: "stale" };
  if (now.kind !== "ok")
    return parsed.kind === "ok"
      ? { kind: "ok", item: parsed.found.item }
      : { kind: "unknown_outcome", note: failure.note ?? "lost" };
  const { found } = now;
  const isAccepted = answer.kind === "ok" && isRewritten(found.item.name);
  if (isSame(found, sent) || isAccepted) return { kind: "ok", item: found.item };
  if (answer.kind === "ok") return { kind: "unknown_outcome", note: "other_bytes" };
  return found.item.version === before.item.version ? failure : { kind: "stale" };
}
