import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { AppError } from "../errors.ts";

/** How long a client may take to send a body that is read whole. Uploads are not bound by it. */
const BODY_DEADLINE_MS = 30_000;

/**
 * The whole body. Refused with `too_large` as soon as it is known to pass `maxBytes`, and with
 * `invalid_argument` when the client stops sending or is too slow.
 */
export async function readWholeBody(
  message: Readable & { readonly headers?: IncomingHttpHeaders },
  maxBytes: number,
): Promise<Buffer> {
  const declared = Number(message.headers?.["content-length"] ?? 0);
  if (declared > maxBytes) throw tooLarge(maxBytes);
  const chunks: Buffer[] = [];
  let size = 0;
  const deadline = setTimeout(() => message.destroy(new Error("body too slow")), BODY_DEADLINE_MS);
  try {
    // Leaving the loop must not destroy the request: with it goes the connection that the refusal is sent on.
    for await (const chunk of message.iterator({
      destroyOnReturn: false,
    }) as AsyncIterable<Buffer>) {
      size += chunk.byteLength;
      if (size > maxBytes) throw tooLarge(maxBytes);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError("invalid_argument", "The request body did not arrive whole.", {
      cause: error,
    });
  } finally {
    clearTimeout(deadline);
  }
  const [first] = chunks;
  return chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks, size);
}

function tooLarge(maxBytes: number): AppError {
  return new AppError("too_large", `The request body is larger than ${maxBytes} bytes.`, {
    // What is still on its way is not read: the connection cannot serve another request.
    headers: { Connection: "close" },
  });
}
