import { Readable } from "node:stream";
import { toExactBytes } from "../exact-bytes.ts";
import { BrokenOff } from "../outcomes.ts";
import type { ByteRange, ReadOutcome } from "../provider.ts";
import { pathOf, type Drive } from "./drive.ts";
import { toReadFailure } from "./failures.ts";
import type { DriveFile } from "./items.ts";

/**
 * The bytes of a file. They are read from the revision that the metadata names, so that they cannot change on the way;
 * where revisions cannot be read, the file is looked at again before the last bytes are given.
 */
export async function readFile(
  drive: Drive,
  input: {
    readonly id: string;
    readonly range?: ByteRange | undefined;
    readonly version?: string | undefined;
    readonly signal: AbortSignal;
  },
): Promise<ReadOutcome> {
  const { id, range, version, signal } = input;
  const looked = await drive.look(id, signal);
  if (looked.kind !== "ok") return toReadFailure(looked);
  const { file } = looked;
  const { item } = file;
  if (file.isTrashed) return { kind: "not_found", note: "trashed" };
  // Folders, documents that live in Google's editors, and shortcuts.
  if (item.version === undefined) return { kind: "unsupported", reason: "no_bytes" };
  if (version !== undefined && version !== item.version) return { kind: "changed" };
  const outOfRange = { kind: "range_not_satisfiable", size: item.size ?? 0 } as const;
  if (range !== undefined && item.size !== undefined && range.start >= item.size) return outOfRange;
  const revision = file.canReadRevisions ? file.headRevision : undefined;

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
      // The look a moment ago found it: a revision that is gone was replaced.
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
        const checked =
          revision === undefined ? untilLookedAt(stream, drive, file, signal) : stream;
        return { kind: "ok", item, length, stream: checked };
      }
    }
  }
  return open(true);
}

/** The stream, whose end waits for a look that finds the same version. */
function untilLookedAt(
  source: Readable,
  drive: Drive,
  before: DriveFile,
  signal: AbortSignal,
): Readable {
  async function* bytes() {
    let held: Buffer | undefined;
    for await (const chunk of source as AsyncIterable<Buffer>) {
      if (held !== undefined) yield held;
      held = chunk;
    }
    const after = await drive.look(before.item.id, signal);
    if (after.kind !== "ok") throw new BrokenOff(toReadFailure(after));
    if (after.file.item.version !== before.item.version) throw new BrokenOff({ kind: "changed" });
    if (held !== undefined) yield held;
  }
  // The generator tells of an error once it is read; until then nobody listens.
  source.on("error", () => undefined);
  const stream = Readable.from(bytes(), { objectMode: false });
  // A generator that waits for the source hears of nothing else.
  stream.on("close", () => source.destroy());
  return stream;
}
