import { encodingOf } from "../content-encoding.ts";
import { toExactBytes } from "../exact-bytes.ts";
import type { ReadOutcome, ReadRequest } from "../provider.ts";
import { discardingIfThrown, type ProviderAnswer } from "../transport.ts";
import { toObjectHead, unquote, type ObjectHead } from "../../s3/client.ts";
import { find, findObject, type Store } from "./context.ts";
import { toItem, toVersion } from "./listing.ts";
import { isPrecondition } from "../../s3/failures.ts";

/** Opens the bytes of a file, or a range of them; with a version only those of that version. */
export async function read(store: Store, reading: ReadRequest): Promise<ReadOutcome> {
  const { id, range, version, signal } = reading;
  const key = store.keys.toFileKey(id);
  if (key === undefined) return refuseMissing(store, id, signal);
  const etag = version?.slice(0, version.lastIndexOf(":", version.lastIndexOf(":") - 1));
  const sent = await store.client.send({
    method: "GET",
    key,
    headers: {
      ...(range === undefined ? {} : { range: `bytes=${range.start}-${range.end ?? ""}` }),
      ...(etag ? { "if-match": `"${etag}"` } : {}),
    },
    signal,
  });
  if (sent.kind === "refused") {
    if (isPrecondition(sent)) return { kind: "changed" };
    if (sent.failure.kind === "not_found") return refuseMissing(store, id, signal);
    return sent.status === 416 ? refuseRange(store, key, version, signal) : sent.failure;
  }
  const { answer } = sent;
  const { isAltered, whole } = await discardingIfThrown(answer, async () => {
    const isAltered =
      encodingOf(answer) !== undefined && !(await isStoredEncoded(store, key, answer, signal));
    const head = toObjectHead(toWholeHeaders(answer));
    // A compressed response has a length of its own: the metadata state the object's.
    const whole = isAltered || head === undefined ? await findObject(store, key, signal) : head;
    return { isAltered, whole };
  });
  if (whole?.kind !== "object") {
    answer.discard();
    return whole === undefined ? { kind: "not_found" } : whole.failure;
  }
  // A separate request may have seen another object than the one whose bytes arrive.
  if (isOfAnother(answer, whole) || (version !== undefined && toVersion(whole) !== version)) {
    answer.discard();
    return { kind: "changed" };
  }
  const bytes = toExactBytes(isAltered ? answer : withoutEncoding(answer), range, whole.size);
  switch (bytes.kind) {
    case "ok":
      return { kind: "ok", item: toItem(id, whole), length: bytes.length, stream: bytes.stream };
    case "range_not_satisfiable":
      return { kind: "range_not_satisfiable", size: whole.size };
    case "ask_for_whole":
      return readFromWhole(store, reading, key, whole.etag);
  }
}

/** The response is a different range: the range is cut from the whole. */
async function readFromWhole(
  store: Store,
  { id, range, version, signal }: ReadRequest,
  key: string,
  etag: string,
): Promise<ReadOutcome> {
  const sent = await store.client.send({
    method: "GET",
    key,
    headers: { "if-match": `"${etag}"` },
    signal,
  });
  if (sent.kind === "refused") return isPrecondition(sent) ? { kind: "changed" } : sent.failure;
  const whole = await discardingIfThrown(sent.answer, () => findObject(store, key, signal));
  if (whole?.kind !== "object") {
    sent.answer.discard();
    return whole === undefined ? { kind: "not_found" } : whole.failure;
  }
  if (
    whole.etag !== etag ||
    isOfAnother(sent.answer, whole) ||
    (version !== undefined && toVersion(whole) !== version)
  ) {
    sent.answer.discard();
    return { kind: "changed" };
  }
  const bytes = toExactBytes(sent.answer, range, whole.size);
  if (bytes.kind === "ok")
    return { kind: "ok", item: toItem(id, whole), length: bytes.length, stream: bytes.stream };
  return bytes.kind === "range_not_satisfiable"
    ? { kind: "range_not_satisfiable", size: whole.size }
    : { kind: "offline", sent: true, note: "unusable_ranges" };
}

/** Returns whether a response has another entity tag; a proxy may have weakened the tag, or appended a suffix. */
function isOfAnother({ headers }: ProviderAnswer, { etag }: ObjectHead): boolean {
  const tag = unquote((headers["etag"] ?? "").replace(/^W\//, ""));
  return tag !== "" && tag !== etag && !tag.startsWith(`${etag}-`) && !tag.startsWith(`${etag};`);
}

async function refuseMissing(store: Store, id: string, signal: AbortSignal): Promise<ReadOutcome> {
  const found = await find(store, id, signal);
  switch (found.kind) {
    case "folder":
      return { kind: "unsupported", reason: "no_bytes" };
    case "file":
      // The object has just been written.
      return { kind: "changed" };
    default:
      return found;
  }
}

async function refuseRange(
  store: Store,
  key: string,
  version: string | undefined,
  signal: AbortSignal,
): Promise<ReadOutcome> {
  const head = await findObject(store, key, signal);
  if (head === undefined) return { kind: "not_found" };
  if (head.kind === "refused") return head.failure;
  if (version !== undefined && toVersion(head) !== version) return { kind: "changed" };
  return { kind: "range_not_satisfiable", size: head.size };
}

/**
 * Returns whether the encoding is a property of the object: then the response has the stored bytes and must not be
 * decoded. The length distinguishes this from a compressing proxy, which cannot know the length of the whole.
 */
async function isStoredEncoded(
  store: Store,
  key: string,
  answer: ProviderAnswer,
  signal: AbortSignal,
): Promise<boolean> {
  const head = await findObject(store, key, signal);
  const whole = toWholeHeaders(answer);
  return (
    head?.kind === "object" &&
    head.headers["content-encoding"] === answer.headers["content-encoding"] &&
    whole["content-length"] === String(head.size)
  );
}

/** Converts the headers of a partial response to those of the whole. */
function toWholeHeaders({ status, headers }: ProviderAnswer): Readonly<Record<string, string>> {
  if (status !== 206) return headers;
  const { "content-length": _part, ...others } = headers;
  const total = /\/(\d+)$/.exec(headers["content-range"] ?? "")?.[1];
  return total === undefined ? others : { ...others, "content-length": total };
}

function withoutEncoding(answer: ProviderAnswer): ProviderAnswer {
  const { "content-encoding": _stored, ...headers } = answer.headers;
  return { ...answer, headers };
}
