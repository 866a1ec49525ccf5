import { toExactBytes, untilConfirmed } from "../exact-bytes.ts";
import type { ReadFailure } from "../outcomes.ts";
import type { CloudProvider, ReadOutcome } from "../provider.ts";
import { pathOf, type Drive } from "./drive.ts";
import { toReadFailure } from "./failures.ts";

/**
 * Opens the bytes of a file. Reads them from the revision that the metadata name, so that they cannot change meanwhile;
 * if revisions are not readable, the file is looked up again before the last bytes are returned.
 */
export async function readFile(
  drive: Drive,
  input: Parameters<CloudProvider["read"]>[0],
): Promise<ReadOutcome> {
  const { id, range, version, signal } = input;
  const found = await drive.lookUp(id, signal);
  if (found.kind !== "ok") return toReadFailure(found);
  const { file } = found;
  const { item } = file;
  if (file.isTrashed) return { kind: "not_found", note: "trashed" };
  // Folders, documents of Google's editors, and shortcuts.
  if (item.version === undefined) return { kind: "unsupported", reason: "no_bytes" };
  if (version !== undefined && version !== item.version) return { kind: "changed" };
  const outOfRange = { kind: "range_not_satisfiable", size: item.size ?? 0 } as const;
  if (range !== undefined && item.size !== undefined && range.start >= item.size) return outOfRange;
  const revision = file.canReadRevisions ? file.headRevision : undefined;

  async function findWrong(): Promise<ReadFailure | undefined> {
    const after = await drive.lookUp(id, signal);
    if (after.kind !== "ok") return toReadFailure(after);
    return after.file.item.version === item.version ? undefined : { kind: "changed" };
  }

  async function open(withRange: boolean): Promise<ReadOutcome> {
    const answer = await drive.api.open({
      method: "GET",
      service: "v3",
      path:
        revision === undefined
          ? pathOf(id)
          : `${pathOf(id)}/revisions/${encodeURIComponent(revision)}`,
      query: { alt: "media" },
      headers: {
        accept: "*/*",
        ...(withRange && range !== undefined
          ? { range: `bytes=${range.start}-${range.end ?? ""}` }
          : {}),
      },
      signal,
    });
    if (answer.kind !== "answered") {
      // The lookup has just found it: a missing revision was replaced.
      if (answer.kind === "not_found") return { kind: "changed", note: "revision" };
      return toReadFailure(answer);
    }
    if (answer.status !== 200 && answer.status !== 206) {
      answer.discard();
      return { kind: "offline", sent: true, note: `strange_status ${answer.status}` };
    }
    const bytes = toExactBytes(answer, range, item.size);
    switch (bytes.kind) {
      case "range_not_satisfiable":
        return outOfRange;
      case "ask_for_whole":
        return withRange ? open(false) : { kind: "offline", sent: true, note: "strange_range" };
      case "ok": {
        const { length, stream } = bytes;
        const checked = revision === undefined ? untilConfirmed(stream, findWrong) : stream;
        return { kind: "ok", item, length, stream: checked };
      }
    }
  }
  return open(true);
}
