import { createHash, type Hash } from "node:crypto";
import { StreamAborted, type Failure } from "../outcomes.ts";
import { inPieces, type Piece } from "../pieces.ts";
import type { Replacement } from "../provider.ts";
import type { ItemOutcome } from "../item.ts";
import type { ProviderAnswer } from "../transport.ts";
import { refuseTaken } from "../webdav/changing.ts";
import type { DavClient } from "../webdav/client.ts";
import { pause, type DavCore } from "../webdav/core.ts";
import { isPlain } from "../webdav/failures.ts";
import type { Seen } from "../webdav/items.ts";
import { readFile } from "../webdav/reading.ts";
import { judge, refusedName, undone, type Answered } from "../webdav/relocate.ts";
import {
  isOther,
  openBody,
  toUploadPlace,
  typeOf,
  type Upload,
  type UploadBody,
} from "../webdav/uploading.ts";
import type { UnfinishedUploads } from "./unfinished-uploads.ts";

/** Collaborators and limits of uploads. */
export interface CloudUploads {
  readonly core: DavCore;
  /** The client of the user's folder of unfinished uploads. */
  readonly client: DavClient;
  readonly unfinished: UnfinishedUploads;
  /** Files up to this many bytes are sent as one request; larger ones in chunks of this size. */
  readonly pieceBytes: number;
  /** Whether the server assembles chunks. */
  readonly chunks: boolean;
}

/** Files up to this length are read into memory first, so that their length is known. */
const SMALL_BYTES = 64 * 1024;
const PIECES_MAX = 10_000;
const PIECE_ATTEMPTS_MAX = 3;
/** Assembling a large file takes long, and a proxy may time out earlier. */
const ASSEMBLING_MS = 300_000;
const POLLS_MS = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 30_000, 30_000, 30_000];

/**
 * Creates a file: by one conditional request, or by chunks that the server assembles at the end. Chunks are sent
 * while the source is received, so that no length is needed in advance.
 */
export async function uploadToCloud(uploads: CloudUploads, upload: Upload): Promise<ItemOutcome> {
  try {
    const { core, pieceBytes } = uploads;
    const place = toUploadPlace(core, upload);
    if (place.kind !== "ok") return place;
    const wanted = toWanted(core, place);
    const body = await openBody(upload, Math.min(SMALL_BYTES, pieceBytes), wanted.see);
    if (body.bytes !== undefined) return await uploadWhole(uploads, upload, wanted, body);
    const refusal = await refuseTaken(core, wanted.segments, upload.signal);
    if (refusal !== undefined) return refusal;
    return uploads.chunks && (upload.size === undefined || upload.size > pieceBytes)
      ? await uploads.unfinished.withFolder((folder) =>
          uploadPieces(folder, uploads, upload, wanted, body),
        )
      : await uploadWhole(uploads, upload, wanted, body);
  } finally {
    upload.content.destroy();
  }
}

/**
 * Replaces a file by chunks. The server compares the tag when it assembles them: the precondition names the destination, because
 * `If-Match` would apply to the chunks.
 */
export async function replaceInPieces(
  uploads: CloudUploads,
  what: Replacement,
  over: Seen,
): Promise<ItemOutcome> {
  const { parent, name } = over.item;
  const upload: Upload = { ...what, parent, name };
  const place = toUploadPlace(uploads.core, upload);
  if (place.kind !== "ok") return place;
  const wanted = toWanted(uploads.core, place, over);
  const body = await openBody(upload, 0, wanted.see);
  return uploads.unfinished.withFolder((folder) =>
    uploadPieces(folder, uploads, upload, wanted, body),
  );
}

function toWanted(
  core: DavCore,
  place: Pick<Wanted, "parent" | "segments">,
  over?: Seen,
): Wanted & { readonly see: (chunk: Uint8Array) => void } {
  const { parent, segments } = place;
  // The server stores the given time: with the size it identifies our file after a lost response.
  const seconds = Math.floor(core.deps.clock() / 1000);
  const wanted = {
    parent,
    segments,
    over,
    seconds,
    size: 0,
    sent: createHash("sha256"),
    see(chunk: Uint8Array) {
      wanted.size += chunk.byteLength;
      wanted.sent.update(chunk);
    },
  };
  return wanted;
}

interface Wanted {
  readonly parent: readonly string[];
  readonly segments: readonly string[];
  /** The version that is replaced. Undefined: the name must be free. */
  readonly over: Seen | undefined;
  /** Bytes read from the source so far. */
  size: number;
  /** Modification time to set, in epoch seconds. */
  readonly seconds: number;
  /** Digest of the bytes that were sent. */
  readonly sent: Hash;
}

async function uploadWhole(
  { core }: CloudUploads,
  upload: Upload,
  wanted: Wanted,
  body: UploadBody,
): Promise<ItemOutcome> {
  const size = body.bytes?.byteLength ?? upload.size;
  if (size === undefined) return { kind: "unsupported", reason: "length_required" };
  const answer = await core.client.send({
    method: "PUT",
    place: { segments: wanted.segments, isFolder: false },
    headers: {
      "content-type": typeOf(upload),
      "content-length": String(size),
      "if-none-match": "*",
      "x-oc-mtime": String(wanted.seconds),
    },
    body: body.bytes ?? body.stream,
    signal: upload.signal,
  });
  return determineOutcome(core, wanted, await judgeAnswer(core, answer), upload.signal);
}

async function uploadPieces(
  folder: string,
  uploads: CloudUploads,
  upload: Upload,
  wanted: Wanted,
  body: UploadBody,
): Promise<ItemOutcome> {
  const { core, client } = uploads;
  const { signal } = upload;
  const headers = {
    destination: core.client.destination({ segments: wanted.segments, isFolder: false }),
    ...(upload.size === undefined ? {} : { "oc-total-length": String(upload.size) }),
  };
  const made = await client.send({
    method: "MKCOL",
    place: { segments: [folder], isFolder: true },
    headers,
    signal,
  });
  if (made.kind !== "answered") return made;
  const failure = client.refuse(made);
  if (made.status !== 201) return failure.kind === "stale" ? offline("no_uploads") : failure;

  let isOver = false;
  try {
    const pieceBytes = Math.max(uploads.pieceBytes, Math.ceil((upload.size ?? 0) / PIECES_MAX));
    let number = 0;
    for await (const piece of inPieces(body.stream, pieceBytes, upload.size)) {
      if (number === PIECES_MAX) return { kind: "unsupported", reason: "too_large" };
      const name = String(++number).padStart(5, "0");
      const refused = await putPiece(client, [folder, name], piece, headers, upload, core);
      if (refused !== undefined) {
        // Servers throttle clients that repeat a refused request.
        isOver = refused.kind === "reauth";
        if (isPlain(refused)) return refused;
        const gone = await core.refuseParent(wanted.parent, signal);
        return gone?.kind === "stale" ? gone : refused;
      }
    }
    const outcome = await core.alone([wanted.segments], async () => {
      const taken =
        wanted.over === undefined ? await refuseTaken(core, wanted.segments, signal) : undefined;
      return taken ?? (await assemble(uploads, folder, wanted, headers, signal));
    });
    isOver = outcome.kind === "ok" || outcome.kind === "reauth";
    return outcome;
  } finally {
    if (!isOver) await uploads.unfinished.discard(folder);
  }
}

/** Holds a chunk in memory, so that it can be sent again after a connection error. */
async function putPiece(
  client: DavClient,
  segments: readonly string[],
  piece: Piece,
  headers: Readonly<Record<string, string>>,
  { signal }: Upload,
  core: DavCore,
): Promise<Failure | undefined> {
  for (let attempt = 1; ; attempt++) {
    const answer = await client.send({
      method: "PUT",
      place: { segments, isFolder: false },
      headers: { ...headers, "content-type": "application/octet-stream" },
      body: piece.bytes,
      signal,
    });
    const failure = answer.kind === "answered" ? client.refuse(answer) : answer;
    if (answer.kind === "answered" && answer.status >= 200 && answer.status < 300) return undefined;
    const mayHelp = failure.kind === "offline" || failure.kind === "locked";
    if (!mayHelp || attempt >= PIECE_ATTEMPTS_MAX || signal.aborted)
      return failure.kind === "stale" ? offline("upload_expired") : failure;
    if (!(await pause(core.deps, 200 * 2 ** attempt, signal))) return failure;
  }
}

/**
 * Requests the assembly of the chunks. A proxy may cut off a long request while the server continues: then the request is
 * not repeated while it may still be running, but the file is polled for.
 */
async function assemble(
  { core, client }: CloudUploads,
  folder: string,
  wanted: Wanted,
  headers: Readonly<Record<string, string>> & { readonly destination: string },
  signal: AbortSignal,
): Promise<ItemOutcome> {
  for (let attempt = 1; ; attempt++) {
    const answer = await client.send({
      method: "MOVE",
      place: { segments: [folder, ".file"], isFolder: false },
      headers: {
        ...headers,
        "oc-total-length": String(wanted.size),
        ...toCondition(wanted, headers.destination),
        "x-oc-mtime": String(wanted.seconds),
      },
      headTimeoutMs: ASSEMBLING_MS,
      signal,
    });
    const answered = await judgeAnswer(core, answer);
    const isUnderWay =
      (answered.kind === "lost" && answered.failure.sent) ||
      (answered.kind === "refused" && answered.status === 423);
    // A server refuses the second of two requests when the first has succeeded.
    if (!isUnderWay) return determineOutcome(core, wanted, answered, signal, attempt > 1);
    const waited = await waitForFile(core, client, folder, wanted, signal);
    if (waited !== "still_not_there") return waited;
    if (attempt >= 2)
      return answered.kind === "lost"
        ? undone(answered)
        : { kind: "locked", note: "still_assembling" };
  }
}

/** Returns the precondition of the assembly: a free name, or the tag of the file there. */
function toCondition({ over }: Wanted, destination: string): Readonly<Record<string, string>> {
  return over === undefined
    ? { overwrite: "F" }
    : { overwrite: "T", if: `<${destination}> ([${over.strongTag ?? ""}])` };
}

/** Polls until the file exists, or the chunks are gone without it. */
async function waitForFile(
  core: DavCore,
  client: DavClient,
  folder: string,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<ItemOutcome | "still_not_there"> {
  for (const waitMs of [0, ...POLLS_MS]) {
    if (waitMs > 0 && !(await pause(core.deps, waitMs, signal)))
      return { kind: "unknown_outcome", note: "aborted" };
    const found = await core.look(wanted.segments, signal);
    if (found.kind === "ok" && found.seen.item.version !== wanted.over?.item.version)
      return (await isOurs(core, found.seen, wanted, signal))
        ? { kind: "ok", item: found.seen.item }
        : toTaken(wanted, found.seen);
    if (found.kind === "reauth") return found;
    if (found.kind !== "not_found" && found.kind !== "ok") continue;
    const gone = await core.refuseParent(wanted.parent, signal);
    if (gone?.kind === "stale") return gone;
    const pieces = await client.propfind(
      { place: { segments: [folder], isFolder: true }, depth: "0", props: [], signal },
      () => undefined,
    );
    if (pieces.kind === "refused" && pieces.answer.status === 404) {
      // The chunks disappear the moment the file appears.
      const last = await core.look(wanted.segments, signal);
      return last.kind === "ok" && (await isOurs(core, last.seen, wanted, signal))
        ? { kind: "ok", item: last.seen.item }
        : { kind: "unknown_outcome", note: "pieces_gone" };
    }
  }
  return "still_not_there";
}

async function determineOutcome(
  core: DavCore,
  wanted: Wanted,
  answered: Answered,
  signal: AbortSignal,
  wasAskedBefore = false,
): Promise<ItemOutcome> {
  if (answered.kind === "refused" && isPlain(answered.failure)) return answered.failure;
  if (answered.kind === "lost" && !answered.failure.sent) return answered.failure;
  const found = await core.lookAfter(wanted.segments, signal);
  if (found.kind === "ok") {
    const { item } = found.seen;
    const mayBeOurs = answered.kind !== "refused" || wasAskedBefore;
    const isMade =
      answered.kind === "accepted" ||
      (mayBeOurs && (await isOurs(core, found.seen, wanted, signal)));
    if (!isMade) return toTaken(wanted, found.seen);
    return isOther(found.seen, item.name, wanted.size)
      ? { kind: "unknown_outcome", note: "other_bytes" }
      : { kind: "ok", item };
  }
  if (found.kind !== "not_found") return { kind: "unknown_outcome", note: "look_failed" };
  const gone = await core.refuseParent(wanted.parent, signal);
  if (gone !== undefined)
    return gone.kind === "invalid_destination" ? { kind: "stale", note: "parent_is_a_file" } : gone;
  if (answered.kind === "refused") return refusedName(answered.status, answered.failure);
  return answered.kind === "lost" ? answered.failure : undone(answered);
}

/** Returns the failure when another file has the name. */
function toTaken({ over }: Wanted, { item }: Seen): Failure {
  if (over === undefined) return { kind: "conflict", existingName: item.name };
  // A precondition that fails although nothing has changed is useless on this server.
  return item.version === over.item.version
    ? { kind: "offline", sent: true, note: "useless_tag" }
    : { kind: "stale", note: "changed" };
}

/** Returns whether a file is the uploaded one: by its size and time or, on servers that keep no times, by its bytes. */
async function isOurs(
  core: DavCore,
  { item }: Seen,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<boolean> {
  if (item.kind !== "file" || item.size !== wanted.size) return false;
  if (item.modifiedAt === wanted.seconds * 1000) return true;
  const read = await readFile(core, { id: item.id, version: item.version, signal });
  if (read.kind !== "ok") return false;
  const held = createHash("sha256");
  try {
    for await (const chunk of read.stream as AsyncIterable<Uint8Array>) held.update(chunk);
  } catch (error) {
    if (error instanceof StreamAborted || signal.aborted) return false;
    throw error;
  }
  return held.digest().equals(wanted.sent.copy().digest());
}

async function judgeAnswer(
  core: DavCore,
  answer: ProviderAnswer | Extract<Failure, { kind: "offline" }>,
): Promise<Answered> {
  return answer.kind === "answered" ? judge(core, answer) : { kind: "lost", failure: answer };
}

function offline(note: string): Failure {
  return { kind: "offline", sent: true, note };
}
