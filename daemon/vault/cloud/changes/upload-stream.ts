import { Transform, type Readable } from "node:stream";

/** Bytes that are received while the provider is still busy with earlier ones. */
const READ_AHEAD_BYTES = 1024 * 1024;

/**
 * The stream that a provider gets: it counts, and when the provider gives up in the middle what still comes from the
 * client is thrown away, so that the client gets to read its answer.
 */
export function passOn(content: Readable): {
  readonly stream: Readable;
  readonly bytes: () => number;
} {
  let bytes = 0;
  const stream = new Transform({
    highWaterMark: READ_AHEAD_BYTES,
    transform(chunk: Uint8Array, _encoding, done) {
      bytes += chunk.byteLength;
      done(null, chunk);
    },
  });
  const breakOff = () => {
    if (!content.readableEnded)
      stream.destroy(content.errored ?? new Error("the upload broke off"));
  };
  content.once("error", breakOff);
  content.once("close", breakOff);
  stream.once("close", () => {
    content.unpipe(stream);
    content.resume();
  });
  // Its reader hears of an error; without one there is nobody to tell.
  stream.on("error", () => undefined);
  // It may have broken off while its connection was looked up: then nothing more is heard of it.
  if (content.destroyed) breakOff();
  else content.pipe(stream);
  return { stream, bytes: () => bytes };
}
