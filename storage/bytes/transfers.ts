import type { FileHandle } from "node:fs/promises";
import type { Readable } from "node:stream";
import type { CacheEntry } from "../tables/vault/cache.ts";
import { hashFile, hashSmall } from "./block-hash.ts";
import type { Blocks } from "./blocks.ts";
import type { CacheFiles } from "./cache-files.ts";
import { SMALL_BYTES, toBufferBytes, type CacheHits } from "./cache-hits.ts";
import type { CacheIndex } from "./cache-index.ts";
import { isFetched, type CacheOutcome, type CacheRequest } from "./cache-request.ts";
import { startFill, type Fetched, type Fill } from "./fill.ts";
import type { MemoryCache } from "./memory-cache.ts";
import { passThrough } from "./pass-through.ts";
import { readSmall } from "./read-small.ts";

/** Fetches under way, each shared by all who want the same. */
export interface Transfers {
  /** Joins the fetch that is under way, or begins one. */
  share<Meta, Failure extends { readonly kind: string }>(
    request: CacheRequest<Meta, Failure>,
  ): Promise<CacheOutcome<Meta, Failure>>;
  /** Grows whenever a fetch has ended and its bytes, if they are kept, can be looked up. */
  readonly ended: number;
  /** Resolves when nothing is being written behind the backs of readers. */
  idle(): Promise<void>;
  /** Gives up what is under way and waits for what is being written. */
  close(): Promise<void>;
}

export interface TransfersOptions {
  readonly files: CacheFiles;
  readonly index: CacheIndex;
  readonly hits: CacheHits;
  readonly memory: MemoryCache;
  readonly blocks: Blocks;
  readonly clock: () => number;
  readonly newId: () => string;
  readonly limitOf: (userId: string) => Promise<number>;
  readonly onError: (error: unknown, what: string) => void;
}

/** Bytes of files that are being fetched, kept in memory: readers that keep up never touch the disk, nor wait for it. */
const WINDOWS_BYTES = 64 * 1024 * 1024;
const WINDOW_BYTES_MAX = 4 * 1024 * 1024;

/** A transfer that everybody has left is finished all the same when no more than this is to come. */
const FINISH_ANYWAY_BYTES = 8 * 1024 * 1024;

/** One fetch and those who share it. */
interface Transfer<Meta, Failure> {
  readonly controller: AbortController;
  readonly started: Promise<Started<Meta> | Failure>;
  /** Requests that wait for it or read from it. */
  users: number;
  /** Called when the last of them has gone. */
  whenLeft: () => void;
  /** From here on newcomers begin a fetch of their own, or find the bytes. */
  leave(): void;
}

type Started<Meta> =
  | { readonly kind: "buffer"; readonly meta: Meta; readonly buffer: Buffer }
  | {
      readonly kind: "fill";
      readonly meta: Meta;
      readonly size: number | undefined;
      readonly fill: Fill;
    }
  /** Larger than the user's cache may be: the first taker has the stream, the others fetch for themselves. */
  | { readonly kind: "through"; readonly fetched: Fetched<Meta>; isTaken: boolean };

export function createTransfers(options: TransfersOptions): Transfers {
  const { files, index, hits, memory, clock, newId } = options;
  const underWay = new Map<string, Transfer<unknown, { readonly kind: string }>>();
  const background = new Set<Promise<void>>();
  let ended = 0;
  let fills = 0;
  let isClosed = false;

  function inBackground(work: Promise<unknown>, what: string): void {
    const done: Promise<void> = work
      .then(
        () => undefined,
        (error: unknown) => options.onError(error, what),
      )
      .finally(() => background.delete(done));
    background.add(done);
  }

  function join<Meta, Failure extends { readonly kind: string }>(
    request: CacheRequest<Meta, Failure>,
  ): Transfer<Meta, Failure> {
    const { flight } = request;
    const known = underWay.get(flight) as Transfer<Meta, Failure> | undefined;
    if (known !== undefined) return known;
    const controller = new AbortController();
    const transfer: Transfer<Meta, Failure> = {
      controller,
      // Begins in the next turn, when the transfer itself can be handed over.
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
        ? await collect(request, fetched, size, transfer)
        : await follow(request, fetched, limit, transfer);
    } catch (error) {
      stream?.destroy();
      transfer.leave();
      throw error;
    }
  }

  /** Takes a small file into memory, gives it to all at once, and writes it down behind their backs. */
  async function collect<Meta, Failure extends { readonly kind: string }>(
    request: CacheRequest<Meta, Failure>,
    fetched: Fetched<Meta>,
    size: number,
    transfer: Transfer<Meta, Failure>,
  ): Promise<Started<Meta>> {
    const { key, meta } = fetched;
    const buffer = await readSmall(fetched.stream, size, () =>
      fetchRest(request, transfer, meta, 0),
    );
    if (key === undefined) {
      transfer.leave();
    } else {
      memory.put(key, buffer);
      const written = store(toEntry(request, key, size, hashSmall(buffer)), buffer);
      inBackground(
        written.finally(() => transfer.leave()),
        "writing a small file",
      );
    }
    return { kind: "buffer", meta, buffer };
  }

  async function store(entry: CacheEntry, buffer: Buffer): Promise<void> {
    const id = newId();
    try {
      const file = await files.createTemporary(id);
      try {
        await file.writeFile(buffer);
        await file.sync();
      } finally {
        await file.close();
      }
      if (!(await index.publish(id, entry))) hits.forget(entry.key);
    } finally {
      await files.removeTemporary(id);
    }
  }

  /** Starts a transfer that all follow, and keeps its file when it is whole. */
  async function follow<Meta, Failure extends { readonly kind: string }>(
    request: CacheRequest<Meta, Failure>,
    fetched: Fetched<Meta>,
    limit: number,
    transfer: Transfer<Meta, Failure>,
  ): Promise<Started<Meta>> {
    const { key, meta, size } = fetched;
    const id = newId();
    let file: FileHandle;
    try {
      file = await files.createTemporary(id);
    } catch (error) {
      options.onError(error, "beginning a file");
      transfer.leave();
      return { kind: "through", fetched, isTaken: false };
    }
    fills += 1;
    const fill = startFill(file, fetched.stream, size, {
      bytesMax: limit,
      windowBytes: () => Math.min(WINDOW_BYTES_MAX, WINDOWS_BYTES / fills),
      rest: (start, end) => fetchRest(request, transfer, meta, start, end),
      makeRoom: () => index.makeRoom(),
      blocks: options.blocks,
      id,
    });
    if (key !== undefined) index.pin(key);
    let isOver = false;
    let isShut = false;

    async function end(): Promise<void> {
      try {
        // Readers are told by their own streams when a transfer breaks off.
        const arrived = await fill.finished.catch(() => undefined);
        if (arrived === undefined || key === undefined || arrived > limit) return;
        // After the last reader was served: neither hashing nor syncing keeps anybody waiting.
        const hash = await hashFile(file);
        await file.sync();
        if (await index.publish(id, toEntry(request, key, arrived, hash)))
          await hits.noteChecked(key, file);
      } finally {
        transfer.leave();
        isOver = true;
        await files.removeTemporary(id);
        if (transfer.users === 0) await close();
      }
    }

    async function close(): Promise<void> {
      // The last reader may go while the transfer ends: both want to close.
      if (isShut) return;
      isShut = true;
      fills -= 1;
      if (key !== undefined) index.unpin(key);
      await file.close();
    }

    transfer.whenLeft = () => {
      if (isOver) {
        inBackground(close(), "closing a file");
        return;
      }
      const left = size === undefined ? Number.POSITIVE_INFINITY : size - fill.arrived;
      if (fill.isComplete || (!isClosed && left <= FINISH_ANYWAY_BYTES)) return;
      transfer.leave();
      transfer.controller.abort();
      fill.abort(new Error("nobody waits for the transfer any more"));
    };
    inBackground(end(), "keeping a file");
    return { kind: "fill", meta, size, fill };
  }

  function toEntry(
    request: { readonly userId: string; readonly connectionId: string },
    key: string,
    size: number,
    hash: string,
  ): CacheEntry {
    const { userId, connectionId } = request;
    return { key, userId, connectionId, size, hash, lastUsedAt: clock() };
  }

  return {
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
          return { kind: "ok", bytes: { size, buffer: undefined, open, release: leave }, meta };
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

    get ended() {
      return ended;
    },

    idle,

    async close() {
      isClosed = true;
      for (const transfer of underWay.values()) {
        transfer.controller.abort();
        transfer.whenLeft();
      }
      await idle();
    },
  };

  async function idle(): Promise<void> {
    while (background.size > 0) await Promise.all(background);
  }
}

async function fetchRest<Meta, Failure extends { readonly kind: string }>(
  request: CacheRequest<Meta, Failure>,
  transfer: Transfer<Meta, Failure>,
  meta: Meta,
  start: number,
  end?: number,
): Promise<Readable | undefined> {
  const more = await request.fetch({ start, end, meta }, transfer.controller.signal);
  return isFetched<Meta, Failure>(more) ? more.stream : undefined;
}

function isStarted<Meta, Failure extends { readonly kind: string }>(
  outcome: Started<Meta> | Failure,
): outcome is Started<Meta> {
  return outcome.kind === "buffer" || outcome.kind === "fill" || outcome.kind === "through";
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    work();
  };
}
