import type { Readable } from "node:stream";
import { mayGoOn, RESUMES_MAX } from "./fill.ts";

/** A small file as a whole; a transfer that breaks off is begun again. */
export async function readSmall(
  first: Readable,
  size: number,
  again: () => Promise<Readable | undefined>,
): Promise<Buffer> {
  let stream = first;
  for (let retries = 0; ; retries++) {
    try {
      const chunks: Buffer[] = [];
      let arrived = 0;
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        arrived += chunk.length;
        if (arrived > size) break;
        chunks.push(chunk);
      }
      if (arrived !== size) throw new Error(`a fetch of ${size} bytes gave ${arrived}`);
      return Buffer.concat(chunks, size);
    } catch (error) {
      const next = retries < RESUMES_MAX && mayGoOn(error) ? await again() : undefined;
      if (next === undefined) throw error;
      stream = next;
    }
  }
}
