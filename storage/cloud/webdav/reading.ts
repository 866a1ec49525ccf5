import { Readable } from "node:stream";
import { encodingOf } from "../content-encoding.ts";
import { toExactBytes, untilConfirmed } from "../exact-bytes.ts";
import type { ReadFailure } from "../outcomes.ts";
import type { ReadOutcome, ReadRequest } from "../provider.ts";
import type { ProviderItem } from "../item.ts";
import { discardingIfThrown, type ProviderAnswer } from "../transport.ts";
import { toPlaceOf } from "./address.ts";
import type { DavCore } from "./core.ts";
import { toItemFailure } from "./failures.ts";
import { plainTag, toCount, toTime } from "./items.ts";

/** Maximum number of further lookups of a file that changes between the lookup and the download. */
const ATTEMPTS_MAX = 3;

/** Longer downloads take long enough for a file to be rewritten in place meanwhile. */
const LOOKS_AGAIN_BYTES = 256 * 1024;

/** Opens the bytes of a file. Compares the response with a lookup just before. */
export async function readFile(core: DavCore, input: ReadRequest): Promise<ReadOutcome> {
  const { range, version, signal } = input;
  const place = toPlaceOf(input.id);
  if (place === undefined) return { kind: "not_found", note: "impossible_id" };
  let asksForRange = range !== undefined;
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const found = await core.lookUp(place.segments, signal);
    if (found.kind !== "ok") return found;
    const { item, strongTag } = found.davItem;
    if (item.kind === "folder") return { kind: "unsupported", reason: "no_bytes" };
    if (version !== undefined && version !== item.version) return { kind: "changed" };
    const { size } = item;
    if (range !== undefined && size !== undefined && range.start >= size)
      return { kind: "range_not_satisfiable", size };
    if (size === 0)
      return { kind: "ok", item, length: 0, stream: Readable.from([], { objectMode: false }) };
    const headers: Record<string, string> = {};
    if (asksForRange && range !== undefined)
      headers["range"] = `bytes=${range.start}-${range.end ?? ""}`;
    const answer = await core.client.send({
      method: "GET",
      place: { segments: place.segments, isFolder: false },
      headers,
      signal,
    });
    if (answer.kind !== "answered") return answer;
    if (answer.status !== 200 && answer.status !== 206) {
      answer.discard();
      if (answer.status === 416) continue;
      const failure = toItemFailure(answer, core.deps.clock());
      return failure.kind === "stale"
        ? { kind: "not_found", note: failure.note ?? "gone" }
        : failure;
    }
    const isDoubtful = tellsOther(answer, item, strongTag);
    if (
      hasOtherLength(answer, item) ||
      ((isDoubtful || tellsOtherTag(answer, strongTag)) &&
        (await discardingIfThrown(answer, () => hasChanged(core, place.segments, item, signal))))
    ) {
      answer.discard();
      continue;
    }
    const bytes = toExactBytes(answer, range, size);
    switch (bytes.kind) {
      case "ok":
        return {
          kind: "ok",
          // A server whose headers always differ is read, but its bytes are not cached.
          item: isDoubtful ? { ...item, unsettled: true } : item,
          length: bytes.length,
          stream:
            bytes.length === undefined || bytes.length > LOOKS_AGAIN_BYTES
              ? untilConfirmed(bytes.stream, () =>
                  refuseMixture(core, place.segments, item, signal),
                )
              : bytes.stream,
        };
      case "ask_for_whole":
        asksForRange = false;
        continue;
      case "range_not_satisfiable":
        continue;
    }
  }
  return { kind: "changed", note: "keeps_changing" };
}

/** Looks up the file again after the response has started: returns whether it has changed since the first lookup. */
async function hasChanged(
  core: DavCore,
  segments: readonly string[],
  before: ProviderItem,
  signal: AbortSignal,
): Promise<boolean> {
  const found = await core.lookUp(segments, signal);
  return found.kind !== "ok" || found.davItem.item.version !== before.version;
}

/** Returns why the bytes may be of two versions. */
async function refuseMixture(
  core: DavCore,
  segments: readonly string[],
  before: ProviderItem,
  signal: AbortSignal,
): Promise<ReadFailure | undefined> {
  const found = await core.lookUpWithRetries(segments, signal);
  if (found.kind === "not_found") return { kind: "changed", note: "gone" };
  if (found.kind !== "ok") return found;
  return found.davItem.item.version === before.version ? undefined : { kind: "changed" };
}

/** Returns whether the response's length differs from the looked-up version. */
function hasOtherLength(answer: ProviderAnswer, { size }: ProviderItem): boolean {
  const whole = toWholeLength(answer);
  return size !== undefined && whole !== undefined && size !== whole;
}

/**
 * Returns whether the response's time differs, or its tag where it has no time. Some servers send another time here than in
 * a listing, such as the current one: only a further lookup resolves that. Headers have no fractions of seconds.
 */
function tellsOther(
  answer: ProviderAnswer,
  { modifiedAt }: ProviderItem,
  strongTag: string | undefined,
): boolean {
  const time = toTime(answer.headers["last-modified"]);
  if (time === undefined) return tellsOtherTag(answer, strongTag);
  return modifiedAt !== undefined && toSeconds(time) !== toSeconds(modifiedAt);
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}

/** Some servers send another tag here than in a listing: with an equal time only a further lookup resolves that. */
function tellsOtherTag({ headers }: ProviderAnswer, strongTag: string | undefined): boolean {
  const tag = headers["etag"];
  return tag !== undefined && strongTag !== undefined && plainTag(tag) !== plainTag(strongTag);
}

/** Returns the length of the whole file, if the response states it. A compressed response has another one. */
function toWholeLength(answer: ProviderAnswer): number | undefined {
  const { status, headers } = answer;
  if (encodingOf(answer) !== undefined) return undefined;
  return status === 206
    ? toCount(/\/(\d+)$/.exec(headers["content-range"] ?? "")?.[1])
    : toCount(headers["content-length"]);
}
