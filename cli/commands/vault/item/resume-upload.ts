import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { Readable } from "node:stream";
import { vault } from "../../../client/operations.ts";
import { parseJson } from "../../../support/json.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, toCliError } from "../../../errors.ts";
import { toSizeText } from "../../../output/cells.ts";
import type { FileUpload, Uploaded } from "./send-file.ts";
import type { TransferProgress } from "./transfer.ts";

/**
 * Maximum number of consecutive attempts without progress. With the pauses between them, a daemon has time to restart.
 */
const FAILED_ATTEMPTS_MAX = 30;
const PAUSE_MS = 1_000;
const READ_BYTES = 512 * 1024;

/** Files from this size on are sent so that they can be resumed: the daemon then keeps a second copy until they are complete. */
export const RESUMED_BYTES_MIN = 256 * 1024 * 1024;

/** Returns whether a file is large enough for a resumable upload. */
export async function isResumed(cli: CliContext, source: string): Promise<boolean> {
  if (source === "-") return false;
  const found = await stat(resolve(cli.system.workingDirectory, source)).catch(() => undefined);
  return found?.isFile() === true && found.size >= RESUMED_BYTES_MIN;
}

/** The requests of an upload in parts. */
interface PartRequests<T> {
  /** Returns the open upload of the file, or begins one. */
  begin(file: { readonly size: number; readonly fingerprint: string }): Promise<unknown>;
  append(id: string, part: Parameters<CliContext["client"]["exchange"]>[2]): Promise<Readable>;
  complete(id: string, sha256: string): Promise<T>;
}

/** Uploads a large file to connected storage, see `sendInParts`. Never overwrites. */
export function uploadResumably(
  cli: CliContext,
  { source, folder, filename }: FileUpload,
  progress: TransferProgress,
): Promise<Uploaded> {
  const params = { connection_id: folder.connectionId };
  const requests: PartRequests<Uploaded> = {
    begin: async (file) => {
      const body = {
        parent_ref: folder.id,
        name: filename,
        content_type: "application/octet-stream",
        ...file,
      };
      return (await cli.client.call(vault.beginUpload, { params, body })).body;
    },
    append: async (id, part) => {
      const to = { params: { ...params, upload_id: id } };
      return (await cli.client.exchange(vault.appendUpload, to, part)).stream;
    },
    complete: async (id, sha256) => {
      const to = { params: { ...params, upload_id: id }, body: { sha256 } };
      const { body } = await cli.client.call(vault.completeUpload, to);
      return body.kind === "uploaded" ? body : throwUnexpected();
    },
  };
  return sendInParts(cli, { source, filename }, requests, progress);
}

/** Uploads a large file as a document, see `sendInParts`. */
export function uploadDocumentResumably(
  cli: CliContext,
  file: { readonly source: string; readonly filename: string },
  progress: TransferProgress,
) {
  return sendInParts(
    cli,
    file,
    {
      begin: async (described) => {
        const body = {
          filename: file.filename,
          content_type: "application/octet-stream",
          ...described,
        };
        return (await cli.client.call(vault.beginDocumentUpload, { body })).body;
      },
      append: async (id, part) => {
        const to = { params: { upload_id: id } };
        return (await cli.client.exchange(vault.appendDocumentUpload, to, part)).stream;
      },
      complete: async (id, sha256) => {
        const to = { params: { upload_id: id }, body: { sha256 } };
        return (await cli.client.call(vault.completeDocumentUpload, to)).body;
      },
    },
    progress,
  );
}

/**
 * Uploads a large file in parts that the daemon keeps: after a connection closes early the upload is resumed, and so is
 * an upload of the same file by an earlier run. Compares the hash at the end.
 */
async function sendInParts<T>(
  cli: CliContext,
  { source, filename }: { readonly source: string; readonly filename: string },
  requests: PartRequests<T>,
  progress: TransferProgress,
): Promise<T> {
  const path = resolve(cli.system.workingDirectory, source);
  const { size, mtimeMs, ino } = await stat(path);
  progress.begin(size);
  const hashing = createPrefixHash(path, source);
  const fingerprint = createHash("sha256")
    .update(JSON.stringify([path, size, mtimeMs, ino]))
    .digest("hex");

  let failed = 0;
  let furthest = -1;
  let isNoted = false;
  /** The upload whose completion was requested but not yet answered. */
  let unanswered: string | undefined;
  for (;;) {
    try {
      const answered = unanswered === undefined ? undefined : await completeAgain(unanswered);
      if (answered !== undefined) return answered;
      unanswered = undefined;
      const { id, offset } = toBegun(await requests.begin({ size, fingerprint }));
      if (offset > 0 && !isNoted) {
        cli.io.note(`Resuming ${filename} at ${toSizeText(offset)} of ${toSizeText(size)}.`);
        isNoted = true;
      }
      if (offset > furthest) failed = 0;
      furthest = Math.max(furthest, offset);
      await hashing.advanceTo(offset);
      progress.update(offset);
      if (offset < size) await append(id, offset);
      const sha256 = await hashing.digest(size);
      unanswered = id;
      return await requests.complete(id, sha256);
    } catch (error) {
      cli.signal.throwIfAborted();
      failed += 1;
      if (!mayResume(error) || failed >= FAILED_ATTEMPTS_MAX) throw error;
      await cli.system.sleep(PAUSE_MS, cli.signal);
    }
  }

  /**
   * Requests the result of an upload whose response was lost; undefined when the daemon does not know the upload any
   * more.
   */
  async function completeAgain(id: string): Promise<T | undefined> {
    try {
      return await requests.complete(id, await hashing.digest(size));
    } catch (error) {
      if (toCliError(error).code === "not_found") return undefined;
      throw error;
    }
  }

  async function append(id: string, offset: number): Promise<void> {
    let sent = offset;
    const stream = await requests.append(id, {
      contentType: "application/octet-stream",
      headers: { "Upload-Offset": String(offset), "Content-Length": String(size - offset) },
      body: () => {
        sent = offset;
        const bytes = Readable.from(readFrom(path, source, offset, size), { objectMode: false });
        bytes.on("data", (chunk: Uint8Array) => progress.update((sent += chunk.byteLength)));
        return bytes.pause();
      },
    });
    const body = parseJson(Buffer.concat((await Array.fromAsync(stream)) as Buffer[]));
    if ((body as { readonly offset?: unknown } | undefined)?.offset !== size) throwUnexpected();
  }
}

function toBegun(body: unknown): { readonly id: string; readonly offset: number } {
  const { upload_id: id, offset } = body as { upload_id?: string; offset?: number };
  return id === undefined || offset === undefined ? throwUnexpected() : { id, offset };
}

function throwUnexpected(): never {
  throw new CliError("unexpected_answer", "the daemon sent an unexpected response");
}

/** Statuses by which a proxy says that the daemon behind it went away. */
const UNREACHED: readonly (number | undefined)[] = [502, 503, 504];

/** A lost connection, or a part that does not begin at the daemon's offset: the next attempt requests the offset. */
function mayResume(error: unknown): boolean {
  const { code, details } = toCliError(error);
  // All responses of the daemon itself have an id.
  const isOfProxy = UNREACHED.includes(details.httpStatus) && details.requestId === undefined;
  return code === "daemon_unreachable" || isOfProxy || details.reason === "offset_mismatch";
}

async function* readFrom(
  path: string,
  source: string,
  start: number,
  size: number,
): AsyncGenerator<Uint8Array> {
  let at = start;
  for await (const chunk of createReadStream(path, {
    start,
    end: size - 1,
    highWaterMark: READ_BYTES,
  })) {
    at += (chunk as Uint8Array).byteLength;
    yield chunk as Uint8Array;
  }
  if (at < size) throw new CliError("file_error", `${source} became shorter while it was read`);
}

/** Hashes growing prefixes of a file and reads each byte once. */
function createPrefixHash(path: string, source: string) {
  const hash: Hash = createHash("sha256");
  let at = 0;
  async function advanceTo(end: number): Promise<void> {
    if (end <= at) return;
    const start = at;
    for await (const chunk of readFrom(path, source, start, end)) hash.update(chunk);
    at = end;
  }
  return {
    advanceTo,
    async digest(size: number): Promise<string> {
      await advanceTo(size);
      return hash.copy().digest("hex");
    },
  };
}
