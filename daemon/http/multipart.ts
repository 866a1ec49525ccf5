import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { Transform, type Readable } from "node:stream";
import { Busboy, type BusboyHeaders } from "@fastify/busboy";
import { discard } from "../../storage/owner.ts";
import { spool, type Spooled } from "../../storage/spool.ts";
import { toMediaType } from "../contract/media-type.ts";
import { AppError } from "../errors.ts";
import type { BodyMemory } from "./body-memory.ts";
import type { FilePart, FormLimit, MultipartForm } from "./handle.ts";

/** Bounds on everything but the file, which is buffered in memory. */
const FIELDS_MAX = 32;
const FIELD_BYTES_MAX = 16 * 1024;
const HEADER_PAIRS_MAX = 32;
/** All fields with their headers and boundaries, which the parser limits to 80 KiB a part. */
const FORM_BYTES_MAX = (FIELDS_MAX + 1) * (FIELD_BYTES_MAX + 80 * 1024);

export interface MultipartOptions {
  readonly maxFileBytes: number;
  readonly temporaryDirectory: string;
  /** A lower limit of this caller. */
  readonly limit?: FormLimit | undefined;
  /** Counts the bytes of a file that waits for its fields. */
  readonly spooled: BodyMemory;
  /** Names of the declared fields, which must precede the file; unknown fields may appear anywhere. */
  readonly fieldNames: readonly string[];
  /** Whether the file is handed on as it arrives although no field precedes it. */
  readonly handsOnAtOnce?: boolean;
  /** Returns the API's refusal of an invalid form; `cause` is for the log. */
  readonly toMalformed: (text: string, cause?: unknown) => AppError;
}

/**
 * Maximum bytes that are read from a refused form: many clients read the response only after they have sent the whole
 * form.
 */
const REFUSED_BYTES_MAX = 1024 * 1024;

/**
 * Reads a form up to its file. A file after a declared field is streamed to the handler and never touches the disk; a file
 * that comes first waits for the fields in a temporary file that is deleted after it was read or abandoned.
 * Refuses, also while streaming as the stream's error: `unprocessable` for an invalid form, more than one file, or a declared
 * field after a file that the handler already reads; `too_large`.
 */
export function readMultipart(
  message: IncomingMessage,
  options: MultipartOptions,
): Promise<MultipartForm<Record<string, string>>> {
  const { promise, resolve, reject } =
    Promise.withResolvers<MultipartForm<Record<string, string>>>();
  const fields: Record<string, string> = Object.create(null);
  const aborting = new AbortController();
  let file: Promise<FilePart> | undefined;
  let settled = false;
  let isHandedOn = false;
  const rest = Promise.withResolvers<void>();
  rest.promise.catch(() => undefined);
  const { toMalformed } = options;
  const fileBytesMax = Math.min(options.maxFileBytes, options.limit?.fileBytesMax ?? Infinity);
  const tooLarge = () =>
    options.limit !== undefined && fileBytesMax < options.maxFileBytes
      ? options.limit.toRefusal()
      : new AppError("too_large", `The file is larger than ${options.maxFileBytes} bytes.`);
  // Maximum size of a form without its file: a larger body cannot fit, and is not read at all.
  if (Number(message.headers["content-length"] ?? 0) > fileBytesMax + FORM_BYTES_MAX)
    return readOn(message).then(() => {
      throw tooLarge();
    });

  const parser = openParser(message.headers, fileBytesMax, toMalformed);
  parser.on("field", (name, value, nameTruncated, valueTruncated) => {
    if (nameTruncated || valueTruncated) fail(toMalformed("A form field is too long."));
    else if (!isHandedOn) fields[name] = value;
    else if (options.fieldNames.includes(name))
      fail(toMalformed("The form's fields must come before its file."));
  });
  parser.on("fieldsLimit", () => fail(toMalformed("The form has too many fields.")));
  parser.on("filesLimit", () => fail(toMalformed("The form has more than one file.")));
  parser.on("partsLimit", () => fail(toMalformed("The form has too many parts.")));
  parser.on("file", (field, stream, filename, _encoding, contentType) => {
    // The parser may report the same error again after the reader of the stream has finished.
    stream.on("error", fail);
    stream.on("limit", () => stream.destroy(tooLarge()));
    // busboy's stream ends without an error when the connection closes early; a truncated file must fail instead.
    message.once("close", () => {
      if (!message.complete)
        stream.destroy(new AppError("invalid_argument", "The upload broke off."));
    });
    const part = {
      field,
      filename: lastSegment(filename) || undefined,
      contentType: toMediaType(contentType),
    };
    if (options.handsOnAtOnce === true || options.fieldNames.some((name) => name in fields)) {
      settled = true;
      resolve({
        fields,
        file: { ...part, stream: endWith(stream, rest.promise, toRefusal), size: undefined },
      });
      // Fields that arrived in the same chunk as the start of the file still count: they have not been parsed yet.
      queueMicrotask(() => {
        isHandedOn = true;
      });
      return;
    }
    file = spoolPart(stream, options, aborting.signal).then((spooled) => ({
      ...part,
      ...spooled,
    }));
    file.catch(fail);
  });
  parser.on("finish", () => {
    rest.resolve();
    if (settled) return;
    if (file === undefined) finish({ fields, file: undefined });
    else file.then((part) => finish({ fields, file: part }), fail);
  });
  parser.on("error", fail);
  const cut = (cause?: unknown) => fail(toMalformed("The form did not arrive whole.", cause));
  message.on("error", cut);
  message.once("close", () => {
    if (!message.complete) cut();
  });
  // Its events are over when the client has left before.
  if (message.destroyed) cut(message.errored);
  message.pipe(parser);
  return promise;

  /** Turns the parser's errors into refusals of the form; system errors, such as those of the disk, stay as they are. */
  function toRefusal(error: unknown): Error {
    const isOwn = error instanceof AppError || (error instanceof Error && "syscall" in error);
    return isOwn ? error : toMalformed("The form is malformed.", error);
  }

  function finish(form: MultipartForm<Record<string, string>>): void {
    settled = true;
    resolve(form);
  }

  function fail(cause: unknown): void {
    const error = toRefusal(cause);
    rest.reject(error);
    if (settled) return;
    settled = true;
    message.unpipe(parser);
    file?.then(({ stream }) => stream.destroy()).catch(() => undefined);
    aborting.abort(error);
    readOn(message).then(() => reject(error), reject);
  }
}

/**
 * Returns the answer to a form, and closes its file if that was spooled: a handler that refuses leaves it unread, and Node
 * ends a process that forgets an open file.
 */
export async function closingFile<T>(
  { file }: MultipartForm<unknown>,
  answer: () => T | Promise<T>,
): Promise<T> {
  try {
    return await answer();
  } finally {
    if (file?.size !== undefined) discard(file.stream);
  }
}

/** Gives up the file of a form that is refused: closes a spooled file, and reads the rest of one that is arriving. */
export function giveUpFile({ file }: MultipartForm<unknown>): void {
  if (file?.size === undefined) file?.stream.resume();
  else discard(file.stream);
}

/** Returns a stream of the file that ends only after the rest of the form has arrived, and fails when that is invalid. */
function endWith(
  file: Readable,
  rest: Promise<void>,
  toRefusal: (error: Error) => Error,
): Readable {
  const stream = new Transform({
    transform: (chunk, _encoding, done) => done(null, chunk),
    flush: (done) => {
      rest.then(() => done(), done);
    },
  });
  file.once("error", (error) => stream.destroy(toRefusal(error)));
  // Without a listener the error of an abandoned stream would end the process.
  stream.on("error", () => undefined);
  return file.pipe(stream);
}

/** Reads and discards the rest of a refused form up to a limit, beyond which the connection is closed. */
function readOn(message: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0;
    message.on("data", (chunk: Buffer) => {
      bytes += chunk.byteLength;
      if (bytes > REFUSED_BYTES_MAX) resolve();
    });
    message.once("close", resolve);
    message.once("end", resolve);
    message.resume();
    if (message.readableEnded || message.destroyed) resolve();
  });
}

/** Returns whether a body is a form with files. */
export function isMultipart({ headers }: Pick<IncomingMessage, "headers">): boolean {
  return headers["content-type"]?.toLowerCase().startsWith("multipart/form-data") === true;
}

function openParser(
  headers: IncomingMessage["headers"],
  fileBytesMax: number,
  toMalformed: MultipartOptions["toMalformed"],
) {
  if (!isMultipart({ headers })) throw toMalformed("Send the file as multipart/form-data.");
  try {
    return new Busboy({
      headers: headers as BusboyHeaders,
      limits: {
        files: 1,
        fields: FIELDS_MAX,
        // Counts parts that are neither: a boundary takes seven bytes, and the parser fifty microseconds for it.
        parts: FIELDS_MAX + 2,
        fieldSize: FIELD_BYTES_MAX,
        fieldNameSize: 256,
        headerPairs: HEADER_PAIRS_MAX,
        fileSize: fileBytesMax,
      },
      // Without it the parser reduces a path to its last part, and `..` to an empty name.
      preservePath: true,
    });
  } catch (error) {
    throw toMalformed("The form is malformed.", error);
  }
}

/** The name of a file without the path that some clients send with it. */
function lastSegment(path: string | undefined): string {
  return path?.split(/[/\\]/).at(-1) ?? "";
}

async function spoolPart(
  stream: Readable,
  { temporaryDirectory, spooled }: MultipartOptions,
  signal: AbortSignal,
): Promise<Spooled> {
  await mkdir(temporaryDirectory, { recursive: true, mode: 0o700 });
  const path = join(temporaryDirectory, `form-${randomUUID()}`);
  return spool(stream, path, { signal, onBytes: (bytes) => spooled.grow(bytes) });
}
