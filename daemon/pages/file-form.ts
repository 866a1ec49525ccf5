import { AppError } from "../errors.ts";
import type { FilePart } from "../http/handle.ts";

/** Bounds on the fields of a form, which are buffered in memory: as many bytes as a form without files has. */
const FIELDS_MAX = 200;
const FIELDS_BYTES_MAX = 256 * 1024;

/** Returns the files of a form without any. */
export async function* noFiles(): AsyncGenerator<FilePart> {
  // A form without files
}

/**
 * Reads the fields of a multipart form up to its first file. The files follow while they arrive; a browser sends an
 * empty one for an input without a choice, which is left out.
 */
export async function readFileForm(
  parts: AsyncIterable<FilePart>,
): Promise<{ readonly form: URLSearchParams; readonly files: AsyncIterable<FilePart> }> {
  const form = new URLSearchParams();
  const iterator = parts[Symbol.asyncIterator]();
  let bytes = 0;
  for (let count = 0; ; count += 1) {
    const next = await iterator.next();
    if (next.done === true) return { form, files: noFiles() };
    const part = next.value;
    if (isFile(part)) return { form, files: listFiles(part, iterator) };
    if (count === FIELDS_MAX) throw new AppError("too_large", "The form has too many fields.");
    const value = await readField(part, FIELDS_BYTES_MAX - bytes);
    bytes += value.byteLength + part.field.length;
    form.append(part.field, value.toString("utf8").replaceAll("\0", ""));
  }
}

async function* listFiles(
  first: FilePart,
  rest: AsyncIterator<FilePart>,
): AsyncGenerator<FilePart> {
  for (let part: FilePart | undefined = first; part !== undefined;) {
    if (part.filename === undefined) part.stream.resume();
    else yield part;
    const next: IteratorResult<FilePart> = await rest.next();
    part = next.done === true ? undefined : next.value;
  }
}

/** Browsers send a type with each file, also with the empty one of an input without a choice, and with no field. */
const isFile = ({ filename, contentType }: FilePart) =>
  filename !== undefined || contentType === "application/octet-stream";

async function readField({ stream }: FilePart, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > bytesMax) throw new AppError("too_large", "The texts of the form are too long.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
