import { Readable } from "node:stream";
import { contentTypeOf } from "../content-type.ts";
import type { Failure } from "../outcomes.ts";
import { WrongLength } from "../pieces.ts";
import type { ItemOutcome } from "../provider.ts";
import { isRewritten } from "../rewritten.ts";
import { toSegments } from "./address.ts";
import { refuseTaken } from "./changing.ts";
import { refuseName, type DavCore } from "./core.ts";
import { isPlain } from "./failures.ts";
import type { Seen } from "./items.ts";
import { moveOnto } from "./relocate.ts";
import { withTemporaryName } from "./temporary.ts";

/** A file to be made. */
export interface Upload {
  readonly parent: string;
  readonly name: string;
  readonly content: Readable;
  readonly size: number | undefined;
  readonly contentType: string | undefined;
  readonly signal: AbortSignal;
}

/** How long what cleans up after a call may take when the call itself is over. */
const CLEAN_UP_MS = 20_000;
/** A server may be writing still when the connection is gone: what it then leaves is looked for again. */
const LATE_WRITES_MS = [0, 100, 400];

/**
 * Makes a file: its bytes go to a name of their own in the same folder, and only a whole file is moved to the name that
 * was asked for. Some servers keep half a file when a connection breaks, and most that promise not to overwrite do it when
 * two ask at once; a move that refuses to replace is kept by nearly all.
 */
export async function uploadFile(core: DavCore, upload: Upload): Promise<ItemOutcome> {
  try {
    const place = await prepare(core, upload);
    if (place.kind !== "ok") return place;
    return await withTemporaryName(core.deps, core.facts, (name) =>
      uploadBy([...place.parent, name], place, core, upload),
    );
  } finally {
    upload.content.destroy();
  }
}

async function uploadBy(
  temporary: readonly string[],
  place: { readonly parent: readonly string[]; readonly segments: readonly string[] },
  core: DavCore,
  upload: Upload,
): Promise<ItemOutcome> {
  const { signal } = upload;
  let remains: "nothing" | "perhaps" | "late" = "late";
  try {
    const failure = await putBytes(core, upload, temporary);
    // What lies in between may have answered for a server that is writing still.
    if (failure?.kind !== "offline" && failure?.kind !== "quota_exceeded") remains = "perhaps";
    // Servers throttle whoever comes again with what they have refused.
    if (failure?.kind === "reauth") remains = "nothing";
    if (failure !== undefined) {
      const isCut = failure.kind === "offline" || signal.aborted;
      if (!(await isWhole(core, upload, temporary, isCut))) {
        if (isPlain(failure)) return failure;
        const gone = await core.refuseParent(place.parent, signal);
        return gone === undefined ? failure : toStale(gone);
      }
    }
    const outcome = await core.alone([place.segments], async (): Promise<ItemOutcome> => {
      const taken = await refuseTaken(core, place.segments, signal);
      if (taken !== undefined) return taken;
      const found = await core.look(temporary, signal);
      if (found.kind === "not_found") return { kind: "offline", sent: false, note: "not_kept" };
      if (found.kind !== "ok") return found;
      if (isOther(found.seen, upload)) return { kind: "offline", sent: true, note: "other_bytes" };
      const { segments: to } = place;
      return moveOnto(core, { source: found.seen, from: temporary, to, signal });
    });
    if (outcome.kind === "ok") remains = "nothing";
    return outcome.kind === "stale"
      ? ((await explainStale(core, place.parent, signal)) ?? outcome)
      : outcome;
  } finally {
    if (remains !== "nothing") await discard(core, temporary, remains === "late");
  }
}

/** Everything that can be refused before a byte is sent. */
export async function prepare(
  core: DavCore,
  { parent: parentId, name, size, signal }: Upload,
): Promise<
  | {
      readonly kind: "ok";
      readonly parent: readonly string[];
      readonly segments: readonly string[];
    }
  | Failure
> {
  const refusal = refuseName(name, core.facts);
  if (refusal !== undefined) return refusal;
  if (size === undefined) return { kind: "unsupported", reason: "length_required" };
  const parent = toSegments(parentId);
  if (parent === undefined) return { kind: "stale", note: "impossible_id" };
  const segments = [...parent, name];
  return (await refuseTaken(core, segments, signal)) ?? { kind: "ok", parent, segments };
}

/** The media type that a new file is sent with: the server sees a temporary name. */
export function typeOf({ contentType, name }: Upload): string {
  return contentType ?? contentTypeOf(name) ?? "application/octet-stream";
}

async function putBytes(
  core: DavCore,
  upload: Upload,
  segments: readonly string[],
): Promise<Failure | undefined> {
  const size = upload.size ?? 0;
  const answer = await core.client.send({
    method: "PUT",
    place: { segments, isFolder: false },
    headers: {
      "content-type": typeOf(upload),
      "content-length": String(size),
      "if-none-match": "*",
    },
    body: exactly(upload.content, size),
    signal: upload.signal,
  });
  if (answer.kind !== "answered") return answer;
  const failure = core.client.refuse(answer);
  return answer.status >= 200 && answer.status < 300 ? undefined : failure;
}

/** Whether a server has taken what was sent, and holds something else. */
export function isOther({ item }: Seen, { name, size }: Pick<Upload, "name" | "size">): boolean {
  return item.size !== undefined && item.size !== size && !isRewritten(name);
}

/** After a lost answer: whether the bytes have arrived all the same. */
async function isWhole(
  core: DavCore,
  upload: Upload,
  segments: readonly string[],
  isCut: boolean,
): Promise<boolean> {
  if (!isCut || upload.signal.aborted) return false;
  const found = await core.lookAfter(segments, upload.signal);
  return found.kind === "ok" && found.seen.item.size === upload.size;
}

async function explainStale(core: DavCore, parent: readonly string[], signal: AbortSignal) {
  const gone = await core.refuseParent(parent, signal);
  return gone === undefined ? undefined : toStale(gone);
}

function toStale(failure: Failure): Failure {
  return failure.kind === "invalid_destination" ? { kind: "stale" } : failure;
}

/** Removes what is left of an upload. Nobody can be told of a failure: what then remains goes with a later listing. */
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

/**
 * The same bytes, of which the last are given when the source has kept its word: a server never has a whole file of a
 * source that is shorter or longer than declared. The source is destroyed with it. `see` is shown every chunk.
 */
export function exactly(
  content: Readable,
  size: number,
  see?: (chunk: Uint8Array) => void,
): Readable {
  async function* bytes() {
    let held: Uint8Array | undefined;
    let total = 0;
    for await (const chunk of content as AsyncIterable<Uint8Array>) {
      if (chunk.byteLength === 0) continue;
      total += chunk.byteLength;
      if (total > size) throw new WrongLength("longer than declared");
      see?.(chunk);
      if (held !== undefined) yield held;
      held = chunk;
    }
    if (total !== size) throw new WrongLength("shorter than declared");
    if (held !== undefined) yield held;
  }
  const stream = Readable.from(bytes(), { objectMode: false });
  // A generator that waits for its source hears of nothing else.
  stream.on("close", () => content.destroy());
  return stream;
}
