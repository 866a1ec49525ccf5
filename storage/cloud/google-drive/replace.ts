import { createHash } from "node:crypto";
import { isLostResponse } from "../guarded-change.ts";
import type { Failure } from "../outcomes.ts";
import { inPieces, type Piece, withContent } from "../pieces.ts";
import type { Replacement } from "../provider.ts";
import type { ItemOutcome } from "../item.ts";
import { pathOf, type FileOutcome } from "./drive.ts";
import { toChangeFailure } from "./failures.ts";
import { FOLDER_TYPE, isExpected, type DriveFile } from "./items.ts";
import { createSession, type Session } from "./session.ts";
import { isWhole, toContentType, toOutcome, type UploadDeps } from "./upload.ts";

/** Maximum number of attempts after invisible changes of the etag. */
const TRIES_MAX = 4;

/** The bytes that were sent, to recognize them after a lost response. */
interface Sent {
  readonly size: number;
  readonly md5: string;
}

/**
 * Replaces the bytes of a file if it is still the expected version; it keeps its id, sharing and revisions. A small
 * file is one request of version 2 of the API with its etag as the precondition, which version 3 lacks. A larger one
 * goes through a session, which takes no precondition for its end: its revision is compared just before the last piece.
 * A version that another client writes in between remains as an earlier revision.
 */
export async function replace(input: Replacement, deps: UploadDeps): Promise<ItemOutcome> {
  const { id, expected, content, signal } = input;
  const { drive, sizes } = deps;
  let session: Session | undefined;
  let isOver = false;
  return withContent(input, async () => {
    try {
      const found = await drive.lookUpWithEtag(id, signal);
      if (found.kind !== "ok") return toChangeFailure(found);
      const before = found.file;
      if (before.mimeType === FOLDER_TYPE) return { kind: "unsupported", reason: "folder" };
      if (!isExpected(before, expected)) return { kind: "stale" };
      // Google's own documents and shortcuts have no bytes that could be replaced.
      if (before.item.version === undefined) return { kind: "unsupported", reason: "no_bytes" };
      const md5 = createHash("md5");
      const contentType = toContentType({ contentType: input.contentType, name: before.item.name });
      for await (const piece of inPieces(content, sizes.pieceBytes, input.size)) {
        signal.throwIfAborted();
        md5.update(piece.bytes);
        const sent = (): Sent => ({
          size: piece.start + piece.bytes.length,
          md5: md5.digest("hex"),
        });
        if (session === undefined && piece.isLast && piece.bytes.length <= sizes.simpleBytesMax)
          return await replaceAtOnce(before, piece, contentType, sent(), input, deps);
        if (session === undefined) {
          const about = { size: input.size, contentType, over: id };
          const opened = await createSession({}, about, { ...deps, signal });
          if (opened.kind !== "ok") return toChangeFailure(opened);
          session = opened.session;
        }
        if (piece.isLast) {
          const now = await drive.lookUpWithEtag(id, signal);
          if (now.kind !== "ok") return toChangeFailure(now);
          if (now.file.isTrashed || now.file.item.version !== before.item.version)
            return { kind: "stale" };
        }
        const progress = await session.send(piece);
        if (progress.kind === "more") continue;
        isOver = progress.kind === "done";
        const replaced: FileOutcome =
          progress.kind === "done"
            ? toOutcome(progress.value, deps)
            : progress.kind === "not_found"
              ? { kind: "offline", sent: true, note: "session_gone" }
              : progress;
        return await determineOutcome(replaced, before, sent(), signal, deps);
      }
      return { kind: "offline", sent: true, note: "session_wants_more" };
    } finally {
      if (!isOver) await session?.cancel();
    }
  });
}

async function replaceAtOnce(
  before: DriveFile,
  { bytes }: Piece,
  contentType: string,
  sent: Sent,
  { id, expected, signal }: Replacement,
  deps: UploadDeps,
): Promise<ItemOutcome> {
  let { tag } = before;
  for (let tries = 1; ; tries++) {
    const replaced = await deps.drive.change(
      {
        method: "PUT",
        service: "upload_v2",
        path: pathOf(id),
        query: { uploadType: "media" },
        headers: { "content-type": contentType, ...(tag === undefined ? {} : { "if-match": tag }) },
        body: bytes,
      },
      signal,
    );
    if (replaced.kind !== "precondition_failed" || tries === TRIES_MAX)
      return determineOutcome(replaced, before, sent, signal, deps);
    // The etag also changes when nothing has changed that the caller can see.
    const now = await deps.drive.lookUpWithEtag(id, signal);
    if (now.kind !== "ok") return toChangeFailure(now);
    const isCurrent = now.file.item.version === before.item.version;
    if (!isCurrent || !isExpected(now.file, expected)) return { kind: "stale" };
    ({ tag } = now.file);
  }
}

/** Verifies the bytes that Drive stores; after a lost response looks the file up. */
async function determineOutcome(
  replaced: FileOutcome,
  before: DriveFile,
  sent: Sent,
  signal: AbortSignal,
  { drive }: UploadDeps,
): Promise<ItemOutcome> {
  const toItem = (file: DriveFile): ItemOutcome =>
    isWhole(file, sent.size, sent.md5)
      ? { kind: "ok", item: file.item }
      : { kind: "unknown_outcome", note: "other_bytes" };
  if (replaced.kind === "ok") return toItem(replaced.file);
  if (!isLostResponse(replaced) || signal.aborted) return toChangeFailure(replaced);
  const now = await drive.lookUpWithEtag(before.item.id, signal);
  if (now.kind === "not_found") return { kind: "stale" };
  if (now.kind !== "ok") return { kind: "unknown_outcome", note: replaced.note ?? "lost" };
  if (now.file.item.version === before.item.version && now.file.md5 !== sent.md5)
    return toChangeFailure(replaced) satisfies Failure;
  const landed = toItem(now.file);
  return landed.kind === "ok" ? landed : { kind: "stale" };
}
