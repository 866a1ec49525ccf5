import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { Readable } from "node:stream";

/** The first and the last byte of a part, both included. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Bytes that arrive from a storage, and their facts. */
export interface Fetched<Meta> {
  readonly kind: "ok";
  /** The cache key of exactly these bytes; undefined when they must not be kept. */
  readonly key: string | undefined;
  /** Undefined when it is not known before the end. */
  readonly size: number | undefined;
  readonly meta: Meta;
  /** Gives all bytes or is destroyed with an error. */
  readonly stream: Readable;
}

/** A transfer into a temporary file, which any number of readers follow while it grows. */
export interface Fill {
  /** All bytes have arrived. */
  readonly isComplete: boolean;
  readonly arrived: number;
  /** Resolves when all bytes are in the file, with their number and their hash as received; rejects when the transfer fails. */
  readonly finished: Promise<{ readonly size: number; readonly hash: string }>;
  /** The bytes of `span`, as they arrive. Breaks off with the error that the transfer broke off with. */
  read(span: Span | undefined): Readable;
  /** Gives up; readers break off. */
  abort(reason: Error): void;
}

/** What a transfer may ask for while it runs. */
export interface FillHelp {
  /** Nothing beyond so many bytes is written: without a length nobody knows before whether it would ever end. */
  readonly bytesMax: number;
  /** The bytes from `from` on (up to `end`), of exactly the same version; undefined when they cannot be had. */
  rest(from: number, end: number | undefined): Promise<Readable | undefined>;
  /** Frees some of the disk. */
  makeRoom(): Promise<void>;
  /** Written bytes that stay in memory for readers; fewer the more transfers there are. */
  windowBytes(): number;
  /** Bytes that may wait for the disk in memory; fewer the more transfers there are. */
  unwrittenBytes(): number;
}

/** How often a transfer that broke off is taken up again. */
export const RESUMES_MAX = 3;
/** Bytes of a read from the file by a reader that is behind. */
const READ_BYTES = 256 * 1024;

/** The cache's own disk failed, or its limit is reached: the bytes can still be had from where they came from. */
class CacheDiskError extends Error {
  constructor(cause: unknown) {
    super("the cache could not be written", { cause });
    this.name = "CacheDiskError";
  }
}

/** Whether the rest of a stream that ended with this error may be asked for: the error itself may say no. */
export function mayGoOn(error: unknown): boolean {
  return !(error instanceof Error && "mayGoOn" in error && error.mayGoOn === false);
}

interface Chunk {
  readonly start: number;
  readonly bytes: Uint8Array;
}

/**
 * Starts to write `stream` into `file`. When it breaks off, the rest is asked for. When the disk is full, room is made
 * once; when the disk fails all the same, readers get the rest from where the bytes came from.
 */
export function startFill(
  file: FileHandle,
  stream: Readable,
  size: number | undefined,
  help: FillHelp,
): Fill {
  let arrived = 0;
  let written = 0;
  let isComplete = false;
  let failure: Error | undefined;
  let source = stream;
  let waiting: (() => void)[] = [];
  let writing: Promise<void> | undefined;
  const hash = createHash("sha256");
  // In order and without gaps; what is not written yet is always among them.
  const recent: Chunk[] = [];

  function wake(): void {
    const woken = waiting;
    waiting = [];
    for (const one of woken) one();
  }

  function forgetOld(): void {
    for (let [oldest] = recent; oldest !== undefined; [oldest] = recent) {
      const end = oldest.start + oldest.bytes.byteLength;
      // Who is behind when everything has come reads the disk like everybody who comes later.
      if (end > written || (!isComplete && arrived - end < help.windowBytes())) return;
      recent.shift();
    }
  }

  /** Writes what has arrived; what arrives meanwhile goes with the next write. */
  async function writeArrived(): Promise<void> {
    let hasMadeRoom = false;
    while (written < arrived) {
      const batch = recent.filter(({ start }) => start >= written).map(({ bytes }) => bytes);
      const bytes = batch.reduce((sum, one) => sum + one.byteLength, 0);
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
    // Heard of by whoever waits for it next.
    writing.catch(() => undefined);
    return writing;
  }

  async function take(): Promise<void> {
    for await (const bytes of source as AsyncIterable<Uint8Array>) {
      if (failure !== undefined) throw failure;
      recent.push({ start: arrived, bytes });
      arrived += bytes.byteLength;
      wake();
      if (size !== undefined && arrived > size) throw new Error("more bytes than announced");
      if (arrived > help.bytesMax) throw new CacheDiskError(new Error("more than may be kept"));
      // The hash is of what arrived: a disk that stores something else is found when the file is read.
      hash.update(bytes);
      // The source is read ahead of the disk as far as memory allows.
      const underWay = keepWriting();
      if (arrived - written > help.unwrittenBytes()) await underWay;
    }
    if (size !== undefined && arrived < size) throw new Error("fewer bytes than announced");
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
          !mayGoOn(error) ||
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

  async function* follow(span: Span | undefined): AsyncGenerator<Uint8Array> {
    let position = span?.start ?? 0;
    const end = span?.end ?? Number.POSITIVE_INFINITY;
    while (position <= end) {
      const bytes = findRecent(position, end) ?? (await readWritten(position, end));
      if (bytes !== undefined) {
        position += bytes.byteLength;
        yield bytes;
        continue;
      }
      if (failure instanceof CacheDiskError) {
        const rest = await help.rest(position, span?.end);
        if (rest === undefined) throw failure;
        yield* rest as AsyncIterable<Uint8Array>;
        return;
      }
      if (failure !== undefined) throw failure;
      if (isComplete && position >= arrived) return;
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
  }

  function findRecent(position: number, end: number): Uint8Array | undefined {
    const [oldest] = recent;
    if (oldest === undefined || position < oldest.start || position >= arrived) return undefined;
    const chunk = recent.findLast(({ start }) => start <= position);
    return chunk?.bytes.subarray(position - chunk.start, end + 1 - chunk.start);
  }

  async function readWritten(position: number, end: number): Promise<Uint8Array | undefined> {
    if (position >= Math.min(written, end + 1)) return undefined;
    const chunk = Buffer.allocUnsafe(Math.min(READ_BYTES, Math.min(written, end + 1) - position));
    const { bytesRead } = await file.read(chunk, 0, chunk.length, position);
    if (bytesRead === 0) throw new CacheDiskError(new Error("the file is shorter than written"));
    return chunk.subarray(0, bytesRead);
  }

  return {
    get isComplete() {
      return isComplete;
    },
    get arrived() {
      return arrived;
    },
    finished,
    read: (span) => Readable.from(follow(span), { objectMode: false, highWaterMark: READ_BYTES }),
    abort(reason) {
      failure ??= reason;
      source.destroy(reason);
      wake();
    },
  };
}
