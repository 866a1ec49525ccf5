import { createHash } from "node:crypto";
import { contentTypeOf } from "../content-type.ts";
import { asText, parseJsonObject } from "../json.ts";
import { inPieces, pieceFrom, withContent } from "../pieces.ts";
import type { CloudProvider, ProviderDeps } from "../provider.ts";
import type { ItemOutcome } from "../item.ts";
import { begin, finish, refuse, undoCreate, verifyMade, type NewItem } from "./create.ts";
import type { Drive, FileOutcome } from "./drive.ts";
import { toDriveFile, type DriveFile } from "./items.ts";
import type { Names } from "./names.ts";
import { cancelSession, continueSession, createSession, type Session } from "./session.ts";

type Upload = Parameters<CloudProvider["upload"]>[0];

export interface UploadSizes {
  /** Files up to this size are sent as one request; Drive accepts 5 MB that way. */
  readonly simpleBytesMax: number;
  /** Size of a piece of a resumable upload: a multiple of 256 KiB, at least `simpleBytesMax`. */
  readonly pieceBytes: number;
}

export interface UploadDeps {
  readonly drive: Drive;
  readonly names: Names;
  readonly sizes: UploadSizes;
  readonly sleep: ProviderDeps["sleep"];
  readonly newId: () => string;
  readonly rootId: string;
}

/**
 * Creates a file from a stream: a small one by one request, a larger one piece by piece; nothing is visible before the
 * last one. Discards an unfinished session, unless it is kept for another call. Throws errors of the source.
 */
export async function upload(input: Upload, deps: UploadDeps): Promise<ItemOutcome> {
  const { signal, parent, name } = input;
  return withContent(input, async () => {
    const savedSession = toSavedSession(input.session?.saved);
    const begun = await begin(deps.drive, deps.names, parent, name, signal, savedSession?.id);
    if (begun.kind !== "ok") return begun;
    return send(input, begun.item, savedSession?.url, deps);
  });
}

/** The saved state of a session: its address, and the id of the file that it creates. */
interface SavedSession {
  readonly url: string;
  readonly id: string;
}

function toSavedSession(saved: string | undefined): SavedSession | undefined {
  const value = parseJsonObject(saved ?? "");
  const [url, id] = [asText(value?.["url"]), asText(value?.["id"])];
  return url === undefined || id === undefined ? undefined : { url, id };
}

/** Discards a saved session. */
export async function discardSession(saved: string, drive: Drive): Promise<void> {
  const savedSession = toSavedSession(saved);
  if (savedSession !== undefined) await cancelSession(savedSession.url, drive);
}

/** The progress of an earlier call: its session and the offset there, or the file. */
interface Progress {
  readonly offset: number;
  readonly session?: Session;
  readonly created?: FileOutcome;
}

/** Queries the session of an earlier call. An ended session may have created the file; otherwise opens a new one. */
async function resume(
  url: string,
  item: NewItem,
  { size = 0, signal }: Upload,
  deps: UploadDeps,
): Promise<Progress> {
  const found = await continueSession(url, size, { ...deps, signal });
  if (found.kind === "stands") return found;
  if (found.kind === "done") return { offset: 0, created: toOutcome(found.value, deps) };
  if (found.kind !== "not_found") return { offset: 0, created: found };
  const existing = await deps.drive.lookUp(item.id, signal);
  return existing.kind === "not_found" ? { offset: 0 } : { offset: 0, created: existing };
}

async function send(
  input: Upload,
  item: NewItem,
  savedUrl: string | undefined,
  deps: UploadDeps,
): Promise<ItemOutcome> {
  const { signal, parent } = input;
  const { drive, names } = deps;
  const md5 = createHash("md5");
  let size = 0;
  const before = savedUrl === undefined ? { offset: 0 } : await resume(savedUrl, item, input, deps);
  let { session, created }: Progress = before;
  if (created !== undefined && created.kind !== "ok") return refuse(drive, created, parent, signal);
  let mayHaveLanded = false;
  try {
    for await (const piece of inPieces(input.content, deps.sizes.pieceBytes, input.size)) {
      signal.throwIfAborted();
      md5.update(piece.bytes);
      size = piece.start + piece.bytes.length;
      if (before.created !== undefined) continue;
      mayHaveLanded = piece.isLast;
      if (session === undefined && piece.isLast && size <= deps.sizes.simpleBytesMax) {
        created = await sendAtOnce(input, item, piece.bytes, deps);
        break;
      }
      if (session === undefined) {
        const opened = await createSession(
          toMetadata(input, item, drive),
          { size: input.size, contentType: toContentType(input) },
          { ...deps, signal },
        );
        if (opened.kind !== "ok") return await refuse(drive, opened, parent, signal);
        session = opened.session;
        await input.session?.save(
          JSON.stringify({ url: session.url, id: item.id } satisfies SavedSession),
        );
      }
      const rest = pieceFrom(piece, before.offset);
      if (rest === undefined && !piece.isLast) continue;
      const sent = await session.send(
        rest ?? { start: size, bytes: Buffer.alloc(0), isLast: true },
      );
      if (sent.kind === "more") continue;
      if (sent.kind === "done") created = toOutcome(sent.value, deps);
      else created = sent.kind === "not_found" ? sessionExpired : sent;
      break;
    }
  } finally {
    if (created?.kind !== "ok" && input.session === undefined) await session?.cancel();
    if (created?.kind !== "ok" && mayHaveLanded && signal.aborted)
      await undoCreate(drive, item, aborted);
  }
  if (created === undefined) return { kind: "offline", sent: true, note: "session_wants_more" };
  const verified = await verifyMade(drive, created, item, signal);
  if (verified.kind === "not_there") {
    const sessionGone = { kind: "not_found", note: "session_gone" } as const;
    return refuse(
      drive,
      created === sessionExpired ? sessionGone : verified.failure,
      parent,
      signal,
    );
  }
  if (verified.kind !== "ok") return refuse(drive, verified, parent, signal);
  if (!isWhole(verified.file, size, md5.digest("hex")))
    return undoCreate(drive, item, { kind: "offline", sent: true, note: "other_bytes" });
  return finish(drive, names, verified.file, item, signal);
}

/** The session is finished or was discarded: whether the file exists decides. */
const sessionExpired: FileOutcome = { kind: "offline", sent: true, note: "session_gone" };

const aborted = { kind: "offline", sent: true, note: "aborted" } as const;

/** Creates a file with its metadata in one request; retries once if it certainly does not exist. */
async function sendAtOnce(
  input: Upload,
  item: NewItem,
  bytes: Uint8Array,
  deps: UploadDeps,
): Promise<FileOutcome> {
  const { drive } = deps;
  const boundary = `croft-${deps.newId()}`;
  const metadata = JSON.stringify(toMetadata(input, item, drive));
  const body = Buffer.concat([
    Buffer.from(
      `--${boundary}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n${metadata}\r\n` +
        `--${boundary}\r\nContent-Type: ${toContentType(input)}\r\n\r\n`,
    ),
    bytes,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
  const attempt = () =>
    drive.change(
      {
        method: "POST",
        service: "upload",
        path: "/files",
        query: { uploadType: "multipart" },
        headers: { "content-type": `multipart/related; boundary=${boundary}` },
        body,
      },
      input.signal,
    );
  const first = await verifyMade(drive, await attempt(), item, input.signal);
  return first.kind === "not_there" ? attempt() : first;
}

function toMetadata({ name, parent }: Upload, { id }: NewItem, drive: Drive) {
  return { id, name, parents: [drive.realId(parent)] };
}

/** Google would convert a file that has one of its own types. */
export function toContentType({ contentType, name }: Pick<Upload, "contentType" | "name">): string {
  const type = contentType ?? contentTypeOf(name);
  const isPlain = type !== undefined && /^[\w.+-]+\/[\w.+-]+(; ?charset=[\w-]+)?$/.test(type);
  return isPlain && !type.startsWith("application/vnd.google-apps")
    ? type
    : "application/octet-stream";
}

export function toOutcome(value: unknown, { rootId }: Pick<UploadDeps, "rootId">): FileOutcome {
  const file = toDriveFile(value, rootId);
  return file === undefined
    ? { kind: "offline", sent: true, note: "strange_answer" }
    : { kind: "ok", file };
}

/** Drive stores bytes unchanged: a difference means that they were damaged in transit. */
export function isWhole({ item, md5 }: DriveFile, size: number, sentMd5: string): boolean {
  return item.size === size && (md5 === undefined || md5 === sentMd5);
}
