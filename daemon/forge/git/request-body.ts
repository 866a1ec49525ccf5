import { type Readable, Transform } from "node:stream";
import { createGunzip } from "node:zlib";
import type { GitProcess } from "../../../storage/git/git.ts";

export interface PipeOptions {
  /** Limit of the decompressed body. */
  readonly bytesMax: number;
  /** Called for every chunk before git receives it; the chunk waits for the returned promise. A rejection stops git. */
  readonly onBytes?: (chunk: Buffer) => Promise<unknown> | undefined;
  /** Delays the last chunk, because git carries out a push as soon as its pack is complete. */
  readonly lastChunk?: LastChunk;
}

export interface LastChunk {
  /** Called before the chunk is passed on. A rejection stops git, which then never gets the complete pack. */
  readonly confirm: () => Promise<void>;
  /** Whether the client waits for git before it ends the body, so that any chunk may be the last one. */
  readonly isOpenEnded: boolean;
}

/** Pause after which a chunk of an open-ended body may be the last one. */
const PAUSE_MS = 10;

/**
 * Pipes the body of a request into git, decompressed and with backpressure. A body that is aborted, cannot be
 * decompressed or is too long stops git. When git exits early, the rest of the body is discarded, so that the response
 * still reaches the client. Returns a function that reports whether the whole body has arrived.
 */
export function pipeBody(
  {
    body,
    contentEncoding,
  }: { readonly body: Readable; readonly contentEncoding: string | undefined },
  child: GitProcess,
  { bytesMax, onBytes, lastChunk }: PipeOptions,
): () => boolean {
  let size = 0;
  let isWhole = false;
  let held: Buffer | undefined;
  let pause: NodeJS.Timeout | undefined;
  const takeHeld = (): Buffer | undefined => {
    const chunk = held;
    held = undefined;
    return chunk;
  };
  const passOn = (chunk: Buffer): Buffer | undefined => {
    if (lastChunk === undefined) return chunk;
    const before = takeHeld();
    held = chunk;
    clearTimeout(pause);
    if (lastChunk.isOpenEnded) pause = setTimeout(release, PAUSE_MS, lastChunk, chunk);
    return before;
  };
  const release = ({ confirm }: LastChunk, chunk: Buffer) => {
    confirm().then(
      () => {
        // After a further chunk, that one is the last.
        if (held === chunk && !meter.destroyed) meter.push(takeHeld());
      },
      (error: Error) => meter.destroy(error),
    );
  };
  const meter = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.byteLength;
      if (size > bytesMax) {
        done(new Error("the body is too long"));
        return;
      }
      const waits = onBytes?.(chunk);
      if (waits === undefined) done(null, passOn(chunk));
      else
        waits.then(
          () => done(null, passOn(chunk)),
          (error: Error) => done(error),
        );
    },
    flush(done) {
      const end = () => {
        isWhole = true;
        done(null, takeHeld());
      };
      if (lastChunk === undefined) end();
      else lastChunk.confirm().then(end, (error: Error) => done(error));
    },
  });
  // Not a pipeline: that would cut the connection when git ends before it has read everything.
  if (/^(?:x-)?gzip$/.test(contentEncoding ?? "")) {
    const unpacked = createGunzip();
    unpacked.on("error", () => child.stop());
    body.pipe(unpacked).pipe(meter);
  } else body.pipe(meter);
  meter.on("error", () => child.stop());
  meter.pipe(child.stdin);
  body.on("error", () => child.stop());
  body.once("close", () => {
    if (!body.readableEnded) child.stop();
  });
  // The body may have been aborted while git was starting; no event follows then.
  if (body.destroyed && !body.readableEnded) child.stop();
  void child.ended.then(() => {
    clearTimeout(pause);
    body.unpipe();
    body.resume();
  });
  return () => isWhole;
}
