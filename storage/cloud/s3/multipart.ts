import { createHash } from "node:crypto";
import type { Failure } from "../outcomes.ts";
import { createOnly, NEW_HEADERS, underTag, type Changed } from "./changing.ts";
import { toVersionId, unquote } from "../../s3/client.ts";
import { findObject, type Store } from "./context.ts";
import type { SessionStore } from "../provider.ts";
import { withJournal } from "./journal.ts";
import type { SavedUpload } from "./saved-upload.ts";
import { isPrecondition, isRace, mayHaveLanded, type Refused } from "../../s3/failures.ts";
import { abortUpload, BEGINNING_MS } from "../../s3/multipart-uploads.ts";

/** An uploaded part. */
export interface Part {
  readonly number: number;
  /** The part's entity tag, without quotes. */
  readonly etag: string;
}

export interface PartUpload {
  readonly key: string;
  /** The entity tag of the object that is replaced. Undefined: the key must be free. */
  readonly over?: string | undefined;
  /** Properties of the object. */
  readonly headers: Readonly<Record<string, string>>;
  /** Keeps the upload for another call. */
  readonly session?: SessionStore | undefined;
  /** The upload of an earlier call, whose parts the server still has. */
  readonly continued?: SavedUpload | undefined;
  /** The size of all parts but the last; saved with a kept upload. */
  readonly partBytes?: number;
  readonly signal: AbortSignal;
}

/** How long a kept upload can be resumed; its caller discards it earlier. */
const RESUMABLE_MS = 72 * 3_600_000;
/** Aborting ignores the caller's signal: an upload without a record would stay forever. */
const ABORT_MS = 15_000;

/**
 * Creates an object by a multipart upload, or replaces the one of `over`. The object is invisible before `complete`,
 * which `commit` calls after a last check; otherwise the parts are discarded, unless they are kept for another call. A
 * journal entry, written before the upload, lets the next start abort it if the daemon dies. Rejects with errors of
 * `sendParts`.
 */
export async function uploadInParts(
  store: Store,
  upload: PartUpload,
  sendParts: (uploadId: string) => Promise<readonly Part[] | Changed | Failure>,
  commit: (complete: () => Promise<Changed | Failure>) => Promise<Changed | Failure>,
): Promise<Changed | Failure> {
  const { client } = store;
  const { key, session, continued, partBytes = 0 } = upload;
  const keptUntil = session === undefined ? {} : { keptUntil: store.deps.clock() + RESUMABLE_MS };
  const announced = continued && { uploadId: continued.uploadId, ...keptUntil };
  const beginning = AbortSignal.timeout(BEGINNING_MS);
  return withJournal(
    store,
    { kind: "upload", key, ...announced },
    beginning,
    async (journal) => {
      const uploadId = continued?.uploadId ?? (await begin(store, upload, beginning));
      if (typeof uploadId !== "string") {
        // If the upload has started despite the failure, recovery finds it later.
        if (uploadId.kind === "refused" && !mayHaveLanded(uploadId)) await journal.end();
        return uploadId;
      }
      let isOver = false;
      let isSaved = continued !== undefined;
      try {
        if (continued === undefined) {
          const unwritten = await journal.rewrite({ kind: "upload", key, uploadId, ...keptUntil });
          if (unwritten !== undefined) return unwritten;
          const saved: SavedUpload = { key, uploadId, partBytes, entry: journal.key };
          await session?.save(JSON.stringify(saved));
          isSaved = session !== undefined;
        }
        const parts = await sendParts(uploadId);
        if (!isParts(parts)) return parts;
        const completed = await commit(() => complete(store, upload, uploadId, parts));
        isOver = completed.kind === "done";
        return completed;
      } finally {
        isOver ||=
          !isSaved &&
          (await abortUpload(client, key, uploadId, AbortSignal.timeout(ABORT_MS))) === undefined;
        // Recovery aborts an upload that could not be aborted here.
        if (isOver) await journal.end();
      }
    },
    continued?.entry,
  );
}

/** The id of a new upload. */
async function begin(
  { client }: Store,
  { key, headers }: PartUpload,
  signal: AbortSignal,
): Promise<string | Refused | Failure> {
  const started = await client.sendForFields(
    { method: "POST", key, query: { uploads: "" }, headers, signal },
    "UploadId",
  );
  if (started.kind === "refused") return started;
  const uploadId = started.fields["UploadId"] ?? "";
  return uploadId === "" ? { kind: "offline", sent: true, note: "no_upload_id" } : uploadId;
}

async function complete(
  store: Store,
  { key, over, signal }: PartUpload,
  uploadId: string,
  parts: readonly Part[],
): Promise<Changed | Failure> {
  const body = Buffer.from(toCompletion(parts));
  const { multipart, replaceInParts } = store.findings.guards;
  const ask = (condition: Readonly<Record<string, string>>) =>
    store.client.sendForFields(
      {
        method: "POST",
        key,
        query: { uploadId },
        headers: { "content-type": "application/xml", ...condition },
        body,
        isLong: true,
        signal,
      },
      "ETag",
    );
  const send = () =>
    over === undefined
      ? createOnly(store, { key, condition: multipart ? NEW_HEADERS : undefined, signal }, ask)
      : underTag(store, { key, etag: over, isGuarded: replaceInParts, signal }, ask);
  let sent = await send();
  if (sent.kind === "refused" && isRace(sent)) {
    sent = await send();
    // After this conflict the parts may be lost: the other client has the name.
    if (sent.kind === "refused" && (isRace(sent) || sent.code === "NoSuchUpload"))
      return { kind: "precondition" };
  }
  if (sent.kind === "refused" && mayHaveLanded(sent)) {
    const landed = await findCompleted(store, key, parts, signal);
    if (landed !== undefined) return landed;
    sent = await send();
    if (sent.kind !== "done") {
      const late = await findCompleted(store, key, parts, signal);
      if (late !== undefined) return late;
      const isUnknown =
        sent.kind === "precondition" || isPrecondition(sent)
          ? await mayBeCompleted(store, key, over, signal)
          : mayHaveLanded(sent) || sent.code === "NoSuchUpload";
      if (isUnknown) return { kind: "unknown_outcome", note: "completion_unanswered" };
    }
  }
  if (sent.kind === "precondition") return sent;
  if (sent.kind === "refused") return isPrecondition(sent) ? { kind: "precondition" } : sent;
  return {
    kind: "done",
    etag: unquote(sent.fields["ETag"] ?? ""),
    versionId: toVersionId(sent.headers["x-amz-version-id"]),
    isMarked: false,
  };
}

/** After a lost response, finds the completed object by the tag that servers commonly derive from the parts' tags. */
async function findCompleted(
  store: Store,
  key: string,
  parts: readonly Part[],
  signal: AbortSignal,
): Promise<Changed | undefined> {
  const head = await findObject(store, key, signal);
  if (head?.kind !== "object" || head.etag !== toCommonTag(parts)) return undefined;
  return { kind: "done", etag: head.etag, versionId: head.versionId, isMarked: false };
}

/**
 * Returns whether the object of a key may be the completed one although its tag is not the one that servers commonly derive:
 * servers that encrypt have tags of other forms.
 */
async function mayBeCompleted(
  store: Store,
  key: string,
  over: string | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  const head = await findObject(store, key, signal);
  if (head?.kind !== "object") return head !== undefined;
  return head.etag !== over && !/^[0-9a-f]{32}(-\d+)?$/.test(head.etag);
}

/** Returns the MD5 of the parts' MD5s, and their number. */
export function toCommonTag(parts: readonly Part[]): string {
  const digests = Buffer.concat(parts.map(({ etag }) => Buffer.from(etag, "hex")));
  return `${createHash("md5").update(digests).digest("hex")}-${parts.length}`;
}

/** Returns the body of the request that completes an upload; the parts are in the order of their numbers. */
export function toCompletion(parts: readonly Part[]): string {
  const lines = parts.map(
    ({ number, etag }) =>
      `<Part><PartNumber>${number}</PartNumber><ETag>"${escapeXml(etag)}"</ETag></Part>`,
  );
  return `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${lines.join("")}</CompleteMultipartUpload>`;
}

/** Escapes a text for XML. Control characters become references, which every server reads and few parsers check. */
export function escapeXml(text: string): string {
  return text.replace(/[&<>"'\p{Cc}]/gu, (character) => `&#${character.codePointAt(0) ?? 0};`);
}

function isParts(value: readonly Part[] | Changed | Failure): value is readonly Part[] {
  return Array.isArray(value);
}
