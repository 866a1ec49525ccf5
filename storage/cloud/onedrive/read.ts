import { toExactBytes, untilConfirmed } from "../exact-bytes.ts";
import type { ReadFailure } from "../outcomes.ts";
import type { ReadOutcome, ReadRequest } from "../provider.ts";
import type { Drive } from "./drive.ts";
import type { Graph } from "./graph.ts";

/**
 * Opens the bytes of a file. Neither the download URL nor the response states their version: the file is looked up
 * before, and again once the first bytes have arrived. If it changed in between, the stream fails before its end.
 */
export async function readFile(
  graph: Graph,
  drive: Drive,
  input: ReadRequest,
): Promise<ReadOutcome> {
  const { id, range, version, signal } = input;
  const before = await drive.lookUp(id, signal);
  if (before.kind !== "ok") return before;
  const { item } = before.found;
  if (item.kind === "folder" || item.version === undefined)
    return { kind: "unsupported", reason: "no_bytes" };
  if (version !== undefined && version !== item.version) return { kind: "changed" };
  if (range !== undefined && item.size !== undefined && range.start >= item.size)
    return { kind: "range_not_satisfiable", size: item.size };

  const located = await graph.locate({
    method: "GET",
    path: `${drive.addressOf(id)}/content`,
    signal,
  });
  if (located.kind !== "ok") return located;
  const { url } = located;

  async function open(withRange: boolean): Promise<ReadOutcome> {
    const headers =
      withRange && range !== undefined ? { range: `bytes=${range.start}-${range.end ?? ""}` } : {};
    const answer = await graph.callSigned({ method: "GET", url, headers, signal });
    if (answer.kind !== "answered") return answer;
    const outOfRange = { kind: "range_not_satisfiable", size: item.size ?? 0 } as const;
    if (answer.status === 416) {
      answer.discard();
      return outOfRange;
    }
    if (answer.status !== 200 && answer.status !== 206) {
      const failure = await graph.toFailure(answer);
      // The URL has expired; the sign-in may still be valid.
      return failure.kind === "reauth"
        ? { kind: "offline", sent: true, note: "address_refused_401" }
        : failure;
    }
    const bytes = toExactBytes(answer, range, item.size);
    if (bytes.kind === "range_not_satisfiable") return outOfRange;
    if (bytes.kind === "ask_for_whole")
      return withRange ? open(false) : { kind: "offline", sent: true, note: "strange_range" };
    // Started while the bytes arrive, so that their end does not wait for it.
    const secondLookup = lookForChange();
    // The end of the stream reports it; a download that is aborted before never gets there.
    secondLookup.catch(() => undefined);
    const stream = untilConfirmed(bytes.stream, () => secondLookup);
    return { kind: "ok", item, length: bytes.length, stream };
  }

  async function lookForChange(): Promise<ReadFailure | undefined> {
    const after = await drive.lookUp(id, signal);
    if (after.kind === "not_found") return { kind: "changed", note: "gone" };
    if (after.kind !== "ok") return after;
    return after.found.item.version === item.version ? undefined : { kind: "changed" };
  }
  return open(true);
}
