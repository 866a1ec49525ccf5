import { createReadStream, createWriteStream } from "node:fs";
import { stat, unlink } from "node:fs/promises";
import { Transform, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { isDiskFull } from "../../../../storage/disk-full.ts";
import { AppError } from "../../../errors.ts";

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

/** Bytes that wait in a file, so that their number is known before a provider gets them. */
export interface Spooled {
  readonly size: number;
  open(): Readable;
  /** Repeating it is no error. */
  remove(): Promise<void>;
}

/** Writes a stream into a new file at `path`; what fails leaves none. Refuses with `storage_full` what the disk does not hold. */
export async function spool(content: Readable, path: string): Promise<Spooled> {
  const remove = () =>
    unlink(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
  try {
    await pipeline(content, createWriteStream(path, { flags: "wx", mode: 0o600 }));
    const { size } = await stat(path);
    return { size, open: () => createReadStream(path), remove };
  } catch (error) {
    await remove();
    throw isDiskFull(error)
      ? new AppError("storage_full", "The server's disk is full.", { cause: error })
      : error;
  }
}
