import { type Readable, Transform } from "node:stream";
import { createGunzip } from "node:zlib";
import type { GitProcess } from "../../../storage/git/git.ts";

export interface FeedOptions {
  /** Most bytes, after they were unpacked. */
  readonly bytesMax: number;
  /** Sees every byte on its way, which goes on when what it returns is done; if that fails, the body ends git. */
  readonly onBytes?: (chunk: Buffer) => Promise<unknown> | undefined;
}

/**
 * Sends the body of a request into git, unpacked and no faster than git reads. A body that breaks off, does not unpack
 * or is too long ends git; a git that ends early leaves the rest of the body unread, so that its answer still gets
 * through. Returns whether all has arrived so far.
 */
export function feedGit(
  {
    body,
    contentEncoding,
  }: { readonly body: Readable; readonly contentEncoding: string | undefined },
  child: GitProcess,
  { bytesMax, onBytes }: FeedOptions,
): () => boolean {
  let size = 0;
  let isWhole = false;
  const meter = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.byteLength;
      if (size > bytesMax) {
        done(new Error("the body is too long"));
        return;
      }
      const waits = onBytes?.(chunk);
      if (waits === undefined) done(null, chunk);
      else
        waits.then(
          () => done(null, chunk),
          (error: Error) => done(error),
        );
    },
    flush(done) {
      isWhole = true;
      done();
    },
  });
  // Not a pipeline: that would cut the connection when git ends before it has read everything.
  if (/^(?:x-)?gzip$/.test(contentEncoding ?? "")) {
    const unpacked = createGunzip();
    unpacked.once("error", () => child.stop());
    body.pipe(unpacked).pipe(meter);
  } else body.pipe(meter);
  meter.once("error", () => child.stop());
  meter.pipe(child.stdin);
  body.once("error", () => child.stop());
  body.once("close", () => {
    if (!body.readableEnded) child.stop();
  });
  // It may have broken off while git was started: then nothing more is heard of it.
  if (body.destroyed && !body.readableEnded) child.stop();
  void child.ended.then(() => {
    body.unpipe();
    body.resume();
  });
  return () => isWhole;
}
