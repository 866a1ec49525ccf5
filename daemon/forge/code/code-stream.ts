import { PassThrough, type Readable } from "node:stream";
import { AppError } from "../../errors.ts";
import { refusing } from "../repositories/git-refusals.ts";
import { STALLS_MAX } from "../repositories/transfer-limiter.ts";
import type { CodeAccess, CodeRequest, OpenedCode, StreamedCode } from "./open-code.ts";

/** The output of a running git. Its slot is released when git has ended; others have it while the client reads slowly. */
export interface CodeStream {
  readonly stream: Readable;
  /** Stops git when the client has disconnected. Idempotent. */
  giveUp(): void;
}

/** Maximum duration of a streamed response; the idle timeout of the connection closes a stalled client much earlier. */
const STREAM_MS = 30 * 60_000;
/** Bytes of a stream that wait in memory for its client, on each side of it. */
const BUFFERED_BYTES = 256 * 1024;

/**
 * Starts git with the arguments that `toArguments` returns and streams its output. When git fails, the stream ends with
 * an error, so that the client sees a truncated response instead of one that looks complete.
 */
export async function streamGit(
  access: CodeAccess,
  request: CodeRequest,
  toArguments: (code: OpenedCode) => Promise<readonly string[]>,
): Promise<CodeStream> {
  const code = await access.open(request);
  try {
    const args = await refusing(() => toArguments(code));
    return await refusing(async () => startStream(code, args));
  } catch (error) {
    code.slot.release();
    throw error;
  }
}

/** Starts git and streams its output. The slot of `code` is released when git has ended. @throws GitError `busy` */
export function startStream(
  { git, directory, signal, slot }: StreamedCode,
  args: readonly string[],
): CodeStream {
  signal.throwIfAborted();
  const child = git.start(args, { directory });
  child.stdin.end();
  const timer = setTimeout(child.stop, STREAM_MS);
  signal.addEventListener("abort", child.stop, { once: true });
  // Git has ended before most files are sent, whatever the client's speed.
  const stream = new PassThrough({ highWaterMark: BUFFERED_BYTES });
  let bytes = 0;
  slot.watch({
    patience: () => (stream.writableNeedDrain ? STALLS_MAX : undefined),
    bytes: () => bytes,
    stop: child.stop,
  });
  child.stdout.on("data", (chunk: Buffer) => {
    bytes += chunk.byteLength;
    if (stream.writable && !stream.write(chunk)) child.stdout.pause();
  });
  stream.on("drain", () => child.stdout.resume());
  // A client that disconnects must not block git.
  stream.once("close", () => child.stdout.resume());
  stream.on("error", () => child.stdout.resume());
  child.ended
    .then(({ exitCode, stderr }) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", child.stop);
      slot.release();
      if (exitCode === 0) stream.end();
      else stream.destroy(new AppError("unavailable", `git ${args[0] ?? ""} failed: ${stderr}`));
    })
    .catch((error: unknown) => stream.destroy(error as Error));
  return { stream, giveUp: child.stop };
}
