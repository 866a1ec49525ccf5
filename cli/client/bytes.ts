import { Readable } from "node:stream";
import { CliError } from "../errors.ts";
import type { Service } from "../profile/credentials.ts";
import { toFailure } from "./outcomes.ts";
import type { RawBody } from "./raw-download.ts";
import { type IncomingResponse, readBody, type Transport } from "./transport.ts";
import { parseJson } from "../support/json.ts";

/** A response of bytes. The stream must be consumed or destroyed. */
export interface ByteDownload {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Exact length, if the server states it. */
  readonly size: number | undefined;
  readonly stream: Readable;
  /** A faster alternative to `stream`, for large downloads over plain http. */
  readonly raw?: RawBody;
}

interface StreamRequest {
  readonly url: string;
  /** GET when absent. */
  readonly method?: string;
  readonly body?: string | Readable | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly isLarge?: boolean | undefined;
}

/** The refusal of a download is a few sentences of JSON. */
const REFUSAL_BYTES_MAX = 16 * 1024 * 1024;

/** Opens a download. @throws CliError for every answer but a success, except 401, which is returned so that the caller can renew the credentials. */
export async function openDownload(
  transport: Transport,
  { service, ...request }: StreamRequest & { readonly service: Service },
): Promise<ByteDownload & { readonly body?: Buffer }> {
  const { method = "GET", body: sent } = request;
  const opened = await transport.open({ ...request, method, body: sent });
  const { status, headers, stream, raw } = opened;
  if (status >= 200 && status < 300) {
    const length = headers["content-length"];
    const size = typeof length === "string" ? Number(length) : undefined;
    return { status, headers, size, stream, ...(raw === undefined ? {} : { raw }) };
  }
  const body = await readBody(stream, REFUSAL_BYTES_MAX);
  if (status === 401) return { status, headers, size: undefined, stream: Readable.from([]), body };
  throw downloadFailure(service, status, headers, body);
}

/** Converts a refused download to a failure. */
export function downloadFailure(
  service: Service,
  status: number,
  headers: ByteDownload["headers"],
  body: Buffer,
): CliError {
  const text = (name: string) => {
    const value = headers[name];
    return typeof value === "string" ? value : undefined;
  };
  const failure = toFailure({
    service,
    status,
    body: parseJson(body),
    requestId: text("x-request-id"),
    retryAfter: text("retry-after"),
  });
  return failure ?? new CliError("unexpected_answer", `the daemon answered ${status}`);
}

/** Sends a form with a file and reads the whole response. Errors of reading the file are rethrown unchanged. */
export async function sendUpload(
  transport: Transport,
  request: StreamRequest & {
    readonly method: string;
    readonly form: ByteUpload;
    readonly boundary: string;
  },
): Promise<IncomingResponse> {
  const { form, boundary, ...rest } = request;
  const length = multipartLength(form, boundary);
  const headers = {
    ...rest.headers,
    "Content-Type": `multipart/form-data; boundary=${boundary}`,
    ...(length === undefined ? {} : { "Content-Length": String(length) }),
  };
  const failures: unknown[] = [];
  const body = Readable.from(noting(multipartStream(form, boundary), failures), {
    objectMode: false,
  });
  try {
    return await transport.send({ ...rest, headers, body });
  } catch (error) {
    // The connection closed early because reading the file failed.
    throw request.signal.aborted ? error : (failures[0] ?? error);
  }
}

/** Yields the same chunks and records an error of reading them. */
async function* noting(
  chunks: AsyncGenerator<Uint8Array>,
  failures: unknown[],
): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks;
  } catch (error) {
    failures.push(error);
    throw error;
  }
}

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
  /** Called with the total number of sent bytes of the file. */
  readonly onProgress: (sent: number) => void;
}

/**
 * The bytes of a multipart form: the fields, then the file as a stream. Written by hand because a form with a stream must
 * know its length beforehand, and the server requires the fields first.
 */
async function* multipartStream(form: ByteUpload, boundary: string): AsyncGenerator<Uint8Array> {
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

/** Returns the exact length of the form, or undefined if the file's size is unknown. */
function multipartLength(form: ByteUpload, boundary: string): number | undefined {
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
