import type { IncomingMessage } from "node:http";
import { Transform, type Readable } from "node:stream";
import { Busboy, type BusboyFileStream, type BusboyHeaders } from "@fastify/busboy";
import { toMediaType } from "../contract/media-type.ts";
import { AppError } from "../errors.ts";
import type { FilePart } from "./handle.ts";

/** A part's headers carry an id of up to 4,096 characters and a name. */
const HEADER_BYTES_MAX = 48 * 1024;
const HEADER_PAIRS_MAX = 16;

export interface FilePartsOptions {
  readonly filesMax: number;
  /** Of the whole body, headers of the parts included. */
  readonly bytesMax: number;
  /** Of one file: its stream fails with `too_large`, and the next part follows. */
  readonly fileBytesMax: number;
  /** Bytes of a file that its reader has destroyed, or that is too large, which are read to reach the next one. */
  readonly skippedBytesMax?: number | undefined;
  /** Returns the API's refusal of an invalid form; `cause` is for the log. */
  readonly toMalformed: (text: string, cause?: unknown) => AppError;
}

/**
 * Reads a form of files only, part by part while it arrives: nothing touches the disk. Refuses with `too_large` at once
 * when the announced length is over the limit, and with `unprocessable` a body that is not a form. The iterator throws
 * the same refusals after the complete parts, and `too_large` for too many files; the stream of an unfinished part
 * fails with them too. Each stream must be consumed or destroyed before the next part is taken. Beyond
 * `skippedBytesMax` of an unwanted file the iterator throws `too_large` in the place of the parts after it. A reader that
 * leaves the loop gives up the parts that are still to come.
 */
export function readFileParts(
  message: IncomingMessage,
  options: FilePartsOptions,
): AsyncIterable<FilePart> {
  const { filesMax, bytesMax, fileBytesMax, skippedBytesMax = Infinity, toMalformed } = options;
  const tooLarge = () =>
    new AppError("too_large", `The request is larger than ${bytesMax} bytes in all.`);
  if (Number(message.headers["content-length"] ?? 0) > bytesMax) throw tooLarge();
  const parser = openParser(message, options);
  const ready: FilePart[] = [];
  let current: Readable | undefined;
  let failure: Error | undefined;
  let isEnd = false;
  let arrived = 0;
  /** The number of bytes that had arrived when the reader of a part gave it up. */
  let skippedFrom: number | undefined;
  let wake: (() => void) | undefined;
  const notify = () => {
    wake?.();
    wake = undefined;
  };

  const fail = (cause: unknown) => {
    if (failure !== undefined || isEnd) return;
    failure = cause instanceof AppError ? cause : toMalformed("The form is malformed.", cause);
    message.unpipe(parser);
    // The rest is discarded, so that the client gets to read its response.
    message.resume();
    current?.destroy(failure);
    notify();
  };
  parser.on("file", (field, stream, filename, _encoding, contentType) => {
    current = stream;
    skippedFrom = undefined;
    const skip = () => {
      if (current === stream && !stream.readableEnded) skippedFrom ??= arrived;
    };
    stream.once("limit", skip);
    stream.once("end", () => {
      if (current === stream) skippedFrom = undefined;
    });
    stream.once("close", () => {
      if (current === stream) current = undefined;
    });
    const bytes = endWithLimit(stream, fileBytesMax);
    bytes.once("close", skip);
    ready.push({
      field: field ?? "",
      filename: filename || undefined,
      contentType: toMediaType(contentType),
      stream: bytes,
      size: undefined,
    });
    notify();
  });
  const failWithTooMany = () => {
    // The part before it is whole.
    current = undefined;
    fail(new AppError("too_large", `The form has more than ${filesMax} files.`));
  };
  parser.on("filesLimit", failWithTooMany);
  parser.on("partsLimit", failWithTooMany);
  parser.on("finish", () => {
    isEnd = true;
    notify();
  });
  parser.on("error", fail);
  message.on("data", (chunk: Buffer) => {
    arrived += chunk.byteLength;
    if (arrived > bytesMax) fail(tooLarge());
    else if (skippedFrom !== undefined && arrived - skippedFrom > skippedBytesMax)
      fail(new AppError("too_large", "A refused file goes on for too long; the rest is not read."));
  });
  const cut = (cause?: unknown) => fail(new AppError("invalid_argument", LOST, { cause }));
  message.on("error", cut);
  message.once("close", () => {
    if (!message.complete) cut();
  });
  // Its events are over when the client has left before.
  if (message.destroyed) cut(message.errored);
  message.pipe(parser);
  return iterate();

  async function* iterate(): AsyncGenerator<FilePart> {
    try {
      for (;;) {
        const part = ready.shift();
        if (part !== undefined) yield part;
        else if (failure !== undefined) throw failure;
        else if (isEnd) return;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      fail(new AppError("invalid_argument", "The rest of the form was given up."));
    }
  }
}

/** Returns the bytes of a part, and fails at the end of a file that is too large: the parser needs it to be read to its end. */
function endWithLimit(part: BusboyFileStream, fileBytesMax: number): Readable {
  const stream = new Transform({
    transform: (chunk, _encoding, done) => done(null, chunk),
    flush: (done) =>
      done(
        part.truncated
          ? new AppError("too_large", `The file is larger than ${fileBytesMax} bytes.`)
          : null,
      ),
  });
  part.on("error", (error) => stream.destroy(error));
  // The reader of the part gets the error too. Without a reader, the error must not end the process.
  stream.on("error", () => undefined);
  // The end of the pipe pauses the part: its rest would never be read, nor the files after it.
  stream.once("close", () => part.unpipe(stream).resume());
  return part.pipe(stream);
}

const LOST = "The form did not arrive whole.";

function openParser(message: IncomingMessage, options: FilePartsOptions) {
  const { filesMax, fileBytesMax, toMalformed } = options;
  if (!message.headers["content-type"]?.toLowerCase().startsWith("multipart/form-data"))
    throw toMalformed("Send the files as multipart/form-data.");
  try {
    return new Busboy({
      headers: message.headers as BusboyHeaders,
      limits: {
        files: filesMax,
        // Counts parts that are not files: a boundary takes seven bytes, and the parser fifty microseconds for it.
        parts: filesMax + 1,
        fileSize: fileBytesMax,
        headerPairs: HEADER_PAIRS_MAX,
        headerSize: HEADER_BYTES_MAX,
      },
      // A part without a name is reported as a failed file instead of being ignored.
      isPartAFile: () => true,
      preservePath: true,
    });
  } catch (error) {
    throw toMalformed("The form is malformed.", error);
  }
}
