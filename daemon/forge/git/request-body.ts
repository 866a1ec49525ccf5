import { type Readable, Transform } from "node:stream";
import { createGunzip } from "node:zlib";
import type { GitProcess } from "../../../storage/git/git.ts";

export interface PipeOptions {
  /** Limit of the decompressed body. */
  readonly bytesMax: number;
  /**
   * Admits the beginning of the body: called for every chunk until the promise that it returns resolves. Git receives no
   * byte before, and nothing of a body that ends before. A rejection stops git.
   */
  readonly admit?: (chunk: Buffer) => Promise<unknown> | undefined;
}

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
  { bytesMax, admit }: PipeOptions,
): () => boolean {
  let size = 0;
  let isWhole = false;
  let isAdmitted = admit === undefined;
  const held: Buffer[] = [];
  const passOn = () => {
    isAdmitted = true;
    for (const chunk of held.splice(0)) meter.push(chunk);
  };
  const meter = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.byteLength;
      if (size > bytesMax) {
        done(new Error("the body is too long"));
        return;
      }
      if (isAdmitted) {
        done(null, chunk);
        return;
      }
      held.push(chunk);
      const admission = admit?.(chunk);
      if (admission === undefined) done();
      else admission.then(passOn).then(() => done(), done);
    },
    flush(done) {
      isWhole = isAdmitted || held.length === 0;
      done(isWhole ? null : new Error("the body ends too early"));
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
  child.ended
    .then(() => {
      body.unpipe();
      body.resume();
    })
    .catch((error: unknown) => body.destroy(error as Error));
  return () => isWhole;
}
