import type { Readable } from "node:stream";

/** A file to send as the last part of a form. */
export interface ByteUpload {
  /** Parts before the file; the server acts as soon as the file begins. */
  readonly fields: Readonly<Record<string, string>>;
  readonly fileField: string;
  readonly filename: string;
  readonly contentType: string;
  /** Exact length, or undefined for a pipe. */
  readonly size: number | undefined;
  /** Whether `open` can be called again, so that the request can be repeated. */
  readonly canRestart: boolean;
  /** Opens the bytes. */
  open(): Readable;
  /** Called with the number of bytes of the file that were sent in all. */
  readonly onProgress: (sent: number) => void;
}

/**
 * The bytes of a multipart form: the fields, then the file as a stream. Written by hand because a form with a stream must
 * know its length beforehand, and the server requires the fields first.
 */
export async function* multipartStream(
  form: ByteUpload,
  boundary: string,
): AsyncGenerator<Uint8Array> {
  yield toHead(form, boundary);
  let sent = 0;
  for await (const chunk of form.open()) {
    const bytes = chunk as Uint8Array;
    yield bytes;
    sent += bytes.byteLength;
    form.onProgress(sent);
  }
  yield toTail(boundary);
}

/** The exact length of that, or undefined when the file's is not known. */
export function multipartLength(form: ByteUpload, boundary: string): number | undefined {
  if (form.size === undefined) return undefined;
  return toHead(form, boundary).byteLength + form.size + toTail(boundary).byteLength;
}

function toHead(form: ByteUpload, boundary: string): Uint8Array {
  const fields = Object.entries(form.fields).map(
    ([name, value]) =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${escape(name)}"\r\n\r\n${value}\r\n`,
  );
  const file =
    `--${boundary}\r\nContent-Disposition: form-data; name="${escape(form.fileField)}"; ` +
    `filename="${escape(form.filename)}"\r\nContent-Type: ${form.contentType}\r\n\r\n`;
  return Buffer.from(fields.join("") + file);
}

function toTail(boundary: string): Uint8Array {
  return Buffer.from(`\r\n--${boundary}--\r\n`);
}

/** Encodes a name as browsers do: UTF-8 unchanged, quotes and line ends percent-encoded, so that no header can be added. */
function escape(name: string): string {
  return name.replace(/["\r\n]/g, (character) => encodeURIComponent(character));
}
