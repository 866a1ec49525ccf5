import { createWriteStream } from "node:fs";
import { open, unlink } from "node:fs/promises";
import { addAbortSignal, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createOwner } from "./owner.ts";

/** A stream that was written to disk first, so that its length is known. */
export interface Spooled {
  readonly size: number;
  /** The same bytes. Destroying it closes the file; the receiver owns it. */
  readonly stream: Readable;
}

/**
 * Writes `content` to a new private file at `path` and returns it for reading. The name is removed as soon as the file
 * is open, so that neither a failure nor a crash leaves anything behind. Rejects with the error of the source or of the disk.
 */
export async function spool(
  content: Readable,
  path: string,
  options: {
    readonly signal?: AbortSignal;
    /** Called before each chunk is written; an error ends the writing. */
    readonly onBytes?: (bytes: number) => void;
  } = {},
): Promise<Spooled> {
  await using owner = createOwner();
  // The receiver of the rejection gets the error; that of the source needs a listener, or it would end the process.
  owner.own(content.on("error", () => undefined));
  const file = owner.own(await open(path, "wx+", 0o600));
  try {
    await unlink(path);
    if (options.signal !== undefined) addAbortSignal(options.signal, content);
    await file.writeFile(counted(content, options.onBytes));
    const { size } = await file.stat();
    owner.handOver(content);
    const stream = owner.handOver(file).createReadStream({ start: 0 });
    // The reader may have refused the upload already; a late error must not end the process.
    stream.on("error", () => undefined);
    return { size, stream };
  } catch (error) {
    content.destroy(error as Error);
    throw error;
  }
}

/** Thrown by `withSpooledFile` for a stream that goes on beyond its bound. */
export class SpooledTooLarge extends Error {
  constructor() {
    super("the stream is larger than its bound");
    this.name = "SpooledTooLarge";
  }
}

/**
 * Writes `content` to a new private file at `path` for another process, which gets the path, and deletes the file after `work`,
 * which gets its size in bytes. Destroys `content` in any case. Rejects with the error of the source, of the disk or of
 * `work`, with an abort error, or with `SpooledTooLarge`: a storage need not tell the size of a file, or may tell another one.
 */
export async function withSpooledFile<T>(
  content: Readable,
  path: string,
  work: (size: number) => Promise<T>,
  { bytesMax, ...options }: { readonly bytesMax: number; readonly signal?: AbortSignal },
): Promise<T> {
  await using owner = createOwner();
  owner.own(content);
  try {
    const target = owner.own(createWriteStream(path, { flags: "wx", mode: 0o600 }));
    await pipeline(content, (chunks) => atMost(chunks, bytesMax), target, options);
    return await work(target.bytesWritten);
  } finally {
    await unlink(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
  }
}

async function* atMost(
  chunks: AsyncIterable<Uint8Array>,
  bytesMax: number,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw new SpooledTooLarge();
    yield chunk;
  }
}

async function* counted(
  content: Readable,
  onBytes: ((bytes: number) => void) | undefined,
): AsyncGenerator<Uint8Array> {
  // Leaving the loop must not destroy the source with another error, which would hide the reason.
  for await (const chunk of content.iterator({ destroyOnReturn: false })) {
    onBytes?.(chunk.byteLength);
    yield chunk;
  }
}
