import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { contentTypeOf } from "../content-type.ts";
import { mayRetryRead, type Failure } from "../outcomes.ts";
import { inPieces, type Piece } from "../pieces.ts";
import type { SessionStore, Replacement } from "../provider.ts";
import type { ItemOutcome } from "../item.ts";
import { isExpected, isRewritten } from "../comparison.ts";
import { putNew, putOver, removeObject, type Changed } from "./changing.ts";
import { unquote } from "../../s3/client.ts";
import { find, findObject, toLockKey, type Store } from "./context.ts";
import { splitId } from "./keys.ts";
import { findShared, existsWithout, toItem } from "./listing.ts";
import { toCommonTag, uploadInParts, type Part } from "./multipart.ts";
import { purge } from "./journal.ts";
import { continueUpload, type ContinuedUpload, type SavedUpload } from "./saved-upload.ts";
import { refusePlace, toPlace, type Place } from "./names.ts";
import { mayHaveLanded, toChangeFailure, type Refused } from "../../s3/failures.ts";

/** A file to upload. */
export interface Upload {
  readonly to: Place;
  /** The entity tag of the object that is replaced. Undefined: the name must be free. */
  readonly over?: string | undefined;
  readonly content: Readable;
  readonly size: number | undefined;
  readonly contentType: string | undefined;
  readonly session?: SessionStore | undefined;
  readonly signal: AbortSignal;
}

const MIB = 1024 * 1024;
/** Parts are held in memory: a file that would need larger ones is refused. */
const PART_BYTES_MAX = 64 * MIB;
/** Maximum number of attempts of a part. Sending a part is idempotent, and its bytes are only in memory. */
const PART_TRIES = 3;
const PART_WAIT_MS = 500;

/**
 * Creates or replaces a file from a stream. A short one is one request, a longer one a multipart upload, with a few parts in memory
 * at a time: so each request has a body whose hash is signed, and can be retried.
 */
export async function upload(store: Store, input: Upload): Promise<ItemOutcome> {
  const { content, size, signal } = input;
  const abort = () => content.destroy(new Aborted());
  signal.addEventListener("abort", abort, { once: true });
  // The event of an earlier abort is over, and a source that gives no bytes would be waited for.
  if (signal.aborted) abort();
  try {
    const before = await continueUpload(store, input.session, input.to.key, signal);
    if (before !== undefined && before.kind !== "continued") return before;
    const partBytes = before?.partBytes ?? toPartBytes(store, size);
    if (partBytes === undefined) return { kind: "unsupported", reason: "file_too_large" };
    let sentBytes = 0;
    const pieces = counted(inPieces(content, partBytes, size), (bytes) => {
      sentBytes = bytes;
    });
    if (before !== undefined && before.parts === undefined) {
      const existing = await findObject(store, input.to.key, signal);
      if (existing?.kind === "refused") return toChangeFailure(existing.failure);
      if (existing !== undefined) {
        // The upload has ended and the name is taken, possibly by our file.
        const isOurs = existing.etag === (await toTag(pieces));
        const { etag, versionId } = existing;
        return isOurs
          ? await confirm(
              store,
              input,
              { kind: "done", etag, versionId, isMarked: false },
              sentBytes,
            )
          : { kind: "conflict", existingName: input.to.name };
      }
      await purge(store, before.entry, signal);
    }
    const continued = before?.parts === undefined ? undefined : { ...before, parts: before.parts };
    const first = await pieces.next();
    if (first.done === true) throw new Error("a stream has at least one piece");
    if (signal.aborted) throw new Aborted();
    const sent = first.value.isLast
      ? await putWhole(store, input, first.value.bytes)
      : await putParts(store, { ...input, partBytes, continued }, first.value, pieces);
    return await confirm(store, input, sent, sentBytes);
  } catch (error) {
    if (error instanceof Aborted) return { kind: "offline", sent: true, note: "aborted" };
    throw error;
  } finally {
    signal.removeEventListener("abort", abort);
    content.destroy();
  }
}

/** Replaces a file if it is still as expected, with its entity tag as the precondition. */
export async function replace(store: Store, input: Replacement): Promise<ItemOutcome> {
  const { id, expected, content, size, contentType, signal } = input;
  try {
    const { parent, name } = splitId(id);
    const to = toPlace(store, parent, name);
    if ("kind" in to) return to;
    const found = await find(store, id, signal);
    if (found.kind === "folder") return { kind: "unsupported", reason: "folder" };
    if (found.kind !== "file") return toChangeFailure(found);
    if (!isExpected(toItem(id, found.head), expected)) return { kind: "stale" };
    const over = found.head.etag;
    return await upload(store, {
      to: { ...to, key: found.key },
      over,
      content,
      size,
      contentType: contentType ?? found.head.headers["content-type"],
      signal,
    });
  } finally {
    content.destroy();
  }
}

class Aborted extends Error {}

/** Returns the tag that servers commonly give a file of these parts. */
async function toTag(pieces: AsyncIterable<Piece>): Promise<string> {
  const parts: Part[] = [];
  for await (const { bytes } of pieces)
    parts.push({
      number: parts.length + 1,
      etag: createHash("md5").update(bytes).digest("hex"),
    });
  return toCommonTag(parts);
}

/** Yields the same pieces and reports the number of bytes so far. */
async function* counted(
  pieces: AsyncGenerator<Piece, void, undefined>,
  tell: (bytes: number) => void,
): AsyncGenerator<Piece, void, undefined> {
  for await (const piece of pieces) {
    tell(piece.start + piece.bytes.length);
    yield piece;
  }
}

/** Returns the part size of a file, or undefined when no permitted one suffices. */
function toPartBytes(store: Store, size: number | undefined): number | undefined {
  const { partBytes, partsMax } = store.limits;
  const least = (size ?? 0) / partsMax;
  if (least <= partBytes) return partBytes;
  const needed = Math.ceil(least / MIB) * MIB;
  return needed <= Math.max(PART_BYTES_MAX, partBytes) ? needed : undefined;
}

function putWhole(store: Store, { to, over, contentType, signal }: Upload, body: Buffer) {
  const { key } = to;
  return store.deps.locks.withLocks(
    [toLockKey(store, key)],
    async (): Promise<Changed | Failure> => {
      if (over === undefined) {
        const isGuarded = store.findings.guards.put;
        const listing = await findShared(store, to.parentPrefix, signal);
        const refusal = await refusePlace(store, to, signal, { isGuarded, listed: listing });
        if (refusal !== undefined) return refusal;
      }
      const object = { key, body, contentType: toContentType(contentType, to.name), signal };
      const send = () =>
        over === undefined ? putNew(store, object) : putOver(store, { ...object, etag: over });
      const sent = await send();
      if (sent.kind !== "refused" || !mayHaveLanded(sent)) return sent;
      const find = () => findOurs(store, key, body, over, signal);
      const landed = await find();
      if (landed !== undefined) return landed;
      const retried = await send();
      if (retried.kind === "done") return retried;
      return (await find()) ?? retried;
    },
  );
}

/** Returns a media type that is valid in a header and signed unchanged. */
function toContentType(contentType: string | undefined, name: string): string | undefined {
  return contentType !== undefined && /^[!-~][ -~]{0,199}$/.test(contentType)
    ? contentType
    : contentTypeOf(name);
}

/** Finds an object with exactly our bytes after a lost response. Undefined: it is missing, or another one. */
async function findOurs(
  store: Store,
  key: string,
  body: Buffer,
  over: string | undefined,
  signal: AbortSignal,
): Promise<Changed | Failure | undefined> {
  const head = await findObject(store, key, signal);
  if (head === undefined) return undefined;
  if (head.kind === "refused") return { kind: "unknown_outcome", note: "upload_unanswered" };
  if (head.etag === createHash("md5").update(body).digest("hex"))
    return { kind: "done", etag: head.etag, versionId: head.versionId, isMarked: false };
  if (head.etag === over) return undefined;
  // Servers that encrypt derive other tags: then only its length indicates that it may be ours.
  return head.size === body.byteLength && !/^[0-9a-f]{32}$/.test(head.etag)
    ? { kind: "unknown_outcome", note: "upload_unanswered" }
    : undefined;
}

interface PartsOfUpload extends Upload {
  readonly partBytes: number;
  /** The upload of an earlier call. */
  readonly continued: (SavedUpload & { readonly parts: PartsThere }) | undefined;
}

type PartsThere = NonNullable<ContinuedUpload["parts"]>;

async function putParts(
  store: Store,
  { to, over, contentType, session, partBytes, continued, signal }: PartsOfUpload,
  first: Piece,
  rest: AsyncGenerator<Piece, void, undefined>,
): Promise<Changed | Failure> {
  const refuse = () =>
    over === undefined ? refusePlace(store, to, signal) : Promise.resolve(undefined);
  const refusal = await refuse();
  if (refusal !== undefined) return refusal;
  const type = toContentType(contentType, to.name);
  const headers = type === undefined ? {} : { "content-type": type };
  return uploadInParts(
    store,
    { key: to.key, over, headers, session, continued, partBytes, signal },
    (uploadId) =>
      sendParts(
        store,
        { key: to.key, uploadId, storedParts: continued?.parts, signal },
        first,
        rest,
      ),
    (complete) =>
      store.deps.locks.withLocks([toLockKey(store, to.key)], async () => {
        // Meanwhile the folder may have been deleted or the name taken.
        return (await refuse()) ?? complete();
      }),
  );
}

interface PartTarget {
  readonly key: string;
  readonly uploadId: string;
  /** The parts that the server has. */
  readonly storedParts: PartsThere | undefined;
  readonly signal: AbortSignal;
}

/** Sends the parts, a few at once. When this ends, no request is running, even after a failure. */
async function sendParts(
  store: Store,
  target: PartTarget,
  first: Piece,
  rest: AsyncGenerator<Piece, void, undefined>,
): Promise<readonly Part[] | Refused | Failure> {
  const stop = new AbortController();
  const signal = AbortSignal.any([target.signal, stop.signal]);
  const parts: Part[] = [];
  const sendingParts = new Set<Promise<void>>();
  let failed: Refused | undefined;
  const start = (piece: Piece, number: number) => {
    const storedPart = target.storedParts?.get(number);
    if (storedPart?.size === piece.bytes.length)
      return void parts.push({ number, etag: storedPart.etag });
    const sending = sendPart(store, { ...target, signal }, piece, number).then((sent) => {
      sendingParts.delete(sending);
      if (sent.kind === "part") parts.push(sent.part);
      else failed ??= sent;
    });
    sendingParts.add(sending);
  };
  try {
    let number = 1;
    for (let piece: Piece | undefined = first; piece !== undefined; number += 1) {
      if (number > store.limits.partsMax) return { kind: "unsupported", reason: "file_too_large" };
      start(piece, number);
      while (sendingParts.size >= store.limits.partsAtOnce) await Promise.race(sendingParts);
      if (failed !== undefined) return failed;
      const next = await rest.next();
      piece = next.done === true ? undefined : next.value;
    }
    await Promise.all(sendingParts);
    return failed ?? parts.sort((a, b) => a.number - b.number);
  } finally {
    stop.abort();
    await Promise.allSettled(sendingParts);
  }
}

async function sendPart(
  store: Store,
  { key, uploadId, signal }: PartTarget,
  { bytes }: Piece,
  number: number,
): Promise<{ readonly kind: "part"; readonly part: Part } | Refused> {
  for (let tries = 1; ; tries++) {
    const sent = await store.client.sendAndDiscard({
      method: "PUT",
      key,
      query: { partNumber: String(number), uploadId },
      body: bytes,
      signal,
    });
    if (sent.kind === "done") {
      const etag = unquote(sent.headers["etag"] ?? "");
      return { kind: "part", part: { number, etag } };
    }
    if (tries === PART_TRIES || signal.aborted || !mayRetryRead(sent.failure)) return sent;
    const wait = sent.failure.kind === "rate_limited" ? sent.failure.retryAfterSeconds : undefined;
    try {
      await store.deps.sleep(wait === undefined ? PART_WAIT_MS * tries : wait * 1000, signal);
    } catch (error) {
      if (signal.aborted) return sent;
      throw error;
    }
  }
}

/** Checks that the object is stored as sent and that its folder still exists. */
async function confirm(
  store: Store,
  { to, over, signal }: Upload,
  sent: Changed | Failure,
  sentBytes: number,
): Promise<ItemOutcome> {
  if (sent.kind === "precondition" && over !== undefined) return { kind: "stale" };
  if (sent.kind === "precondition") {
    const head = await findObject(store, to.key, signal);
    if (head?.kind === "refused") return toChangeFailure(head.failure);
    return head === undefined
      ? { kind: "locked", note: "condition_unmet" }
      : { kind: "conflict", existingName: to.name };
  }
  if (sent.kind === "refused") {
    // The bucket accepts parts of an upload that another client has ended.
    if (sent.code === "NoSuchUpload") return { kind: "stale", note: "upload_gone" };
    return toChangeFailure(sent.failure);
  }
  if (sent.kind !== "done") return sent;
  const [head, hasParent] = await Promise.all([
    findObject(store, to.key, signal),
    // The folder of a replaced file may exist only as the prefix of this file's key.
    over === undefined ? parentExists(store, to, signal) : true,
  ]);
  if (head?.kind === "refused") return { kind: "unknown_outcome", note: "upload_unseen" };
  if (head === undefined) return { kind: "stale", note: "gone_again" };
  // Without conditions the last writer wins, and with them a later one: another client may have overwritten our object.
  const isSame = sent.etag === "" || head.etag === sent.etag;
  if (hasParent === false) {
    const { etag, versionId } = head;
    if (isSame) await removeObject(store, { key: to.key, etag, versionId, signal });
    return { kind: "stale", note: "parent_gone" };
  }
  const { put, replace } = store.findings.guards;
  const isGuarded = over === undefined ? put : replace;
  if (!isSame && !isGuarded)
    return over === undefined
      ? { kind: "conflict", existingName: to.name }
      : { kind: "stale", note: "overwritten" };
  return head.size === sentBytes || isRewritten(to.name)
    ? { kind: "ok", item: toItem(to.id, head) }
    : { kind: "unknown_outcome", note: "other_bytes" };
}

/** Returns whether the folder still exists apart from the file that has just been uploaded. */
async function parentExists(
  store: Store,
  { key, parentPrefix }: Place,
  signal: AbortSignal,
): Promise<boolean | Failure> {
  const listing = await findShared(store, parentPrefix, signal);
  return listing?.hasOther(key) === true || existsWithout(store, parentPrefix, key, signal);
}
