import type { Readable } from "node:stream";
import { createBackground } from "./background.ts";
import { SMALL_BYTES, toBufferBytes } from "./cache-hits.ts";
import {
  type CacheOutcome,
  type CacheRequest,
  type Started,
  type Transfer,
  isFetched,
  isStarted,
  passThrough,
} from "./transfer.ts";
import { createFollowedTransfers, type FollowedTransfersOptions } from "./followed-transfers.ts";
import { createSmallTransfers, type SmallTransfersOptions } from "./small-transfers.ts";
import type { AccountId } from "../tables/vault/ids.ts";

export interface TransfersOptions
  extends Omit<SmallTransfersOptions, "background">, Omit<FollowedTransfersOptions, "background"> {
  readonly limitOf: (userId: AccountId) => Promise<number>;
}

/** Running fetches, each shared by all requests for the same bytes. */
export function createTransfers(options: TransfersOptions) {
  const background = createBackground(options.onError);
  const small = createSmallTransfers({ ...options, background });
  const followed = createFollowedTransfers({ ...options, background });
  const underWay = new Map<string, Transfer<unknown, { readonly kind: string }>>();
  let ended = 0;

  function join<Meta, Failure extends { readonly kind: string }>(
    request: CacheRequest<Meta, Failure>,
  ): Transfer<Meta, Failure> {
    const { flight } = request;
    const running = underWay.get(flight) as Transfer<Meta, Failure> | undefined;
    if (running !== undefined) return running;
    const controller = new AbortController();
    const transfer: Transfer<Meta, Failure> = {
      controller,
      // Starts in the next microtask, when `transfer` is assigned.
      started: Promise.resolve().then(() => begin(request, transfer)),
      users: 0,
      whenLeft: () => undefined,
      leave() {
        if (underWay.get(flight) !== transfer) return;
        underWay.delete(flight);
        ended += 1;
      },
    };
    underWay.set(flight, transfer);
    return transfer;
  }

  async function begin<Meta, Failure extends { readonly kind: string }>(
    request: CacheRequest<Meta, Failure>,
    transfer: Transfer<Meta, Failure>,
  ): Promise<Started<Meta> | Failure> {
    let stream: Readable | undefined;
    try {
      const fetched = await request.fetch(undefined, transfer.controller.signal);
      if (!isFetched<Meta, Failure>(fetched)) {
        transfer.leave();
        return fetched;
      }
      ({ stream } = fetched);
      const { size } = fetched;
      const limit = await options.limitOf(request.userId);
      if (size !== undefined && size > limit) {
        transfer.leave();
        return { kind: "through", fetched, isTaken: false };
      }
      return size !== undefined && size <= SMALL_BYTES
        ? await small.begin(request, fetched, size, transfer)
        : await followed.begin(request, fetched, limit, transfer);
    } catch (error) {
      stream?.destroy();
      transfer.leave();
      throw error;
    }
  }

  return {
    /** Joins the running fetch, or starts one. */
    async share<Meta, Failure extends { readonly kind: string }>(
      request: CacheRequest<Meta, Failure>,
    ): Promise<CacheOutcome<Meta, Failure>> {
      const transfer = join(request);
      transfer.users += 1;
      const leave = once(() => {
        transfer.users -= 1;
        if (transfer.users === 0) transfer.whenLeft();
      });
      let started: Started<Meta> | Failure;
      try {
        started = await transfer.started;
      } catch (error) {
        leave();
        throw error;
      }
      if (!isStarted<Meta, Failure>(started)) {
        leave();
        return started;
      }
      switch (started.kind) {
        case "buffer":
          leave();
          return { kind: "ok", bytes: toBufferBytes(started.buffer), meta: started.meta };
        case "fill": {
          const { fill, size, meta } = started;
          const open = async (span?: { start: number; end: number }) => fill.read(span);
          const { send } = fill;
          return {
            kind: "ok",
            bytes: { size, buffer: undefined, open, send, release: leave },
            meta,
          };
        }
        case "through": {
          const isMine = !started.isTaken;
          started.isTaken = true;
          leave();
          if (isMine) return passThrough(request, started.fetched, transfer.controller);
          const controller = new AbortController();
          const fetched = await request.fetch(undefined, controller.signal);
          if (!isFetched<Meta, Failure>(fetched)) return fetched;
          return passThrough(request, fetched, controller);
        }
      }
    },

    /** Increases whenever a fetch has ended and its bytes, if cached, can be looked up. */
    get ended() {
      return ended;
    },

    /** Resolves when no background write is left. */
    idle: (): Promise<void> => background.idle(),

    /** Aborts running fetches and waits for running writes. */
    async close(): Promise<void> {
      followed.close();
      for (const transfer of underWay.values()) {
        transfer.controller.abort();
        transfer.whenLeft();
      }
      await background.idle();
    },
  };
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    work();
  };
}
