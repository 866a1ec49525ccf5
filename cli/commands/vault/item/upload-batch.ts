import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { Readable } from "node:stream";
import { vault } from "../../../client/operations.ts";
import type { CliContext } from "../../../context.ts";
import { CliError, toCliError } from "../../../errors.ts";
import type { WireItem } from "../../../support/items.ts";
import { type BatchLine, readBatchLines, toLineFailure } from "./batch-lines.ts";
import type { FileUpload, Uploaded } from "./send-file.ts";
import type { Retries, TransferProgress } from "./transfer.ts";

/**
 * Files up to this size, in bytes, go in batches: larger ones gain nothing from batches, and are better retried alone.
 */
export const SMALL_UPLOAD_BYTES_MAX = 1024 * 1024;

/** Bounds of one request, within those of the daemon. */
const FILES_MAX = 1_000;
const BYTES_MAX = 512 * 1024 * 1024;

/** How long a request stays open for the next file. The daemon aborts a body without progress for a minute. */
const IDLE_MS = 2_000;

/** A small file that goes in a batch. */
export interface BatchedFile {
  /** The id of its folder; in a batch of replacements the id of the replaced file. */
  readonly field: string;
  /** Its name; in a batch of replacements the percent-encoded etag of the replaced version, or `*`. */
  readonly filename: string;
  /** Reads the whole file. */
  read(): Promise<Uint8Array>;
}

/** Uploads small files, many in one request. */
export type UploadBatches = ReturnType<typeof createUploadBatches>;

interface Entry {
  readonly file: BatchedFile;
  readonly progress: TransferProgress;
  readonly done: PromiseWithResolvers<Uploaded>;
  isDone: boolean;
}

/** One attempt to send the form; a refusal causes another one. */
interface Attempt {
  /** In the order of the form. */
  readonly sent: Entry[];
  isOver: boolean;
}

/**
 * Creates the batches of one connection. One request is open at a time. It takes files as they arrive, and the daemon
 * reports each result at once, so memory is bounded for any number of files.
 */
export function createUploadBatches(
  cli: CliContext,
  connectionId: string,
  { repeat }: Pick<Retries, "repeat">,
  operation: typeof vault.uploadBatch | typeof vault.replaceBatch = vault.uploadBatch,
) {
  const queue: Entry[] = [];
  let isRunning = false;
  let isFlushed = false;
  let wake: (() => void) | undefined;

  return {
    /** Uploads one file. Rejects with the failure of this file alone. A file that cannot be read is not sent. */
    upload: (file: BatchedFile, progress: TransferProgress): Promise<Uploaded> =>
      repeat(connectionId, () => enqueue(file, progress)),
    /** Ends the open request after the waiting files, because no further files follow for now. */
    flush() {
      isFlushed = true;
      wake?.();
    },
  };

  function enqueue(file: BatchedFile, progress: TransferProgress): Promise<Uploaded> {
    const done = Promise.withResolvers<Uploaded>();
    queue.push({ file, progress, done, isDone: false });
    wake?.();
    if (!isRunning) run().catch(done.reject);
    return done.promise;
  }

  async function run(): Promise<void> {
    isRunning = true;
    while (queue.length > 0) await sendBatch();
    isRunning = false;
  }

  async function sendBatch(): Promise<void> {
    const taken: Entry[] = [];
    let attempt: Attempt = { sent: [], isOver: false };
    const boundary = Buffer.from(cli.system.random(16)).toString("hex");
    let failure: CliError | undefined;
    try {
      const answer = await cli.client.exchange(
        operation,
        { params: { connection_id: connectionId } },
        {
          contentType: `multipart/form-data; boundary=${boundary}`,
          body: () => {
            attempt.isOver = true;
            wake?.();
            attempt = { sent: [], isOver: false };
            return Readable.from(toForm(boundary, taken, attempt), { objectMode: false });
          },
        },
      );
      for await (const line of readBatchLines<Line>(answer.stream)) {
        const entry = attempt.sent[line.index ?? -1];
        if (entry === undefined) failure ??= toLineFailure(line);
        else settle(entry, line);
      }
    } catch (error) {
      failure ??= cli.signal.aborted ? toCliError(cli.signal.reason) : toCliError(error);
    }
    attempt.isOver = true;
    for (const entry of taken) if (!entry.isDone) reject(entry, failure ?? toUnknownOutcome());
  }

  async function* toForm(
    boundary: string,
    taken: Entry[],
    attempt: Attempt,
  ): AsyncGenerator<Uint8Array> {
    yield Buffer.from(`--${boundary}`);
    const before = taken.filter(({ isDone }) => !isDone);
    let bytes = 0;
    for (let count = 0; count < FILES_MAX && bytes < BYTES_MAX; count++) {
      const again = before.shift();
      const entry = again ?? (await take(attempt));
      if (entry === undefined) break;
      if (again === undefined) taken.push(entry);
      const content = await entry.file.read().catch((error: unknown) => {
        reject(entry, toCliError(error));
      });
      if (content === undefined) continue;
      bytes += content.byteLength;
      attempt.sent.push(entry);
      entry.progress.begin(content.byteLength);
      // The delimiter after the bytes tells the daemon that the file is complete.
      yield Buffer.concat([
        Buffer.from(toHead(entry.file)),
        content,
        Buffer.from(`\r\n--${boundary}`),
      ]);
      entry.progress.update(content.byteLength);
    }
    yield Buffer.from("--\r\n");
  }

  /** Returns the next file, or undefined when no file arrives for a while. */
  async function take(attempt: Attempt): Promise<Entry | undefined> {
    if (queue.length === 0 && !isFlushed) {
      const idle = new AbortController();
      await Promise.race([
        new Promise<void>((resolve) => (wake = resolve)),
        cli.system
          .sleep(IDLE_MS, AbortSignal.any([idle.signal, cli.signal]))
          .catch(() => undefined),
      ]);
      wake = undefined;
      idle.abort();
    }
    return attempt.isOver ? undefined : queue.shift();
  }
}

interface Line extends BatchLine {
  readonly index: number | null;
  readonly filename?: string | null;
}

function settle(entry: Entry, line: Line): void {
  const failure = toLineFailure(line);
  if (failure !== undefined) return reject(entry, failure);
  entry.isDone = true;
  const { index: _index, filename: _filename, status: _status, ...uploaded } = line;
  entry.done.resolve(uploaded as unknown as Uploaded);
}

function reject(entry: Entry, error: CliError): void {
  entry.isDone = true;
  entry.done.reject(error);
}

function toUnknownOutcome(): CliError {
  return new CliError("provider_failed", "the daemon did not report the outcome of this file", {
    service: "vault",
    hint: "repeat the upload with --skip-existing",
  });
}

/** The headers of a part. Quotes and backslashes are escaped, so that no name can end early or add a header. */
function toHead({ field, filename }: BatchedFile): string {
  return `\r\nContent-Disposition: form-data; name=${quote(field)}; filename=${quote(filename)}\r\nContent-Type: application/octet-stream\r\n\r\n`;
}

function quote(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** Returns whether a file's names are allowed in the headers of a part. */
export function fitsIntoHead({ field, filename }: Omit<BatchedFile, "read">): boolean {
  return !/[\r\n\0]/.test(field + filename);
}

/** The entry of a batch for a new file. */
export function toNewFile(
  { folder, filename }: Pick<FileUpload, "folder" | "filename">,
  read: () => Promise<Uint8Array>,
): BatchedFile {
  return { field: folder.id, filename, read };
}

/** The entry of a batch for new bytes of a file, if it still is the version of `item`. */
export function toReplacement(
  item: Pick<WireItem, "provider_item_id" | "etag">,
  read: () => Promise<Uint8Array>,
): BatchedFile {
  // A storage without etags cannot compare.
  const filename = item.etag === null ? "*" : encodeURIComponent(item.etag);
  return { field: item.provider_item_id, filename, read };
}

/** Reads a small file whole, up to its size when it was opened, even if it grows meanwhile. */
export async function readSmall(cli: CliContext, source: string): Promise<Buffer> {
  const file = await open(resolve(cli.system.workingDirectory, source)).catch((error: unknown) => {
    throw new CliError("file_error", `${source}: ${(error as Error).message}`, { cause: error });
  });
  try {
    const { size } = await file.stat();
    const buffer = Buffer.alloc(size);
    for (let at = 0; at < size;) {
      const { bytesRead } = await file.read(buffer, at, size - at, at);
      if (bytesRead === 0)
        throw new CliError("file_error", `${source} became shorter while it was read`);
      at += bytesRead;
    }
    return buffer;
  } finally {
    await file.close();
  }
}
