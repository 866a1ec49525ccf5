import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { Readable } from "node:stream";
import type { Span } from "./read-span.ts";

/** Bytes on their way from where they are kept, with what is known of them. */
export interface Fetched<Meta> {
  readonly kind: "ok";
  /** The cache key of exactly these bytes; undefined when they must not be kept. */
  readonly key: string | undefined;
  /** Undefined when it is not known before the end. */
  readonly size: number | undefined;
  readonly meta: Meta;
  /** Gives all bytes or is destroyed with an error. */
  readonly stream: Readable;
}

/** A transfer into a temporary file, which any number of readers follow while it grows. */
export interface Fill {
  /** All bytes have arrived. */
  readonly isComplete: boolean;
  readonly written: number;
  /** Resolves when all bytes are in the file, with their hash and number; rejects when they broke off. */
  readonly finished: Promise<{ readonly hash: string; readonly size: number }>;
  /** The bytes of `span`, as they arrive. Breaks off with the error that the transfer broke off with. */
  read(span: Span | undefined): Readable;
  /** Gives up; readers break off. */
  abort(reason: Error): void;
}

/** How often a transfer that broke off is taken up again. */
export const RESUMES_MAX = 3;
const READ_BYTES = 256 * 1024;

/** The cache's own disk failed: the bytes can still be had from where they came from. */
export class CacheDiskError extends Error {
  constructor(cause: unknown) {
    super("the cache could not be written", { cause });
    this.name = "CacheDiskError";
  }
}

/** What a transfer may ask for while it runs. */
export interface FillHelp {
  /** The bytes from `from` on (up to `end`), of exactly the same version; undefined when they cannot be had. */
  rest(from: number, end: number | undefined): Promise<Readable | undefined>;
  /** Frees some of the disk. */
  makeRoom(): Promise<void>;
}

/**
 * Starts to write `stream` into `file`. When it breaks off, the rest is asked for. When the disk is full, room is made
 * once per chunk; when the disk fails all the same, readers get the rest from where the bytes came from.
 */
export function startFill(
  file: FileHandle,
  stream: Readable,
  size: number | undefined,
  help: FillHelp,
): Fill {
  let written = 0;
  let isComplete = false;
  let failure: Error | undefined;
  let source = stream;
  let waiting: (() => void)[] = [];
  // The chunk that arrived last: readers that keep up take it from here and not from the disk.
  let newest: { readonly start: number; readonly chunk: Buffer } | undefined;

  function wake(): void {
    const woken = waiting;
    waiting = [];
    for (const one of woken) one();
  }

  async function append(chunk: Buffer): Promise<void> {
    for (let offset = 0, retried = false; offset < chunk.length;) {
      try {
        const { bytesWritten } = await file.write(
          chunk,
          offset,
          chunk.length - offset,
          written + offset,
        );
        offset += bytesWritten;
      } catch (error) {
        if (retried) throw new CacheDiskError(error);
        retried = true;
        await help.makeRoom();
      }
    }
    newest = { start: written, chunk };
    written += chunk.length;
    wake();
  }

  async function run(): Promise<{ hash: string; size: number }> {
    const hash = createHash("sha256");
    for (let resumes = 0; ; resumes++) {
      try {
        for await (const chunk of source as AsyncIterable<Buffer>) {
          if (failure !== undefined) throw failure;
          hash.update(chunk);
          await append(chunk);
          if (size !== undefined && written > size) throw new Error("more bytes than announced");
        }
        if (size !== undefined && written < size) throw new Error("fewer bytes than announced");
        return { hash: hash.digest("hex"), size: written };
      } catch (error) {
        if (failure !== undefined || error instanceof CacheDiskError || resumes >= RESUMES_MAX)
          throw error;
        if (size !== undefined && written > size) throw error;
        const rest = await help.rest(written, undefined);
        if (rest === undefined) throw error;
        source = rest;
      }
    }
  }

  const finished = run().then(
    (result) => {
      isComplete = true;
      wake();
      return result;
    },
    (error: unknown) => {
      failure ??= error instanceof Error ? error : new Error(String(error));
      source.destroy();
      wake();
      throw failure;
    },
  );

  async function* follow(span: Span | undefined): AsyncGenerator<Buffer> {
    let position = span?.start ?? 0;
    const end = span?.end ?? Number.POSITIVE_INFINITY;
    while (position <= end) {
      const available = Math.min(written, end + 1) - position;
      if (available <= 0) {
        if (failure instanceof CacheDiskError) {
          const rest = await help.rest(position, span?.end);
          if (rest === undefined) throw failure;
          yield* rest as AsyncIterable<Buffer>;
          return;
        }
        if (failure !== undefined) throw failure;
        if (isComplete) return;
        await new Promise<void>((resolve) => waiting.push(resolve));
        continue;
      }
      if (newest?.start === position && newest.chunk.length <= available) {
        const { chunk } = newest;
        position += chunk.length;
        yield chunk;
        continue;
      }
      const chunk = Buffer.allocUnsafe(Math.min(available, READ_BYTES));
      const { bytesRead } = await file.read(chunk, 0, chunk.length, position);
      if (bytesRead === 0)
        throw new CacheDiskError(new Error("the temporary file is shorter than written"));
      position += bytesRead;
      yield chunk.subarray(0, bytesRead);
    }
  }

  return {
    get isComplete() {
      return isComplete;
    },
    get written() {
      return written;
    },
    finished,
    read: (span) => Readable.from(follow(span), { objectMode: false, highWaterMark: READ_BYTES }),
    abort(reason) {
      failure ??= reason;
      source.destroy(reason);
      wake();
    },
  };
}
