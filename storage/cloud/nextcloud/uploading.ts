import { createHash } from "node:crypto";
import type { Failure } from "../outcomes.ts";
import { inPieces, type Piece } from "../pieces.ts";
import type { Replacement } from "../provider.ts";
import type { ItemOutcome } from "../item.ts";
import { refuseTaken } from "../webdav/changing.ts";
import type { DavClient } from "../webdav/client.ts";
import { pause, type DavCore } from "../webdav/core.ts";
import { isPlain } from "../webdav/failures.ts";
import { toLaterSeconds, type DavItem } from "../webdav/items.ts";
import { refuseChanged } from "../webdav/replacing.ts";
import {
  openBody,
  toUploadPlace,
  typeOf,
  type Upload,
  type UploadBody,
} from "../webdav/uploading.ts";
import {
  listChunks,
  toSavedChunks,
  toSavedFolder,
  type ContinuedChunks,
  type SavedChunks,
} from "./saved-chunks.ts";
import {
  assemble,
  determineOutcome,
  judgeAnswer,
  recognize,
  type ChunkedUpload,
} from "./assembling.ts";
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
/** When a locked name is looked up: another short upload is over by then. */
const LOCKED_MS = [0, 500, 1_500];

/**
 * Creates a file: by one conditional request, or by chunks that the server assembles at the end. Chunks are sent
 * while the source is received, so that no length is needed in advance. With a session the chunks are kept for another call.
 */
export async function uploadToCloud(uploads: CloudUploads, upload: Upload): Promise<ItemOutcome> {
  try {
    const { core, pieceBytes } = uploads;
    const place = toUploadPlace(core, upload);
    if (place.kind !== "ok") return place;
    const chunked = toChunkedUpload(core, place);
    const body = await openBody(upload, Math.min(SMALL_BYTES, pieceBytes), chunked.see);
    if (body.bytes !== undefined) return await uploadWhole(uploads, upload, chunked, body);
    const { session, signal } = upload;
    const savedChunks = toSavedChunks(session?.saved);
    const before = savedChunks && (await listChunks(uploads.client, savedChunks, signal));
    if (before !== undefined && before.kind !== "continued") return before;
    const refusal = await refuseTaken(core, chunked.segments, signal);
    if (refusal?.kind === "conflict" && before !== undefined)
      return await recognize(core, chunked, body, refusal, signal);
    if (refusal !== undefined) return refusal;
    if (!uploads.chunks || (upload.size !== undefined && upload.size <= pieceBytes))
      return await uploadWhole(uploads, upload, chunked, body);
    if (before?.sizes !== undefined)
      return await uploadPieces(before.folder, uploads, upload, chunked, body, before);
    const send = (folder: string) => uploadPieces(folder, uploads, upload, chunked, body);
    return session === undefined
      ? await uploads.unfinished.withFolder(send)
      : await send(toSavedFolder(core.deps));
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
  input: Replacement,
  over: DavItem,
): Promise<ItemOutcome> {
  const { parent, name } = over.item;
  const upload: Upload = { ...input, parent, name };
  const place = toUploadPlace(uploads.core, upload);
  if (place.kind !== "ok") return place;
  const chunked = toChunkedUpload(uploads.core, place, over);
  const body = await openBody(upload, 0, chunked.see);
  return uploads.unfinished.withFolder((folder) =>
    uploadPieces(folder, uploads, upload, chunked, body),
  );
}

function toChunkedUpload(
  core: DavCore,
  place: Pick<ChunkedUpload, "parent" | "segments">,
  over?: DavItem,
): ChunkedUpload & { readonly see: (chunk: Uint8Array) => void } {
  const { parent, segments } = place;
  // The server stores the given time: with the size it identifies our file after a lost response.
  const seconds = toLaterSeconds(over, core.deps.clock());
  const chunked = {
    parent,
    segments,
    over,
    seconds,
    size: 0,
    sent: createHash("sha256"),
    see(chunk: Uint8Array) {
      chunked.size += chunk.byteLength;
      chunked.sent.update(chunk);
    },
  };
  return chunked;
}

async function uploadWhole(
  { core }: CloudUploads,
  upload: Upload,
  chunked: ChunkedUpload,
  body: UploadBody,
): Promise<ItemOutcome> {
  const size = body.bytes?.byteLength ?? upload.size;
  if (size === undefined) return { kind: "unsupported", reason: "length_required" };
  const answer = await core.client.send({
    method: "PUT",
    place: { segments: chunked.segments, isFolder: false },
    headers: {
      "content-type": typeOf(upload),
      "content-length": String(size),
      "if-none-match": "*",
      "x-oc-mtime": String(chunked.seconds),
    },
    body: body.bytes ?? body.stream,
    signal: upload.signal,
  });
  const answered = await judgeAnswer(core, answer);
  if (answered.kind === "refused" && answered.status === 423)
    return (await findOtherWriter(core, chunked.segments, upload.signal)) ?? answered.failure;
  return determineOutcome(core, chunked, answered, upload.signal);
}

/** Returns the conflict with another upload of the name: the server locks a name until its file is complete. */
async function findOtherWriter(
  core: DavCore,
  segments: readonly string[],
  signal: AbortSignal,
): Promise<Failure | undefined> {
  for (const waitMs of LOCKED_MS) {
    if (waitMs > 0 && !(await pause(core.deps, waitMs, signal))) return undefined;
    const found = await core.lookUp(segments, signal);
    if (found.kind === "ok") return { kind: "conflict", existingName: found.davItem.item.name };
    if (found.kind !== "not_found") return undefined;
  }
  return undefined;
}

async function uploadPieces(
  folder: string,
  uploads: CloudUploads,
  upload: Upload,
  chunked: ChunkedUpload,
  body: UploadBody,
  continued?: ContinuedChunks,
): Promise<ItemOutcome> {
  const { core, client } = uploads;
  const { session, signal } = upload;
  const pieceBytes =
    continued?.pieceBytes ??
    Math.max(uploads.pieceBytes, Math.ceil((upload.size ?? 0) / PIECES_MAX));
  const headers = {
    destination: core.client.destination({ segments: chunked.segments, isFolder: false }),
    ...(upload.size === undefined ? {} : { "oc-total-length": String(upload.size) }),
  };
  if (continued === undefined) {
    const created = await client.send({
      method: "MKCOL",
      place: { segments: [folder], isFolder: true },
      headers,
      signal,
    });
    if (created.kind !== "answered") return created;
    const failure = client.refuse(created);
    if (created.status !== 201) return failure.kind === "stale" ? offline("no_uploads") : failure;
    await session?.save(JSON.stringify({ folder, pieceBytes } satisfies SavedChunks));
  }

  let isOver = false;
  try {
    let number = 0;
    for await (const piece of inPieces(body.stream, pieceBytes, upload.size)) {
      if (number === PIECES_MAX) return { kind: "unsupported", reason: "too_large" };
      const name = String(++number).padStart(5, "0");
      if (continued?.sizes?.get(name) === piece.bytes.length) continue;
      const refused = await putPiece(client, [folder, name], piece, headers, upload, core);
      if (refused !== undefined) {
        // Servers throttle clients that repeat a refused request.
        isOver = refused.kind === "reauth";
        if (isPlain(refused)) return refused;
        const refusal = await core.refuseParent(chunked.parent, signal);
        return refusal?.kind === "stale" ? refusal : refused;
      }
    }
    const outcome = await core.withLocks([chunked.segments], async () => {
      const refusal =
        chunked.over === undefined
          ? await refuseTaken(core, chunked.segments, signal)
          : await refuseChanged(core, chunked.segments, chunked.over, signal);
      return (
        refusal ??
        (await assemble(uploads, folder, chunked, headers, signal, continued !== undefined))
      );
    });
    isOver = outcome.kind === "ok" || outcome.kind === "reauth";
    return outcome;
  } finally {
    if (!isOver && session === undefined) await uploads.unfinished.discard(folder);
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

function offline(note: string): Failure {
  return { kind: "offline", sent: true, note };
}
