import { Buffer } from "node:buffer";
import { Readable } from "node:stream";
import { contentTypeOf } from "../content-type.ts";
import type { Failure } from "../outcomes.ts";
import { WrongLength } from "../pieces.ts";
import type { SessionStore } from "../provider.ts";
import type { ItemOutcome } from "../item.ts";
import { isRewritten } from "../comparison.ts";
import { toSegments } from "./address.ts";
import { refuseTaken } from "./changing.ts";
import { refuseName, refuseTarget, type DavCore } from "./core.ts";
import { isPlain } from "./failures.ts";
import type { DavItem } from "./items.ts";
import { moveOnto } from "./relocate.ts";
import { withTemporaryName } from "./temporary.ts";

/** A file to create. */
export interface Upload {
  readonly parent: string;
  readonly name: string;
  readonly content: Readable;
  readonly size: number | undefined;
  readonly contentType: string | undefined;
  readonly session?: SessionStore | undefined;
  readonly signal: AbortSignal;
}

/** Files up to this length are read into memory first, so that their length is known before the request. */
const SMALL_BYTES = 64 * 1024;
/** Time-out of the clean-up after the call itself has ended. */
const CLEAN_UP_MS = 20_000;
/** A server may still write when the connection is closed: delays before further checks for leftovers. */
const LATE_WRITES_MS = [0, 100, 400];

/**
 * Creates a file: uploads its bytes to a temporary name in the same folder, and moves only a complete file to its
 * name. Some servers keep half a file when a connection breaks, and most overwrite despite their promise
 * when two clients upload at once; nearly all enforce a move that refuses to overwrite.
 */
export async function uploadFile(core: DavCore, upload: Upload): Promise<ItemOutcome> {
  try {
    const place = toUploadPlace(core, upload);
    if (place.kind !== "ok") return place;
    const body = await openBody(upload, SMALL_BYTES);
    // Avoids a useless large upload; some servers also create missing parents.
    if (body.bytes === undefined || !refusesByItself(core)) {
      const refusal = await refuseTaken(core, place.segments, upload.signal);
      if (refusal !== undefined) return refusal;
    }
    return await withTemporaryName(core.deps, core.probeResult, (name) =>
      uploadBy([...place.parent, name], place, core, upload, body),
    );
  } finally {
    upload.content.destroy();
  }
}

/** Whether the server enforces that a move does not overwrite, and refuses a file below a missing folder. */
function refusesByItself({ probeResult }: DavCore): boolean {
  return probeResult["refuses_overwrite"] === true && probeResult["refuses_orphans"] === true;
}

async function uploadBy(
  temporary: readonly string[],
  place: { readonly parent: readonly string[]; readonly segments: readonly string[] },
  core: DavCore,
  upload: Upload,
  body: UploadBody,
): Promise<ItemOutcome> {
  const { signal } = upload;
  let remains: "nothing" | "perhaps" | "late" = "late";
  try {
    const failure = await putBytes(core, upload, temporary, body);
    // A proxy may have responded for a server that is still writing.
    if (failure?.kind !== "offline" && failure?.kind !== "quota_exceeded") remains = "perhaps";
    // Servers throttle clients that repeat rejected credentials.
    if (failure?.kind === "reauth") remains = "nothing";
    if (failure !== undefined) {
      const isCut = failure.kind === "offline" || signal.aborted;
      if (!(await isWhole(core, upload, temporary, body, isCut))) {
        if (isPlain(failure)) return failure;
        const refusal = await core.refuseParent(place.parent, signal);
        return refusal === undefined ? failure : toStale(refusal);
      }
    }
    const outcome = await core.withLocks([place.segments], async (): Promise<ItemOutcome> => {
      const isGuarded = refusesByItself(core);
      const conflict = isGuarded ? undefined : await refuseTaken(core, place.segments, signal);
      if (conflict !== undefined) return conflict;
      const found = await core.lookUp(temporary, signal);
      if (found.kind === "not_found") return { kind: "offline", sent: false, note: "not_kept" };
      if (found.kind !== "ok") return found;
      if (isOther(found.davItem, upload.name, body.length()))
        return { kind: "offline", sent: true, note: "other_bytes" };
      const { segments: to } = place;
      return moveOnto(core, { source: found.davItem, from: temporary, to, isGuarded, signal });
    });
    if (outcome.kind === "ok") remains = "nothing";
    return outcome.kind === "stale"
      ? ((await explainStale(core, place.parent, signal)) ?? outcome)
      : outcome;
  } finally {
    if (remains !== "nothing") await discard(core, temporary, remains === "late");
  }
}

/** Returns the target of an upload, or a failure that needs no request. */
export function toUploadPlace(
  core: DavCore,
  { parent: parentId, name }: Upload,
):
  | {
      readonly kind: "ok";
      readonly parent: readonly string[];
      readonly segments: readonly string[];
    }
  | Failure {
  const refusal = refuseName(name, core.probeResult);
  if (refusal !== undefined) return refusal;
  const parent = toSegments(parentId);
  if (parent === undefined) return { kind: "stale", note: "impossible_id" };
  const segments = [...parent, name];
  return refuseTarget(segments, core.probeResult) ?? { kind: "ok", parent, segments };
}

/** Returns the media type of a new file, since the server sees a temporary name. */
export function typeOf({ contentType, name }: Pick<Upload, "contentType" | "name">): string {
  return contentType ?? contentTypeOf(name) ?? "application/octet-stream";
}

async function putBytes(
  core: DavCore,
  upload: Upload,
  segments: readonly string[],
  body: UploadBody,
): Promise<Failure | undefined> {
  const size = body.bytes?.byteLength ?? upload.size;
  const answer = await core.client.send({
    method: "PUT",
    place: { segments, isFolder: false },
    headers: {
      "content-type": typeOf(upload),
      // Without a length the body is chunked: only for servers that the probe found to support it.
      ...(size === undefined ? {} : { "content-length": String(size) }),
      "if-none-match": "*",
    },
    body: body.bytes ?? body.stream,
    signal: upload.signal,
  });
  if (answer.kind !== "answered") return answer;
  const failure = core.client.refuse(answer);
  return answer.status >= 200 && answer.status < 300 ? undefined : failure;
}

/** Returns whether the server has accepted the bytes but stored others. */
export function isOther({ item }: DavItem, name: string, length: number): boolean {
  return item.size !== undefined && item.size !== length && !isRewritten(name);
}

/** Checks after a lost response whether the bytes have arrived. */
async function isWhole(
  core: DavCore,
  upload: Upload,
  segments: readonly string[],
  body: UploadBody,
  isCut: boolean,
): Promise<boolean> {
  if (!isCut || upload.signal.aborted || !body.isComplete()) return false;
  const found = await core.lookUpWithRetries(segments, upload.signal);
  return found.kind === "ok" && found.davItem.item.size === body.length();
}

async function explainStale(core: DavCore, parent: readonly string[], signal: AbortSignal) {
  const refusal = await core.refuseParent(parent, signal);
  return refusal === undefined ? undefined : toStale(refusal);
}

function toStale(failure: Failure): Failure {
  return failure.kind === "invalid_destination" ? { kind: "stale" } : failure;
}

/** Removes a leftover of an upload. Ignores failures: a later listing removes it. */
async function discard(core: DavCore, segments: readonly string[], isLate: boolean): Promise<void> {
  const signal = AbortSignal.timeout(CLEAN_UP_MS);
  for (const waitMs of isLate ? LATE_WRITES_MS : [0]) {
    if (waitMs > 0) await core.deps.sleep(waitMs);
    const answer = await core.client.send({
      method: "DELETE",
      place: { segments, isFolder: false },
      signal,
    });
    if (answer.kind !== "answered") continue;
    answer.discard();
    if (answer.status >= 200 && answer.status < 300) return;
  }
}

/** The body of an upload. */
export interface UploadBody {
  /** All bytes, if the file is small. */
  readonly bytes: Buffer | undefined;
  /** Otherwise a stream. */
  readonly stream: Readable;
  /** Bytes read from the source so far. */
  length(): number;
  /** Whether the source has ended with its declared length. */
  isComplete(): boolean;
}

/**
 * Opens the body of an upload. Reads up to `smallBytes` into memory. Calls `see` with every chunk. The stream yields
 * its last chunk only once the source has ended with its declared length, so that a server never has a complete file of
 * a failed source. Throws `WrongLength`, also as the stream's error, and rethrows the source's own error.
 */
export async function openBody(
  { content, size }: Pick<Upload, "content" | "size">,
  smallBytes: number,
  see: (chunk: Uint8Array) => void = () => undefined,
): Promise<UploadBody> {
  let total = 0;
  let isComplete = false;
  const take = (chunk: Uint8Array) => {
    total += chunk.byteLength;
    if (size !== undefined && total > size) throw new WrongLength("longer than declared");
    see(chunk);
  };
  const end = () => {
    if (size !== undefined && total !== size) throw new WrongLength("shorter than declared");
    isComplete = true;
  };
  const state = { length: () => total, isComplete: () => isComplete };
  const chunks: Uint8Array[] = [];
  const source = (content as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  while (total <= smallBytes && (size === undefined || size <= smallBytes)) {
    const next = await source.next();
    if (next.done === true) {
      end();
      const bytes = Buffer.concat(chunks);
      return { ...state, bytes, stream: Readable.from([bytes], { objectMode: false }) };
    }
    take(next.value);
    chunks.push(next.value);
  }

  async function* rest() {
    let lastChunk: Uint8Array | undefined = Buffer.concat(chunks);
    for (;;) {
      const next = await source.next();
      if (next.done === true) break;
      if (next.value.byteLength === 0) continue;
      take(next.value);
      if (lastChunk.byteLength > 0) yield lastChunk;
      lastChunk = next.value;
    }
    end();
    yield lastChunk;
  }
  const stream = Readable.from(rest(), { objectMode: false });
  // The generator may be waiting for the source, and would not notice that its reader has left.
  stream.on("close", () => content.destroy());
  stream.on("error", () => undefined);
  return { ...state, bytes: undefined, stream };
}
