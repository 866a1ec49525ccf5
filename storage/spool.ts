import { open, unlink } from "node:fs/promises";
import { addAbortSignal, type Readable } from "node:stream";

/** A stream that was written to disk first, so that its length is known. */
export interface Spooled {
  readonly size: number;
  /** The same bytes. Destroying it closes the file. */
  readonly stream: Readable;
}

/**
 * Writes `content` to a new private file at `path` and returns it for reading. The name is removed as soon as the file
 * is open, so that neither a failure nor a crash leaves anything behind. Rejects with the error of the source or of the disk.
 */
export async function spool(
  content: Readable,
  path: string,
  options: { readonly signal?: AbortSignal } = {},
): Promise<Spooled> {
  const file = await open(path, "wx+", 0o600).catch((error: unknown) => {
    content.destroy();
    throw error;
  });
  try {
    await unlink(path);
    if (options.signal !== undefined) addAbortSignal(options.signal, content);
    await file.writeFile(content);
    const { size } = await file.stat();
    const stream = file.createReadStream({ start: 0 });
    // The reader may have refused the upload already; a late error must not end the process.
    stream.on("error", () => undefined);
    return { size, stream };
  } catch (error) {
    content.destroy();
    await file.close();
    throw error;
  }
}
