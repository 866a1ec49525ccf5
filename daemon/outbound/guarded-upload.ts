import { Readable } from "node:stream";
import { type Dispatcher, request } from "undici";
import { createOwner } from "../../storage/owner.ts";
import {
  isWebAddress,
  type OutboundOutcome,
  type OutboundRequest,
  readAnswer,
  toFailedRequest,
} from "./guarded-request.ts";

/** A file for a server that a user named. */
export interface OutboundFile extends Pick<
  OutboundRequest,
  "url" | "headers" | "responseBytesMax"
> {
  readonly body: Readable;
  /** Of the body. */
  readonly size: number;
  /** Called with the number of bytes of each part that is sent. */
  readonly count: (bytes: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Uploads a file by PUT within the address policy. A redirect is the answer, because the bytes cannot be sent twice; a server that
 * answers before it has the whole file is `failed` unless it refuses the file. Throws what reading `body` throws and nothing
 * else: an aborted signal is `failed`. Destroys `body` on every way out.
 */
export type GuardedUpload = (outbound: OutboundFile) => Promise<OutboundOutcome>;

/** Creates a function that uploads files through a guarded dispatcher. */
export function createGuardedUpload(dispatcher: Dispatcher): GuardedUpload {
  return async ({ url, headers, body, size, count, signal, responseBytesMax }) => {
    await using owner = createOwner(body);
    if (!isWebAddress(url))
      return { kind: "refused", reason: "it is not an address of http or https" };
    let sent = 0;
    let fault: { readonly error: unknown } | undefined;
    const parts = owner.own(Readable.from(readParts(), { objectMode: false }));
    parts.on("error", () => undefined);
    try {
      const answer = await request(url, {
        dispatcher,
        method: "PUT",
        headers: { ...headers, "Content-Length": String(size) },
        body: parts,
        signal,
      });
      const outcome = await readAnswer(answer, responseBytesMax);
      if (outcome.kind === "answered" && outcome.status < 300 && sent < size)
        return { kind: "failed", reason: "the server answered before it had the whole file" };
      return outcome;
    } catch (error) {
      if (fault !== undefined) throw fault.error;
      return toFailedRequest(error);
    }

    async function* readParts(): AsyncGenerator<Buffer> {
      const chunks = (body as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
      for (;;) {
        const next = await chunks.next().catch((error: unknown) => {
          fault = { error };
          throw error;
        });
        if (next.done === true) return;
        sent += next.value.byteLength;
        count(next.value.byteLength);
        yield next.value;
      }
    }
  };
}
