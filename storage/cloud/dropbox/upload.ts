import type { Readable } from "node:stream";
import { asText } from "../json.ts";
import { STRANGE_ANSWER, toEarlyFailure } from "../guarded-change.ts";
import { mayRetryRead, type Failure } from "../outcomes.ts";
import { inPieces, pieceFrom, type Piece, withContent } from "../pieces.ts";
import type { SessionStore, Replacement } from "../provider.ts";
import type { ItemOutcome } from "../item.ts";
import { isAsSent, isExpected } from "../comparison.ts";
import { toChangeFailure, type Account } from "./account.ts";
import type { ApiAnswer, DropboxApi } from "./api.ts";
import { createContentHash, hashContent } from "./content-hash.ts";
import type { DropboxFailure } from "./failures.ts";
import { toDropboxItem, toProviderItem, type DropboxItem } from "./items.ts";
import { brokenDropboxRule } from "./names.ts";

/** The parameters of one upload, as in the contract. */
export interface Upload {
  readonly parent: string;
  readonly name: string;
  readonly content: Readable;
  readonly size: number | undefined;
  /** The version of a file that is replaced. Undefined: the name must be free. */
  readonly over?: DropboxItem | undefined;
  readonly session?: SessionStore | undefined;
  readonly signal: AbortSignal;
}

export interface UploadDeps {
  readonly api: DropboxApi;
  readonly account: Account;
  readonly pieceBytes: number;
  /** Runs changes of the account's names one at a time. */
  readonly withAccountLock: <T>(work: () => Promise<T>) => Promise<T>;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** Maximum number of attempts for a piece, the first included. */
const TRIES_MAX = 4;
const FIRST_WAIT_MS = 500;

/** The uploaded content, to recognize the file after a lost response. */
interface Sent {
  readonly size: number;
  readonly contentHash: string;
}

/**
 * Creates or replaces a file. One piece is sent as one request, more pieces through an upload session, which Dropbox
 * discards if it is never finished. Nothing is visible before the last request. Throws errors of the source.
 */
export async function upload(input: Upload, deps: UploadDeps): Promise<ItemOutcome> {
  const { name } = input;
  return withContent(input, async () => {
    const rule = input.over === undefined ? brokenDropboxRule(name) : undefined;
    if (rule !== undefined) return { kind: "invalid_name", rule };
    return sendPieces(input, deps);
  });
}

/** Replaces a file that still is as expected; Dropbox compares the revision when the new version is committed. */
export async function replace(input: Replacement, deps: UploadDeps): Promise<ItemOutcome> {
  const { id, expected, content, size, signal } = input;
  try {
    const current = await deps.account.lookWithParent(id, signal);
    if (current.kind !== "ok") return toEarlyFailure(current, toChangeFailure);
    const { found, item } = current;
    if (item.kind === "folder") return { kind: "unsupported", reason: "folder" };
    if (!isExpected(item, expected)) return { kind: "stale" };
    if (found.rev === undefined) return { kind: "unsupported", reason: "no_revision" };
    const { parent, name } = item;
    return await upload({ parent, name, over: found, content, size, signal }, deps);
  } finally {
    content.destroy();
  }
}

async function sendPieces(input: Upload, deps: UploadDeps): Promise<ItemOutcome> {
  const { signal } = input;
  const hash = createContentHash();
  const before = await resume(input, deps);
  if (before.kind !== "ok") return before;
  let { session } = before;
  for await (const piece of inPieces(input.content, deps.pieceBytes, input.size)) {
    signal.throwIfAborted();
    hash.update(piece.bytes);
    const end = piece.start + piece.bytes.length;
    const rest = pieceFrom(piece, before.offset);
    if (piece.isLast) {
      const last = rest ?? { start: end, bytes: Buffer.alloc(0), isLast: true };
      const sent = { size: end, contentHash: hash.digest() };
      if (before.existing !== undefined) return recognize(input, before.existing, sent);
      return deps.withAccountLock(() => commit(input, session, last, sent, deps));
    }
    if (rest === undefined || before.existing !== undefined) continue;
    if (session === undefined) {
      const begun = await begin(input, piece, deps);
      if (begun.kind !== "ok") return begun;
      session = begun.session;
      await input.session?.save(session);
    } else {
      const failure = await append(session, rest, signal, deps);
      if (failure !== undefined) return toSessionFailure(failure);
    }
  }
  throw new Error("a stream without a last piece");
}

/** The session of an earlier call, and the offset of the next byte that it needs. */
interface Before {
  readonly kind: "ok";
  readonly session: string | undefined;
  readonly offset: number;
  /** The session has ended and this file has the name: possibly the uploaded one. */
  readonly existing: DropboxItem | undefined;
}

/** Asks the session of an earlier call for its offset; without one the upload begins at the start. */
async function resume(
  { parent, name, session: sessionStore, signal }: Upload,
  deps: UploadDeps,
): Promise<Before | Failure> {
  const none: Before = { kind: "ok", session: undefined, offset: 0, existing: undefined };
  const session = sessionStore?.saved;
  if (session === undefined) return none;
  // The session already has its first piece, so it refuses an append at the start and states its offset.
  const argument = { cursor: { session_id: session, offset: 0 }, close: false };
  const bytes = new Uint8Array();
  const answer = await sendWithRetries(signal, deps, () =>
    deps.api.send("files/upload_session/append_v2", argument, bytes, signal),
  );
  if (answer.kind === "incorrect_offset") return { ...none, session, offset: answer.offset };
  if (answer.kind !== "not_found" && answer.kind !== "ok") return toSessionFailure(answer);
  const folder = await deps.account.pathOfFolder(parent, signal);
  if (folder.kind !== "ok") return toChangeFailure(folder);
  const existing = await deps.account.lookUp(`${folder.path}/${name}`, signal);
  if (existing.kind === "not_found") return none;
  return existing.kind === "ok" ? { ...none, existing: existing.found } : toChangeFailure(existing);
}

async function begin(
  input: Upload,
  piece: Piece,
  deps: UploadDeps,
): Promise<{ readonly kind: "ok"; readonly session: string } | Failure> {
  if (input.over === undefined) {
    // Avoids a useless large upload: the folder must exist and the name be free.
    const folder = await deps.account.pathOfFolder(input.parent, input.signal);
    if (folder.kind !== "ok") return toChangeFailure(folder);
    const existing = await deps.account.lookUp(`${folder.path}/${input.name}`, input.signal);
    if (existing.kind === "ok") return { kind: "conflict", existingName: existing.found.name };
    if (existing.kind !== "not_found") return toChangeFailure(existing);
  }
  const answer = await sendWithRetries(input.signal, deps, () =>
    deps.api.send(
      "files/upload_session/start",
      { close: false, content_hash: hashContent(piece.bytes) },
      piece.bytes,
      input.signal,
    ),
  );
  if (answer.kind !== "ok") return toSessionFailure(answer);
  const session = asText(answer.value["session_id"]);
  return session === undefined ? STRANGE_ANSWER : { kind: "ok", session };
}

/** Adds a piece. After a lost response the service reports the offset of the session, and its bytes are not sent again. */
async function append(
  session: string,
  piece: Piece,
  signal: AbortSignal,
  deps: UploadDeps,
): Promise<DropboxFailure | undefined> {
  const end = piece.start + piece.bytes.length;
  const send = (at: number) => {
    const rest = piece.bytes.subarray(at - piece.start);
    const cursor = { session_id: session, offset: at };
    const argument = { cursor, close: false, content_hash: hashContent(rest) };
    return deps.api.send("files/upload_session/append_v2", argument, rest, signal);
  };
  let at = piece.start;
  const answer = await sendWithRetries(signal, deps, async () => {
    const answer = await send(at);
    const standing = standingWithin(answer, piece, at);
    if (standing === undefined) return answer;
    at = standing;
    return at === end ? { kind: "ok", value: {} } : send(at);
  });
  return answer.kind === "ok" ? undefined : answer;
}

/** Returns the offset within a piece after a partial upload; undefined for any other response. */
function standingWithin(
  answer: ApiAnswer,
  { start, bytes }: Piece,
  sentFrom: number,
): number | undefined {
  if (answer.kind !== "incorrect_offset" || answer.offset === sentFrom) return undefined;
  return answer.offset >= start && answer.offset <= start + bytes.length
    ? answer.offset
    : undefined;
}

/** Sends the last request: creates the file under its name, which must be free, or replaces the version of `over`. */
async function commit(
  input: Upload,
  session: string | undefined,
  piece: Piece,
  sent: Sent,
  deps: UploadDeps,
): Promise<ItemOutcome> {
  const { parent, name, over, signal } = input;
  // Checked again just before: Dropbox would create a deleted folder again.
  const folder =
    over === undefined
      ? await deps.account.pathOfFolder(parent, signal)
      : ({ kind: "ok", path: "" } as const);
  if (folder.kind !== "ok") return toChangeFailure(folder);
  const path = over?.id ?? `${folder.path}/${name}`;
  const mode = over === undefined ? "add" : { ".tag": "update", update: over.rev ?? "" };
  const commitInfo = { path, mode, autorename: false, strict_conflict: true, mute: false };
  let mayHaveLanded = false;
  const send = async (at: number) => {
    const rest = piece.bytes.subarray(at - piece.start);
    const hash = { content_hash: hashContent(rest) };
    const cursor = { session_id: session, offset: at };
    const answer =
      session === undefined
        ? await deps.api.send("files/upload", { ...commitInfo, ...hash }, rest, signal)
        : await deps.api.send(
            "files/upload_session/finish",
            { cursor, commit: commitInfo, ...hash },
            rest,
            signal,
          );
    mayHaveLanded ||= answer.kind === "offline" && answer.sent;
    return answer;
  };
  // The session has the bytes even of a request that failed to create the file.
  let at = piece.start;
  const answer = await sendWithRetries(signal, deps, async () => {
    const answer = await send(at);
    const standing = standingWithin(answer, piece, at);
    if (standing === undefined) return answer;
    at = standing;
    return send(at);
  });
  if (answer.kind === "ok") {
    const created = toDropboxItem(answer.value, "file");
    if (created !== undefined) return toOutcome(created, sent, parent);
    mayHaveLanded = true;
  } else if (!mayHaveLanded) {
    // The revision is no longer the current one, or the file was deleted.
    if (over !== undefined && ["conflict", "not_found"].includes(answer.kind))
      return { kind: "stale" };
    if (answer.kind === "conflict") return { ...answer, existingName: name };
    return session === undefined ? toChangeFailure(answer) : toSessionFailure(answer);
  }
  const failure = answer.kind === "ok" ? STRANGE_ANSWER : toSessionFailure(answer);
  if (signal.aborted) return failure;
  const found = await deps.account.lookUp(path, signal);
  if (found.kind === "ok" && over !== undefined) {
    if (found.found.rev === over.rev) return failure;
    return isSame(found.found, sent)
      ? { kind: "ok", item: toProviderItem(found.found, parent) }
      : { kind: "stale" };
  }
  if (found.kind === "ok") return recognize(input, found.found, sent);
  return found.kind === "not_found"
    ? failure
    : { kind: "unknown_outcome", note: failure.note ?? "lost" };
}

/** The outcome when a file has the name: it is ours when it has exactly the sent bytes. */
function recognize({ name, parent }: Upload, existing: DropboxItem, sent: Sent): ItemOutcome {
  return isSame(existing, sent) && isAsSent(existing.name, name)
    ? { kind: "ok", item: toProviderItem(existing, parent) }
    : { kind: "conflict", existingName: existing.name };
}

function toOutcome(created: DropboxItem, sent: Sent, parent: string): ItemOutcome {
  return isSame(created, sent)
    ? { kind: "ok", item: toProviderItem(created, parent) }
    : { kind: "unknown_outcome", note: "other_bytes" };
}

function isSame(found: DropboxItem, sent: Sent): boolean {
  return (
    found.kind === "file" && found.size === sent.size && found.contentHash === sent.contentHash
  );
}

/**
 * Retries a few times until there is a response: the source cannot be read again, so a failed upload
 * is lost. Each request is idempotent.
 */
async function sendWithRetries(
  signal: AbortSignal,
  deps: UploadDeps,
  ask: () => Promise<ApiAnswer>,
): Promise<ApiAnswer> {
  for (let tries = 1; ; tries++) {
    const answer = await ask();
    if (tries === TRIES_MAX || !isPassing(answer) || signal.aborted) return answer;
    const seconds = answer.kind === "rate_limited" ? answer.retryAfterSeconds : undefined;
    await deps.sleep(
      seconds === undefined ? FIRST_WAIT_MS * 2 ** (tries - 1) : seconds * 1000,
      signal,
    );
  }
}

function isPassing(answer: ApiAnswer): answer is Failure {
  switch (answer.kind) {
    case "ok":
    case "reset":
    case "incorrect_offset":
      return false;
    default:
      return mayRetryRead(answer);
  }
}

/** A session that is not found is not a missing item. */
function toSessionFailure(failure: DropboxFailure): Failure {
  return failure.kind === "not_found"
    ? { kind: "offline", sent: true, note: "session_gone" }
    : toChangeFailure(failure);
}
