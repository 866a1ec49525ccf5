import type { FileHandle } from "node:fs/promises";
import type { Writable } from "node:stream";

/** A part of a file, both ends included. */
interface Span {
  readonly start: number;
  readonly end: number;
}

export type BufferPool = ReturnType<typeof createBufferPool>;

/** Large buffers save system calls. Only this many are in use at once; */
const LARGE_BYTES = 512 * 1024;
const LARGE_MAX = 32;
/** further transfers get small ones, so that many clients do not fill the memory. */
const SMALL_BYTES = 64 * 1024;
/** Idle buffers kept of each size: all large ones. Those that are dropped and allocated again wait for the garbage collector. */
const IDLE_MAX = LARGE_MAX;
/** Buffers of one transfer: one is read while the other is sent to the client. */
const PER_TRANSFER = 2;

/**
 * A pool of reusable buffers. A stream that allocates each chunk is about four times slower: 0.26 to 0.40 of nginx's speed for
 * 512 MiB and 0.48 to 0.69 for 10 MiB, against 1.5 to 1.7 and 1.7 to 1.8 with this pool.
 */
export function createBufferPool() {
  const large: Buffer[] = [];
  const small: Buffer[] = [];
  let largeTaken = 0;
  return {
    take(): Buffer {
      if (largeTaken >= LARGE_MAX) return small.pop() ?? Buffer.allocUnsafeSlow(SMALL_BYTES);
      largeTaken += 1;
      return large.pop() ?? Buffer.allocUnsafeSlow(LARGE_BYTES);
    },
    /** @param isFree false when a stream may still read the buffer, which is then not reused */
    give(buffer: Buffer, isFree: boolean): void {
      const isLarge = buffer.length === LARGE_BYTES;
      if (isLarge) largeTaken -= 1;
      const idle = isLarge ? large : small;
      if (isFree && idle.length < IDLE_MAX) idle.push(buffer);
    },
  };
}

/** The buffers of all files that this process sends: 16 MiB of large ones. */
export const sharedBuffers = createBufferPool();

/** Called with each chunk before it is written. If it throws, the chunk is not written and the pump rejects. */
export type CheckChunk = (chunk: Uint8Array, isLast: boolean) => Promise<void> | void;

/**
 * Writes a chunk to a stream, without ending it. Resolves when the stream has flushed it; rejects when it closes early: a
 * response whose connection is gone never calls back.
 */
export async function writeFlushed(to: Writable, chunk: Uint8Array): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onClose = () => reject(closedEarly());
  to.once("close", onClose).once("error", reject);
  try {
    if (to.destroyed) onClose();
    else to.write(chunk, (error) => (error ? reject(error) : resolve()));
    await promise;
  } finally {
    to.off("close", onClose).off("error", reject);
  }
}

const closedEarly = () => new Error("the stream closed before its end");

/**
 * Writes the bytes of `span` of an open file to a stream, without ending it. Resolves when the stream has flushed all of
 * them; rejects when it closes early or the file has become shorter.
 */
export async function pump(
  handle: FileHandle,
  span: Span,
  to: Writable,
  pool: BufferPool,
  check?: CheckChunk,
): Promise<void> {
  const buffers = Array.from({ length: PER_TRANSFER }, () => pool.take());
  const free = [...buffers];
  let underWay = 0;
  let failure: Error | undefined;
  let wake: (() => void) | undefined;

  const fail = (error: Error) => {
    failure ??= error;
    wake?.();
  };
  const onClose = () => fail(closedEarly());
  to.once("close", onClose);
  to.once("error", fail);

  /** Waits until one buffer is free, or all are. */
  async function wait(isEnough: () => boolean): Promise<void> {
    while (failure === undefined && !isEnough()) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    if (failure !== undefined) throw failure;
  }

  function write(buffer: Buffer, length: number): void {
    underWay += 1;
    to.write(buffer.subarray(0, length), (error) => {
      underWay -= 1;
      // The system has the bytes: the buffer may be reused.
      free.push(buffer);
      if (error) fail(error);
      else wake?.();
    });
  }

  try {
    if (to.destroyed) throw new Error("the stream is closed");
    for (let position = span.start; position <= span.end;) {
      await wait(() => free.length > 0);
      const buffer = free.pop();
      if (buffer === undefined) continue;
      const length = Math.min(buffer.length, span.end + 1 - position);
      const { bytesRead } = await handle.read(buffer, 0, length, position);
      if (bytesRead === 0) throw new Error("the file is shorter than it was");
      position += bytesRead;
      await check?.(buffer.subarray(0, bytesRead), position > span.end);
      write(buffer, bytesRead);
    }
    await wait(() => underWay === 0);
  } finally {
    to.off("close", onClose);
    to.off("error", fail);
    // A failed stream may still read its buffer, so that buffer is not reused.
    for (const buffer of buffers) pool.give(buffer, free.includes(buffer));
  }
}
