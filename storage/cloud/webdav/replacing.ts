import type { Buffer } from "node:buffer";
import { buffer } from "node:stream/consumers";
import { StreamAborted, type Failure } from "../outcomes.ts";
import type { Replacement } from "../provider.ts";
import type { ItemOutcome } from "../item.ts";
import { toPlaceOf } from "./address.ts";
import type { Permits } from "./changing.ts";
import { beforehand, pause, type DavCore } from "./core.ts";
import { isPlain } from "./failures.ts";
import { isExpected, toLaterSeconds, type DavItem } from "./items.ts";
import { readFile } from "./reading.ts";
import { judge, toUndoneFailure, type Answered } from "./relocate.ts";
import { isOther, openBody, typeOf } from "./uploading.ts";

/**
 * Files up to this length are replaced by one request. Servers compare when a request begins and keep the earlier bytes only
 * until it ends, so the request must be short.
 */
const ONE_REQUEST_BYTES = 1024 * 1024;
/** Apache's tags are weak for a second after a write, and no precondition accepts them. */
const WEAK_TAGS_MS = [500, 1_500];
const ATTEMPTS_MAX = 2;

/** Replaces a file in another way, with the bytes that were read and those that follow. */
export type Otherwise = (replacement: Replacement, current: DavItem) => Promise<ItemOutcome>;

/**
 * Replaces the bytes of a short file by one request with the precondition `If-Match`. Longer files, and those whose tag no
 * server would accept, are left to `otherwise`.
 */
export async function replaceFile(
  core: DavCore,
  input: Replacement,
  permits: Permits,
  otherwise: Otherwise,
): Promise<ItemOutcome> {
  const { signal, content } = input;
  try {
    const place = toPlaceOf(input.id);
    if (place === undefined) return { kind: "stale", note: "impossible_id" };
    const { segments, name } = place;
    const found = await findExpected(core, segments, input);
    if (found.kind !== "ok") return found;
    const { davItem: current } = found;
    const refusal = permits("replace", current);
    if (refusal !== undefined) return refusal;
    const body = await openBody(input, ONE_REQUEST_BYTES);
    const { bytes } = body;
    const rest = () => ({ ...input, content: body.stream });
    if (bytes === undefined || current.strongTag === undefined)
      return await otherwise(rest(), current);
    const outcome = await core.withLocks(
      [segments],
      async () =>
        (await refuseChanged(core, segments, current, signal)) ??
        putOver(core, {
          segments,
          name,
          davItem: current,
          bytes,
          type: typeOf({ ...input, name }),
          signal,
        }),
    );
    return outcome === "useless_tag" ? await otherwise(rest(), current) : outcome;
  } finally {
    content.destroy();
  }
}

/** Looks the file up, and again while its tag is weak. */
async function findExpected(
  core: DavCore,
  segments: readonly string[],
  { expected, signal }: Replacement,
): Promise<{ readonly kind: "ok"; readonly davItem: DavItem } | Failure> {
  for (let attempt = 0; ; attempt++) {
    const found = await core.lookUp(segments, signal);
    if (found.kind === "not_found") return { kind: "stale", note: "gone" };
    if (found.kind !== "ok") return beforehand(found);
    if (found.davItem.item.kind === "folder") return { kind: "unsupported", reason: "folder" };
    if (!isExpected(found.davItem, expected)) return { kind: "stale", note: "changed" };
    // The tag of a file that has not been written for a while stays weak.
    const isYoung = found.davItem.strongTag === undefined && found.davItem.item.unsettled === true;
    const waitMs = isYoung ? WEAK_TAGS_MS[attempt] : undefined;
    if (waitMs === undefined || !(await pause(core.deps, waitMs, signal))) return found;
  }
}

/**
 * Looks a file up again that was written a moment before the first lookup: a further change within the same second may
 * have kept its tag, so that the server's comparison would not notice it.
 */
export async function refuseChanged(
  core: DavCore,
  segments: readonly string[],
  { item: before }: DavItem,
  signal: AbortSignal,
): Promise<Failure | undefined> {
  if (before.unsettled !== true) return undefined;
  const found = await core.lookUp(segments, signal);
  if (found.kind === "not_found") return { kind: "stale", note: "gone" };
  if (found.kind !== "ok") return beforehand(found);
  return found.davItem.item.version === before.version
    ? undefined
    : { kind: "stale", note: "changed" };
}

async function putOver(
  core: DavCore,
  put: {
    readonly segments: readonly string[];
    readonly name: string;
    readonly davItem: DavItem;
    readonly bytes: Buffer;
    readonly type: string;
    readonly signal: AbortSignal;
  },
): Promise<ItemOutcome | "useless_tag"> {
  const { segments, name, davItem: current, bytes, type, signal } = put;
  for (let attempt = 1; ; attempt++) {
    const answer = await core.client.send({
      method: "PUT",
      place: { segments, isFolder: false },
      headers: {
        "content-type": type,
        "content-length": String(bytes.byteLength),
        "if-match": current.strongTag ?? "",
        ...(current.fileId === undefined
          ? {}
          : { "x-oc-mtime": String(toLaterSeconds(current, core.deps.clock())) }),
      },
      body: bytes,
      signal,
    });
    const verdict: Answered =
      answer.kind === "answered" ? await judge(core, answer) : { kind: "lost", failure: answer };
    if (verdict.kind === "refused" && isPlain(verdict.failure)) return verdict.failure;
    if (verdict.kind === "lost" && !verdict.failure.sent) return verdict.failure;
    const now = await core.lookUpWithRetries(segments, signal);
    if (now.kind === "not_found") return { kind: "stale", note: "gone" };
    if (now.kind !== "ok") return { kind: "unknown_outcome", note: "look_failed" };
    const isSameAsBefore = now.davItem.item.version === current.item.version;
    if (verdict.kind === "accepted")
      return isOther(now.davItem, name, bytes.byteLength)
        ? { kind: "unknown_outcome", note: "other_bytes" }
        : { kind: "ok", item: now.davItem.item };
    if (verdict.kind === "refused") {
      if (!isSameAsBefore) return { kind: "stale", note: "changed" };
      return verdict.status === 412 ? "useless_tag" : verdict.failure;
    }
    if (!isSameAsBefore)
      // Other bytes may come from another client, or be the first part of these on a server that keeps incomplete
      // uploads.
      return (await holds(core, now.davItem, bytes, signal))
        ? { kind: "ok", item: now.davItem.item }
        : { kind: "unknown_outcome", note: "changed_meanwhile" };
    if (attempt === ATTEMPTS_MAX) return toUndoneFailure(verdict);
  }
}

/** Reads a file back after a lost response: returns whether it holds exactly these bytes. */
async function holds(
  core: DavCore,
  { item }: DavItem,
  bytes: Buffer,
  signal: AbortSignal,
): Promise<boolean> {
  if (item.size !== undefined && item.size !== bytes.byteLength) return false;
  const read = await readFile(core, { id: item.id, version: item.version, signal });
  if (read.kind !== "ok") return false;
  try {
    return (await buffer(read.stream)).equals(bytes);
  } catch (error) {
    if (error instanceof StreamAborted || signal.aborted) return false;
    throw error;
  }
}
