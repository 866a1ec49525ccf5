import type { FileHandle } from "node:fs/promises";

/**
 * Chunks that wait while others are being written. A fast client fills them, so that one call writes up to 512 KiB; a slow
 * one leaves none.
 */
const WAITING_MAX = 8;

/**
 * Writes chunks to an open file, one after the other, from `position` on. The caller may hash a chunk while the system writes
 * it.
 */
export function createChunkWriter(file: FileHandle, position: number) {
  let end = position;
  let waiting: Uint8Array[] = [];
  let isWriting: Promise<void> | undefined;
  let starting: NodeJS.Immediate | undefined;
  let failure: { readonly error: unknown } | undefined;

  /** Writes the waiting chunks, and those that arrive meanwhile. Never rejects: the next caller throws the failure. */
  function start(): void {
    clearImmediate(starting);
    starting = undefined;
    const chunks = waiting;
    waiting = [];
    const from = end;
    for (const { byteLength } of chunks) end += byteLength;
    isWriting = writeAll(file, chunks, from)
      .catch((error: unknown) => {
        failure ??= { error };
      })
      .then(() => {
        isWriting = undefined;
        // A client that stalls sends no chunk that would have them written.
        if (waiting.length > 0 && failure === undefined) start();
      });
  }

  function assertWritten(): void {
    if (failure !== undefined) throw failure.error;
  }

  return {
    /**
     * Appends a chunk, which the caller must not change afterwards: it may be written later. Waits while many chunks wait.
     * Rejects with the error of an earlier chunk.
     */
    async write(chunk: Uint8Array): Promise<void> {
      assertWritten();
      waiting.push(chunk);
      const isFull = waiting.length >= WAITING_MAX;
      if (isWriting === undefined) {
        // One call writes the chunks that arrive in one turn of the event loop, such as a small body.
        if (isFull) start();
        else starting ??= setImmediate(start);
      } else if (isFull) {
        await isWriting;
        assertWritten();
      }
    },

    /** Writes the chunks that wait. Rejects with the first error. */
    async flush(): Promise<void> {
      if (starting !== undefined) start();
      while (isWriting !== undefined) await isWriting;
      assertWritten();
    },
  };
}

/** Writes chunks by as few calls as possible. */
async function writeAll(
  file: FileHandle,
  chunks: readonly Uint8Array[],
  position: number,
): Promise<void> {
  let { bytesWritten: written } = await file.writev(chunks, position);
  let at = position;
  for (const chunk of chunks) {
    let done = Math.min(written, chunk.byteLength);
    written -= done;
    // A full disk takes a part of the bytes and fails with the rest.
    while (done < chunk.byteLength) {
      const left = chunk.byteLength - done;
      done += (await file.write(chunk, done, left, at + done)).bytesWritten;
    }
    at += chunk.byteLength;
  }
}
