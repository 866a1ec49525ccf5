import { createHash } from "node:crypto";
import { type Readable, Transform } from "node:stream";
import type {
  ObjectDigests,
  ObjectIdentity,
  ObjectStore,
  ObjectWriter,
} from "../../storage/objects/object-store.ts";
import { AppError } from "../errors.ts";

/** Bytes that have arrived whole. They are nothing yet: `publish` keeps them, `discard` is called in any case. */
export interface Received<Digests extends ObjectIdentity = ObjectDigests> {
  readonly digests: Digests;
  publish(): Promise<void>;
  discard(): Promise<void>;
}

/** Number of bytes at the start of a file from which its type is detected. */
export const SNIFFED_BYTES = 4_100;

/** Bytes that have arrived whole, with their first `SNIFFED_BYTES`: reading them from the store would verify the whole object. */
export interface ReceivedFile extends Received<ObjectIdentity> {
  readonly head: Uint8Array;
}

/** The largest body, and the length that the client has declared. */
export interface BodyLimits {
  readonly bytesMax: number;
  readonly declaredBytes: number | undefined;
}

/**
 * Writes a body to a staging file as it arrives. Refuses with `too_large` a body over `bytesMax`, with `invalid_argument`
 * an aborted one; then the file is deleted.
 */
export function receiveBody(
  store: ObjectStore,
  body: Readable,
  limits: BodyLimits,
): Promise<Received> {
  return receiveInto(() => store.create(), body, limits);
}

/** As `receiveBody`, without the digests that only packages have. */
export async function receivePlainBody(
  store: ObjectStore,
  body: Readable,
  limits: BodyLimits,
): Promise<ReceivedFile> {
  const head = collectHead();
  const received = await receiveInto(() => store.createPlain(), body, limits, head.add);
  return { ...received, head: head.take() };
}

/** Collects the first `SNIFFED_BYTES` of chunks. */
function collectHead() {
  const parts: Uint8Array[] = [];
  let missing = SNIFFED_BYTES;
  return {
    add: (chunk: Uint8Array): void => {
      if (missing === 0) return;
      // A copy: a part of the chunk would keep all of it in memory.
      const part = Uint8Array.from(chunk.subarray(0, missing));
      parts.push(part);
      missing -= part.byteLength;
    },
    take: (): Uint8Array => Buffer.concat(parts),
  };
}

async function receiveInto<Digests extends ObjectIdentity>(
  create: () => Promise<ObjectWriter<Digests>>,
  body: Readable,
  { bytesMax, declaredBytes }: BodyLimits,
  onChunk: (chunk: Uint8Array) => void = () => {},
): Promise<Received<Digests>> {
  if (declaredBytes !== undefined && declaredBytes > bytesMax) throw uploadTooLarge(bytesMax);
  const writer = await create();
  try {
    for await (const chunk of readChunks(body)) {
      if (writer.size + chunk.byteLength > bytesMax) throw uploadTooLarge(bytesMax);
      onChunk(chunk);
      await writer.write(chunk);
    }
    return toReceived(writer, await writer.seal());
  } catch (error) {
    await writer.discard();
    throw error;
  }
}

/**
 * The chunks of a body. Refuses with `invalid_argument` when the client stops sending, and rethrows refusals of the
 * stream itself, such as a file over its limit.
 */
export async function* readChunks(body: Readable): AsyncGenerator<Buffer> {
  // Leaving the loop must not destroy the request, because that would close the connection on which the refusal is
  // sent.
  const chunks = body.iterator({ destroyOnReturn: false });
  for (;;) {
    const next: IteratorResult<Buffer> = await chunks.next().catch((error: unknown) => {
      if (error instanceof AppError || error instanceof BytesChanged) throw error;
      throw new AppError("invalid_argument", "The request body did not arrive whole.", {
        cause: error,
      });
    });
    if (next.done === true) return;
    yield next.value;
  }
}

/**
 * Pipes a body into the stream that a provider reads. When the reader stops early, the rest of the body is discarded, so
 * that the client gets to read its response. A body that is aborted destroys the stream with an error.
 */
export function pipeBody(content: Readable, stream: Transform): void {
  const abort = () => {
    if (!content.readableEnded)
      stream.destroy(content.errored ?? new Error("the upload was aborted"));
  };
  content.once("error", abort);
  content.once("close", abort);
  stream.once("close", () => {
    content.unpipe(stream);
    content.resume();
  });
  // A provider that refuses the upload early reads nothing: an error without a listener would end the process.
  stream.on("error", () => undefined);
  // It may have been aborted while the connection was looked up: then it emits no further event.
  if (content.destroyed) abort();
  else content.pipe(stream);
}

/** The bytes of a finished upload differ from those whose hash was compared. */
export class BytesChanged extends Error {
  constructor() {
    super("the bytes of an upload changed after their hash was compared");
    this.name = "BytesChanged";
  }
}

/**
 * Passes bytes on as long as they may be those of the hash, and fails with `BytesChanged` before the last chunk of others:
 * another daemon may have written to the file since its hash was compared.
 */
export function toVerified(content: Readable, sha256: string): Readable {
  const hash = createHash("sha256");
  let held: Uint8Array | undefined;
  const stream = new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      const before = held;
      hash.update(chunk);
      held = chunk;
      done(null, before);
    },
    flush(done) {
      if (hash.digest("hex") !== sha256) done(new BytesChanged());
      else done(null, held);
    },
  });
  pipeBody(content, stream);
  return stream;
}

/** The sealed bytes of a writer. */
export function toReceived<Digests extends ObjectIdentity>(
  writer: ObjectWriter<Digests>,
  digests: Digests,
): Received<Digests> {
  return { digests, publish: () => writer.publish(), discard: () => writer.discard() };
}

/** The refusal of an upload over its limit. */
export function uploadTooLarge(bytesMax: number): AppError {
  return new AppError("too_large", `The upload is larger than ${bytesMax} bytes.`);
}
