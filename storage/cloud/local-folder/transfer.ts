import { constants, type BigIntStats } from "node:fs";
import { copyFile, open, unlink, type FileHandle } from "node:fs/promises";
import { Readable, type Writable } from "node:stream";
import { pump, sharedBuffers, writeFlushed } from "../../pump.ts";
import { createOwner } from "../../owner.ts";
import { StreamAborted, type Failure } from "../outcomes.ts";
import type { Folder } from "./anchor.ts";
import { errnoOf, toReadFailure, unless } from "./errno.ts";
import { publish, publishByClaim, type Place } from "./relocate.ts";
import { hasSameBytes } from "./versions.ts";

const READ_BYTES = 256 * 1024;

/** A file opened for reading. */
export interface Opened {
  readonly handle: FileHandle;
  readonly stats: BigIntStats;
}

/** Opens a file without following a link and without blocking on a pipe. Undefined when the entry has no bytes. */
export async function openForReading(place: Place): Promise<Opened | undefined> {
  await place.folder.verify();
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  // Opening a link fails with ELOOP, a socket with ENXIO.
  await using owner = createOwner();
  const opened = await unless(["ELOOP", "ENXIO"], open(place.folder.at(place.name), flags));
  if (!opened.ok) return undefined;
  const handle = owner.own(opened.value);
  const stats = await handle.stat({ bigint: true });
  return stats.isFile() ? { handle: owner.handOver(handle), stats } : undefined;
}

/**
 * Streams the bytes of `range`. Checks the file again before the last bytes: if it changed meanwhile, the stream fails
 * instead of returning a mixture of two versions. Always closes the file.
 */
export function streamOf(
  { handle, stats }: Opened,
  range: { readonly start: number; readonly end: number },
  signal: AbortSignal,
): Readable {
  let position = range.start;
  const readNext = async (): Promise<Buffer | null> => {
    const remaining = range.end + 1 - position;
    if (remaining <= 0) return null;
    const chunk = Buffer.allocUnsafe(Math.min(remaining, READ_BYTES));
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, position);
    position += bytesRead;
    const atEnd = position > range.end || bytesRead === 0;
    if (atEnd && !hasSameBytes(stats, await handle.stat({ bigint: true })))
      throw new StreamAborted({ kind: "changed" });
    if (bytesRead === 0) throw new StreamAborted({ kind: "changed", note: "short" });
    return chunk.subarray(0, bytesRead);
  };
  const stream = new Readable({
    highWaterMark: READ_BYTES,
    read() {
      readNext().then(
        (chunk) => stream.push(chunk),
        (error: unknown) => stream.destroy(toStreamAborted(error)),
      );
    },
    destroy(error, done) {
      signal.removeEventListener("abort", abort);
      handle.close().then(
        () => done(error),
        (closing: unknown) => done(error ?? toStreamAborted(closing)),
      );
    },
  });
  // The caller may await other work before it reads; an abort meanwhile must not end the process.
  stream.on("error", () => undefined);
  const abort = () =>
    stream.destroy(new StreamAborted({ kind: "offline", sent: false, note: "aborted" }));
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  return stream;
}

/** Writes the bytes of `range` to `to`, with the same check as `streamOf`. The caller closes the file. */
export async function sendTo(
  { handle, stats }: Opened,
  range: { readonly start: number; readonly end: number },
  to: Writable,
): Promise<void> {
  const lastStart = Math.max(range.start, range.end + 1 - READ_BYTES);
  await pump(handle, { start: range.start, end: lastStart - 1 }, to, sharedBuffers);
  const last = Buffer.allocUnsafe(range.end + 1 - lastStart);
  let filled = 0;
  while (filled < last.length) {
    const { bytesRead } = await handle.read(last, filled, last.length - filled, lastStart + filled);
    if (bytesRead === 0) throw new StreamAborted({ kind: "changed", note: "short" });
    filled += bytesRead;
  }
  if (!hasSameBytes(stats, await handle.stat({ bigint: true })))
    throw new StreamAborted({ kind: "changed" });
  await writeFlushed(to, last);
}

/** The source failed, or its length differs from the declared one. Rethrown unchanged; no file is left. */
class SourceFailed extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "SourceFailed";
  }
}

/**
 * Writes a stream to a new file in `tmp`, durably, and returns its path. A failure leaves no file. Throws errors of the
 * source.
 */
export async function writeTemporary(
  upload: {
    readonly content: Readable;
    readonly size: number | undefined;
    readonly signal: AbortSignal;
  },
  tmp: Folder,
  temporaryName: string,
): Promise<string> {
  const path = tmp.at(temporaryName);
  const handle = await open(path, "wx", 0o666);
  try {
    try {
      await writeAll(handle, upload.content, upload.size, upload.signal);
      await handle.sync();
    } finally {
      await handle.close();
    }
    return path;
  } catch (error) {
    await unless(["ENOENT"], unlink(path));
    throw error;
  } finally {
    upload.content.destroy();
  }
}

async function writeAll(
  handle: FileHandle,
  content: Readable,
  size: number | undefined,
  signal: AbortSignal,
): Promise<void> {
  let written = 0;
  for await (const chunk of content as AsyncIterable<Uint8Array>) {
    signal.throwIfAborted();
    let offset = 0;
    while (offset < chunk.byteLength) {
      const { bytesWritten } = await handle.write(chunk, offset, chunk.byteLength - offset, null);
      offset += bytesWritten;
    }
    written += chunk.byteLength;
    if (size !== undefined && written > size) throw new SourceFailed("longer than declared");
  }
  signal.throwIfAborted();
  if (size !== undefined && written !== size) throw new SourceFailed("shorter than declared");
}

/** Publishes a finished file under a free name, also on another file system below the root. */
export async function publishAnywhere(
  path: string,
  to: Place,
  temporaryName: string,
): Promise<{ readonly kind: "ok" } | Failure> {
  await to.folder.verify();
  try {
    const published = await publish(path, to);
    return published === "no_links" ? await publishByClaim(path, to) : published;
  } catch (error) {
    if (errnoOf(error) !== "EXDEV") throw error;
  }
  // Another file system is mounted below the root: the bytes must be copied there completely first.
  const near = to.folder.at(`.croft-${temporaryName}`);
  try {
    await copyFile(path, near, constants.COPYFILE_EXCL);
    const copy = await open(near, "r+");
    try {
      await copy.sync();
    } finally {
      await copy.close();
    }
    const published = await publish(near, to);
    return published === "no_links" ? await publishByClaim(near, to) : published;
  } finally {
    await unless(["ENOENT"], unlink(near));
  }
}

function toStreamAborted(error: unknown): Error {
  if (error instanceof StreamAborted) return error;
  if (errnoOf(error) === undefined)
    return error instanceof Error ? error : new Error(String(error));
  return new StreamAborted(toReadFailure(error), error);
}
