import { Readable } from "node:stream";

/** Large enough that the cost of a write does not count any more. */
const CHUNK_BYTES = 64 * 1024;
/** What came so far goes out after this time, however little it is. */
const WAIT_MS = 1;

/**
 * The same bytes in fewer and larger chunks. Git writes packs in pieces of 8 KiB, and reading each of them as it comes
 * costs more than everything else about a clone; waited for a moment, many arrive as one.
 */
export function gather(source: Readable): Readable {
  let chunks: Buffer[] = [];
  let size = 0;
  let timer: NodeJS.Timeout | undefined;
  const gathered = new Readable({
    highWaterMark: CHUNK_BYTES,
    read: () => void source.resume(),
    destroy(error, done) {
      clearTimeout(timer);
      source.destroy();
      done(error);
    },
  });
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    const [only] = chunks;
    const chunk = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, size);
    chunks = [];
    size = 0;
    // Not wanted yet: `read` resumes.
    if (gathered.push(chunk)) source.resume();
  };
  source.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    size += chunk.byteLength;
    // Meanwhile the pipe fills, and the next read takes all of it.
    source.pause();
    if (size >= CHUNK_BYTES) flush();
    else timer ??= setTimeout(flush, WAIT_MS);
  });
  source.once("end", () => {
    if (size > 0) flush();
    gathered.push(null);
  });
  source.once("error", (error) => gathered.destroy(error));
  source.once("close", () => {
    if (!source.readableEnded) gathered.destroy(new Error("git ended in the middle of its answer"));
  });
  return gathered;
}
