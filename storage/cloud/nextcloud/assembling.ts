import { createHash, type Hash } from "node:crypto";
import { isOther, type UploadBody } from "../webdav/uploading.ts";
import { StreamAborted, type Failure } from "../outcomes.ts";
import type { ItemOutcome } from "../item.ts";
import type { ProviderAnswer } from "../transport.ts";
import type { DavClient } from "../webdav/client.ts";
import { pause, type DavCore } from "../webdav/core.ts";
import { isPlain } from "../webdav/failures.ts";
import type { DavItem } from "../webdav/items.ts";
import { readFile } from "../webdav/reading.ts";
import { judge, refusedName, toUndoneFailure, type Answered } from "../webdav/relocate.ts";

/** A file that the server is assembling. */
export interface ChunkedUpload {
  readonly parent: readonly string[];
  readonly segments: readonly string[];
  /** The version that is replaced. Undefined: the name must be free. */
  readonly over: DavItem | undefined;
  /** Bytes read from the source so far. */
  size: number;
  /** Modification time to set, in epoch seconds. */
  readonly seconds: number;
  /** Digest of the bytes that were sent. */
  readonly sent: Hash;
}

/** Assembling a large file takes long, and a proxy may time out earlier. */
const ASSEMBLING_MS = 300_000;
const POLLS_MS = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 30_000, 30_000, 30_000];

/**
 * Requests the assembly of the chunks. A proxy may cut off a long request while the server continues. Then polls for
 * the file, instead of repeating a request that may still be running. `isContinued`: an earlier call may have
 * requested the assembly.
 */
export async function assemble(
  { core, client }: { readonly core: DavCore; readonly client: DavClient },
  folder: string,
  upload: ChunkedUpload,
  headers: Readonly<Record<string, string>> & { readonly destination: string },
  signal: AbortSignal,
  isContinued: boolean,
): Promise<ItemOutcome> {
  for (let attempt = 1; ; attempt++) {
    const answer = await client.send({
      method: "MOVE",
      place: { segments: [folder, ".file"], isFolder: false },
      headers: {
        ...headers,
        "oc-total-length": String(upload.size),
        ...toCondition(upload, headers.destination),
        "x-oc-mtime": String(upload.seconds),
      },
      headTimeoutMs: ASSEMBLING_MS,
      signal,
    });
    const verdict = await judgeAnswer(core, answer);
    const isUnderWay =
      (verdict.kind === "lost" && verdict.failure.sent) ||
      (verdict.kind === "refused" && verdict.status === 423);
    // If the first of two requests has succeeded, a server refuses the second.
    if (!isUnderWay)
      return determineOutcome(core, upload, verdict, signal, isContinued || attempt > 1);
    const waited = await waitForFile(core, client, folder, upload, signal);
    if (waited !== "still_not_there") return waited;
    if (attempt >= 2)
      return verdict.kind === "lost"
        ? toUndoneFailure(verdict)
        : { kind: "locked", note: "still_assembling" };
  }
}

/** The outcome when a file has the name that an earlier call may have completed: ours has exactly the sent bytes. */
export async function recognize(
  core: DavCore,
  upload: ChunkedUpload,
  body: UploadBody,
  taken: Failure,
  signal: AbortSignal,
): Promise<ItemOutcome> {
  // Reading counts and hashes the bytes.
  for await (const _ of body.stream);
  const found = await core.lookUp(upload.segments, signal);
  return found.kind === "ok" && (await isOurs(core, found.davItem, upload, signal))
    ? { kind: "ok", item: found.davItem.item }
    : taken;
}

/** Returns the precondition of the assembly: a free name, or the tag of the file there. */
function toCondition(
  { over }: ChunkedUpload,
  destination: string,
): Readonly<Record<string, string>> {
  return over === undefined
    ? { overwrite: "F" }
    : { overwrite: "T", if: `<${destination}> ([${over.strongTag ?? ""}])` };
}

/** Polls until the file exists, or the chunks have disappeared without it. */
async function waitForFile(
  core: DavCore,
  client: DavClient,
  folder: string,
  upload: ChunkedUpload,
  signal: AbortSignal,
): Promise<ItemOutcome | "still_not_there"> {
  for (const waitMs of [0, ...POLLS_MS]) {
    if (waitMs > 0 && !(await pause(core.deps, waitMs, signal)))
      return { kind: "unknown_outcome", note: "aborted" };
    const found = await core.lookUp(upload.segments, signal);
    if (found.kind === "ok" && found.davItem.item.version !== upload.over?.item.version)
      return (await isOurs(core, found.davItem, upload, signal))
        ? { kind: "ok", item: found.davItem.item }
        : toTaken(upload, found.davItem);
    if (found.kind === "reauth") return found;
    if (found.kind !== "not_found" && found.kind !== "ok") continue;
    const refusal = await core.refuseParent(upload.parent, signal);
    if (refusal?.kind === "stale") return refusal;
    const pieces = await client.propfind(
      { place: { segments: [folder], isFolder: true }, depth: "0", props: [], signal },
      () => undefined,
    );
    if (pieces.kind === "refused" && pieces.answer.status === 404) {
      // The chunks disappear the moment the file appears.
      const last = await core.lookUp(upload.segments, signal);
      return last.kind === "ok" && (await isOurs(core, last.davItem, upload, signal))
        ? { kind: "ok", item: last.davItem.item }
        : { kind: "unknown_outcome", note: "pieces_gone" };
    }
  }
  return "still_not_there";
}

export async function determineOutcome(
  core: DavCore,
  upload: ChunkedUpload,
  verdict: Answered,
  signal: AbortSignal,
  wasAskedBefore = false,
): Promise<ItemOutcome> {
  if (verdict.kind === "refused" && isPlain(verdict.failure)) return verdict.failure;
  if (verdict.kind === "lost" && !verdict.failure.sent) return verdict.failure;
  const found = await core.lookUpWithRetries(upload.segments, signal);
  if (found.kind === "ok") {
    const { item } = found.davItem;
    const mayBeOurs = verdict.kind !== "refused" || wasAskedBefore;
    const isMade =
      verdict.kind === "accepted" ||
      (mayBeOurs && (await isOurs(core, found.davItem, upload, signal)));
    if (!isMade) return toTaken(upload, found.davItem);
    return isOther(found.davItem, item.name, upload.size)
      ? { kind: "unknown_outcome", note: "other_bytes" }
      : { kind: "ok", item };
  }
  if (found.kind === "invalid_name" && verdict.kind === "refused") return found;
  if (found.kind !== "not_found") return { kind: "unknown_outcome", note: "look_failed" };
  const refusal = await core.refuseParent(upload.parent, signal);
  if (refusal !== undefined)
    return refusal.kind === "invalid_destination"
      ? { kind: "stale", note: "parent_is_a_file" }
      : refusal;
  if (verdict.kind === "refused") return refusedName(verdict.status, verdict.failure);
  return verdict.kind === "lost" ? verdict.failure : toUndoneFailure(verdict);
}

/** Returns the failure when another file has the name. */
function toTaken({ over }: ChunkedUpload, { item }: DavItem): Failure {
  if (over === undefined) return { kind: "conflict", existingName: item.name };
  // A precondition that fails although nothing has changed is useless on this server.
  return item.version === over.item.version
    ? { kind: "offline", sent: true, note: "useless_tag" }
    : { kind: "stale", note: "changed" };
}

/** Returns whether a file is the uploaded one: by its size and time or, on servers that keep no times, by its bytes. */
async function isOurs(
  core: DavCore,
  { item }: DavItem,
  upload: ChunkedUpload,
  signal: AbortSignal,
): Promise<boolean> {
  if (item.kind !== "file" || item.size !== upload.size) return false;
  if (item.modifiedAt === upload.seconds * 1000) return true;
  const read = await readFile(core, { id: item.id, version: item.version, signal });
  if (read.kind !== "ok") return false;
  const storedHash = createHash("sha256");
  try {
    for await (const chunk of read.stream as AsyncIterable<Uint8Array>) storedHash.update(chunk);
  } catch (error) {
    if (error instanceof StreamAborted || signal.aborted) return false;
    throw error;
  }
  return storedHash.digest().equals(upload.sent.copy().digest());
}

export async function judgeAnswer(
  core: DavCore,
  answer: ProviderAnswer | Extract<Failure, { kind: "offline" }>,
): Promise<Answered> {
  return answer.kind === "answered" ? judge(core, answer) : { kind: "lost", failure: answer };
}
