import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { Readable, type Writable } from "node:stream";

/** The first and the last byte of a range, both inclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Bytes that arrive from a storage, with their metadata. */
export interface Fetched<Meta> {
  readonly kind: "ok";
  /** The cache key of exactly these bytes; undefined when they must not be cached. */
  readonly key: string | undefined;
  /** Undefined when the size is unknown until the end. */
  readonly size: number | undefined;
  readonly meta: Meta;
  /** Yields all bytes or is destroyed with an error. */
  readonly stream: Readable;
  /** Writes the same bytes to a stream instead, without ending it; `stream` is destroyed afterwards. */
  readonly send?: ((to: Writable) => Promise<void>) | undefined;
}

/** A download into a temporary file, which any number of readers follow while it grows. */
export type Fill = ReturnType<typeof startFill>;

/** Limits and collaborators of a transfer. */
export interface FillHelp {
  /** Maximum number of bytes to write, because a source without a length may never end. */
  readonly bytesMax: number;
  /** Fetches the bytes from `from` on (up to `end`) of exactly the same version; undefined when that is impossible. */
  rest(from: number, end: number | undefined): Promise<Readable | undefined>;
  /** Frees disk space. */
  makeRoom(): Promise<void>;
  /** Written bytes that stay in memory for readers; the more transfers run, the fewer. */
  windowBytes(): number;
  /** Bytes that may wait in memory for the disk; the more transfers run, the fewer. */
  unwrittenBytes(): number;
}

/** Maximum number of times that an aborted transfer is resumed. */
export const RESUMES_MAX = 3;
/** Read size for a reader that lags behind and reads from the file. */
const READ_BYTES = 256 * 1024;

/** The cache's own disk failed or its limit is reached: the bytes are still available from their source. */
class CacheDiskError extends Error {
  constructor(cause: unknown) {
    super("the cache could not be written", { cause });
    this.name = "CacheDiskError";
  }
}

/** Returns whether a stream that ended with this error may be resumed; some errors forbid it. */
export function isResumable(error: unknown): boolean {
  return !(error instanceof Error && "isResumable" in error && error.isResumable === false);
}

interface Chunk {
  readonly start: number;
  readonly bytes: Uint8Array;
}

/**
 * Starts to write `stream` into `file`. Resumes the transfer when the stream is aborted. Frees disk space once when the disk
 * is full; if the disk fails again, readers get the rest from the source.
 */
export function startFill(
  file: FileHandle,
  stream: Readable,
  size: number | undefined,
  help: FillHelp,
) {
  let arrived = 0;
  let written = 0;
  let isComplete = false;
  let failure: Error | undefined;
  let source = stream;
  let waiting: (() => void)[] = [];
  let writing: Promise<void> | undefined;
  const hash = createHash("sha256");
  // Contiguous and in order; bytes that are not written yet are always among them.
  const recent: Chunk[] = [];

  function wake(): void {
    const woken = waiting;
    waiting = [];
    for (const wakeReader of woken) wakeReader();
  }

  function forgetOld(): void {
    for (let [oldest] = recent; oldest !== undefined; [oldest] = recent) {
      const end = oldest.start + oldest.bytes.byteLength;
      // A reader that lags behind a complete transfer reads from disk, like every later reader.
      if (end > written || (!isComplete && arrived - end < help.windowBytes())) return;
      recent.shift();
    }
  }

  /** Writes the bytes that have arrived; bytes that arrive during the write go with the next one. */
  async function writeArrived(): Promise<void> {
    let hasMadeRoom = false;
    while (written < arrived) {
      const batch = recent.filter(({ start }) => start >= written).map(({ bytes }) => bytes);
      const bytes = batch.reduce((sum, piece) => sum + piece.byteLength, 0);
      try {
        const { bytesWritten } = await file.writev(batch, written);
        if (bytesWritten !== bytes) throw new Error("a write was cut short");
        written += bytes;
        forgetOld();
      } catch (error) {
        if (hasMadeRoom) throw new CacheDiskError(error);
        hasMadeRoom = true;
        await help.makeRoom();
      }
    }
  }

  function keepWriting(): Promise<void> {
    writing ??= writeArrived().finally(() => {
      writing = undefined;
    });
    // The next caller that awaits the promise gets the error.
    writing.catch(() => undefined);
    return writing;
  }

  async function take(): Promise<void> {
    for await (const bytes of source as AsyncIterable<Uint8Array>) {
      if (failure !== undefined) throw failure;
      recent.push({ start: arrived, bytes });
      arrived += bytes.byteLength;
      wake();
      if (size !== undefined && arrived > size)
        throw new Error("the source sent more bytes than announced");
      if (arrived > help.bytesMax)
        throw new CacheDiskError(new Error("the file exceeds the cache limit"));
      // The hash covers the received bytes: verification on read finds a disk that stored something else.
      hash.update(bytes);
      // Reads ahead of the disk as far as memory allows.
      const underWay = keepWriting();
      if (arrived - written > help.unwrittenBytes()) await underWay;
    }
    if (size !== undefined && arrived < size)
      throw new Error("the source sent fewer bytes than announced");
  }

  async function run(): Promise<{ size: number; hash: string }> {
    for (let resumes = 0; ; resumes++) {
      try {
        await take();
        isComplete = true;
        wake();
        while (written < arrived) await keepWriting();
        forgetOld();
        return { size: arrived, hash: hash.digest("hex") };
      } catch (error) {
        const isFinal = failure !== undefined || error instanceof CacheDiskError || isComplete;
        if (
          isFinal ||
          !isResumable(error) ||
          resumes >= RESUMES_MAX ||
          (size !== undefined && arrived > size)
        )
          throw error;
        const rest = await help.rest(arrived, undefined);
        if (rest === undefined) throw error;
        source = rest;
      }
    }
  }

  const finished = run().catch((error: unknown) => {
    failure ??= error instanceof Error ? error : new Error(String(error));
    source.destroy();
    wake();
    throw failure;
  });

  /**
   * Yields the bytes of `span` in batches of contiguous pieces until the reader has left. A reader that leaves must
   * call `wake`.
   */
  async function* follow(
    span: Span | undefined,
    hasLeft: () => boolean = () => false,
  ): AsyncGenerator<readonly Uint8Array[]> {
    let position = span?.start ?? 0;
    const end = span?.end ?? Number.POSITIVE_INFINITY;
    while (position <= end && !hasLeft()) {
      // Await nothing between the last check and the wait below: bytes that arrive in between would not wake the
      // reader.
      const batch =
        findRecent(position, end) ??
        (position < written ? await readWritten(position, end) : undefined);
      if (batch !== undefined) {
        for (const bytes of batch) position += bytes.byteLength;
        yield batch;
        continue;
      }
      if (failure instanceof CacheDiskError) {
        const rest = await help.rest(position, span?.end);
        if (rest === undefined) throw failure;
        for await (const bytes of rest as AsyncIterable<Uint8Array>) yield [bytes];
        return;
      }
      if (failure !== undefined) throw failure;
      if (isComplete && position >= arrived) return;
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
  }

  function findRecent(position: number, end: number): Uint8Array[] | undefined {
    const [oldest] = recent;
    if (oldest === undefined || position < oldest.start || position >= arrived) return undefined;
    const batch: Uint8Array[] = [];
    let bytes = 0;
    for (
      let at = recent.findLastIndex(({ start }) => start <= position);
      bytes < READ_BYTES;
      at++
    ) {
      const chunk = recent[at];
      if (chunk === undefined || chunk.start > end) break;
      const from = Math.max(0, position - chunk.start);
      const piece = chunk.bytes.subarray(from, end + 1 - chunk.start);
      batch.push(piece);
      bytes += piece.byteLength;
    }
    return batch;
  }

  async function readWritten(position: number, end: number): Promise<Uint8Array[]> {
    const chunk = Buffer.allocUnsafe(Math.min(READ_BYTES, Math.min(written, end + 1) - position));
    const { bytesRead } = await file.read(chunk, 0, chunk.length, position);
    if (bytesRead === 0) throw new CacheDiskError(new Error("the file is shorter than written"));
    return [chunk.subarray(0, bytesRead)];
  }

  async function* pieces(span: Span | undefined): AsyncGenerator<Uint8Array> {
    for await (const batch of follow(span)) yield* batch;
  }

  async function send(span: Span | undefined, to: Writable): Promise<void> {
    let isClosed = to.destroyed;
    let goOn = () => {};
    const onDrain = () => goOn();
    const onClose = () => {
      isClosed = true;
      goOn();
      wake();
    };
    to.on("drain", onDrain).once("close", onClose).once("error", onClose);
    try {
      for await (const batch of follow(span, () => isClosed)) {
        let hasRoom = true;
        // One system call for the batch.
        to.cork();
        for (const bytes of batch) hasRoom = to.write(bytes);
        to.uncork();
        if (!hasRoom && !isClosed)
          await new Promise<void>((resolve) => {
            goOn = resolve;
          });
      }
      if (isClosed) throw new Error("the stream closed before its end");
    } finally {
      to.off("drain", onDrain).off("close", onClose).off("error", onClose);
    }
  }

  return {
    /** Whether all bytes have arrived. */
    get isComplete() {
      return isComplete;
    },
    get arrived() {
      return arrived;
    },
    /** Resolves with the number and the hash of the received bytes when all are in the file; rejects when the transfer fails. */
    finished,
    /** Streams the bytes of `span` as they arrive. Fails with the error of the transfer. */
    read: (span: Span | undefined): Readable =>
      Readable.from(pieces(span), { objectMode: false, highWaterMark: READ_BYTES }),
    /** Writes the same bytes to a stream, several pieces at once and without ending it; rejects when it closes early. */
    send,
    /** Aborts the transfer; the streams of its readers fail. */
    abort(reason: Error): void {
      failure ??= reason;
      source.destroy(reason);
      wake();
    },
  };
}
