import { Readable } from "node:stream";
import type { ObjectIdentity, ObjectStore } from "../../../storage/objects/object-store.ts";
import { AppError } from "../../errors.ts";
import type { GuardedDownload } from "../../outbound/guarded-request.ts";
import { type LeastRate, watchRate } from "../../outbound/least-rate.ts";
import { type ReceivedFile, receivePlainBody } from "../../utilities/receive-body.ts";
import { assertAnswered, assertNotLimited, SourceAway } from "./source.ts";

/** A file of a source. */
export interface SourceFile {
  readonly url: string;
  /** For the server of the file; those with a secret are not sent to another one. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bytesMax: number;
  /** Called with the number of bytes of each part that arrives, also of a file that is not kept. */
  readonly count?: (bytes: number) => void;
  /** Whether the bytes are the expected ones; any are by default. */
  readonly accept?: (found: ObjectIdentity) => boolean;
}

/** The object of a fetched file, and the file's first bytes. */
type FetchedFile = ObjectIdentity & Pick<ReceivedFile, "head">;

const LEAST_RATE: LeastRate = { graceMs: 60_000, bytesPerSecond: 64 * 1024 };

export type FetchSourceFile = ReturnType<typeof createSourceFiles>;

/**
 * Copies files of a source into the object store. Returns undefined for a file that the source does not have, that is too
 * large, or that is not the expected one; then nothing is kept. Throws `RemoteUnusable` for an address that is not permitted,
 * `SourceBusy` when the source limits requests, and `SourceAway` when the file did not arrive whole, or too slowly.
 */
export function createSourceFiles({
  store,
  download,
  clock,
  leastRate = LEAST_RATE,
}: {
  readonly store: ObjectStore;
  readonly download: GuardedDownload;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** 64 KiB in a second, after a minute. */
  readonly leastRate?: LeastRate;
}) {
  return async (
    { url, headers, bytesMax, count = () => undefined, accept = () => true }: SourceFile,
    signal: AbortSignal,
  ): Promise<FetchedFile | undefined> => {
    const slow = new AbortController();
    const rate = watchRate(leastRate, () => slow.abort());
    using _watched = { [Symbol.dispose]: rate.stop };
    const outcome = await download({
      url,
      headers: { "User-Agent": "croft", ...headers },
      privateHeaders: Object.keys(headers).map((name) => name.toLowerCase()),
      signal: AbortSignal.any([signal, slow.signal]),
    });
    signal.throwIfAborted();
    assertAnswered(outcome);
    const { status, body, size } = outcome;
    try {
      assertNotLimited(outcome, clock());
      if (status >= 500) throw new SourceAway(`a file was answered with status ${status}`);
      if (status !== 200) return undefined;
      const counted = Readable.from(passOn(body));
      const received = await receivePlainBody(store, counted, { bytesMax, declaredBytes: size });
      try {
        if (!accept(received.digests)) return undefined;
        await received.publish();
        return { ...received.digests, head: received.head };
      } finally {
        await received.discard();
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof AppError)) throw error;
      if (error.code === "too_large") return undefined;
      if (error.code === "invalid_argument")
        throw new SourceAway(
          slow.signal.aborted ? "a file arrives too slowly" : "a file did not arrive whole",
        );
      throw error;
    } finally {
      body.destroy();
    }

    async function* passOn(body: Readable): AsyncGenerator<Buffer> {
      for await (const chunk of body as AsyncIterable<Buffer>) {
        rate.count(chunk.byteLength);
        count(chunk.byteLength);
        yield chunk;
      }
    }
  };
}
