import { createOwner } from "../../owner.ts";
import { toExactBytes } from "../exact-bytes.ts";
import type { ReadOutcome, ReadRequest } from "../provider.ts";
import { toLookFailure, type Account } from "./account.ts";
import type { DropboxApi } from "./api.ts";
import { isId, toDropboxItem } from "./items.ts";

/** Opens the bytes of a file. The response itself states their version. */
export async function readFile(
  api: DropboxApi,
  account: Account,
  input: ReadRequest,
): Promise<ReadOutcome> {
  const { id, range, version, signal } = input;
  if (!isId(id)) return { kind: "not_found", note: "impossible_id" };

  async function open(withRange: boolean): Promise<ReadOutcome> {
    const headers: Record<string, string> =
      withRange && range !== undefined ? { range: `bytes=${range.start}-${range.end ?? ""}` } : {};
    const opened = await api.open("files/download", { path: id }, headers, signal);
    if (opened.kind !== "ok") return toLookFailure(opened);
    const { answer } = opened;
    if (answer.status === 416) {
      answer.discard();
      return behindTheEnd();
    }
    const found = toDropboxItem(opened.value, "file");
    if (found === undefined || found.rev === undefined) {
      answer.discard();
      return { kind: "offline", sent: true, note: "strange_item" };
    }
    if (version !== undefined && version !== found.rev) {
      answer.discard();
      return { kind: "changed" };
    }
    const bytes = toExactBytes(answer, range, found.size);
    if (bytes.kind === "range_not_satisfiable")
      return { kind: "range_not_satisfiable", size: found.size ?? 0 };
    if (bytes.kind === "ask_for_whole")
      return withRange ? open(false) : { kind: "offline", sent: true, note: "strange_range" };
    await using owner = createOwner();
    // Until the caller reads the stream it needs a listener, because an error must not end the process.
    owner.own(bytes.stream.on("error", () => undefined));
    const located = await account.withParent(found, signal);
    if (located.kind !== "ok") return toLookFailure(located);
    const stream = owner.handOver(bytes.stream);
    return { kind: "ok", item: located.item, length: bytes.length, stream };
  }

  /** A 416 states neither the length nor whether the short file is still the requested version. */
  async function behindTheEnd(): Promise<ReadOutcome> {
    const current = await account.lookUp(id, signal);
    if (current.kind !== "ok") return toLookFailure(current);
    if (version !== undefined && version !== current.found.rev) return { kind: "changed" };
    return { kind: "range_not_satisfiable", size: current.found.size ?? 0 };
  }

  return open(true);
}
