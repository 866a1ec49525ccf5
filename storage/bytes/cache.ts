// storage/bytes: bytes that croft keeps itself: the byte cache of cloud files, and the object store of documents.
// May import: storage/engine, storage/tables, node. Knows no provider and no rule of the vault.
// Start here (the cache's promises), then fill.ts (how one transfer feeds many readers), cache-files.ts, object-store.ts.
import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { Readable } from "node:stream";
import { StorageError, type Database } from "../engine/database.ts";
import {
  deleteCacheEntries,
  findCacheEntry,
  listCacheEntries,
  listCacheKeysAfter,
  listCacheKeysOf,
  listOldestCacheEntries,
  putCacheEntry,
  sumCacheBytes,
  touchCacheEntries,
  type CacheEntry,
} from "../tables/vault/cache.ts";
import { hashFile, openCacheFiles, toFingerprint } from "./cache-files.ts";
import { RESUMES_MAX, startFill, type Fetched, type Fill } from "./fill.ts";
import { createMemoryCache } from "./memory-cache.ts";
import { readSpan, type Span } from "./read-span.ts";

/** Bytes that are ready to be sent. `release` is called exactly once, when they are no longer needed. */
export interface CachedBytes {
  /** Undefined when it is not known before the end. */
  readonly size: number | undefined;
  /** The whole of it, when it is small. */
  readonly buffer: Uint8Array | undefined;
  open(span?: Span): Promise<Readable>;
  release(): void;
}

/** What is wanted, and how to get it when it is not there. */
export interface CacheRequest<Meta, Failure extends { readonly kind: string }> {
  readonly userId: string;
  readonly connectionId: string;
  /** The key of the wanted bytes (64 hex digits); undefined when nothing is known of them yet. */
  readonly key: string | undefined;
  /** Requests with the same text at the same time share one fetch. */
  readonly flight: string;
  /**
   * Fetches the bytes; with `from` only those from there on (and up to `end`), of exactly the version of `from.meta`.
   * The signal aborts when nobody waits any more.
   */
  fetch(
    from: { readonly start: number; readonly end: number | undefined; readonly meta: Meta } | undefined,
    signal: AbortSignal,
  ): Promise<Fetched<Meta> | Failure>;
}

export type CacheOutcome<Meta, Failure> =
  | {
      readonly kind: "ok";
      readonly bytes: CachedBytes;
      /** What `fetch` said of the bytes; undefined when they were at hand under the wanted key. */
      readonly meta: Meta | undefined;
    }
  | Failure;

/**
 * A cache of bytes on disk. What it gives is whole and of the version that its key names, or breaks off with an error;
 * it never gives a damaged file. Concurrent misses make one fetch, whose bytes all waiters get as they arrive; a
 * waiter that goes away does not end it for the others. A crash at any point leaves nothing that could be served wrongly.
 */
export interface ByteCache {
  open<Meta, Failure extends { readonly kind: string }>(
    request: CacheRequest<Meta, Failure>,
  ): Promise<CacheOutcome<Meta, Failure>>;
  /** Makes a user's entries fit the limit, after it was lowered. Entries being read are passed over. */
  fit(userId: string): Promise<void>;
  /** The keys of a connection's entries, to be handed to `forget` once its rows are gone. */
  keysOf(connectionId: string): Promise<readonly string[]>;
  /** Removes the files of entries whose rows are gone. */
  forget(keys: readonly string[]): Promise<void>;
  /** Makes index and files agree: files without a row and rows without a file go. To be called after start. */
  reconcile(): Promise<void>;
  /** Writes down what was used when. Transfers under way are given up. */
  close(): Promise<void>;
}

export interface ByteCacheOptions {
  readonly db: Database;
  /** The cache's own folder. */
  readonly folder: string;
  readonly clock: () => number;
  readonly newId: () => string;
  /** The bytes that a user's entries may take. */
  readonly limitOf: (userId: string) => Promise<number>;
  /** Memory for small files. */
  readonly memoryBytes: number;
  /** Told of failures of the cache itself, which no reader notices. */
  readonly onError: (error: unknown, what: string) => void;
}

/** Up to this size a file is answered from memory. */
export const SMALL_BYTES = 256 * 1024;
/** An abandoned transfer with no more than this to come is finished all the same. */
const FINISH_ANYWAY_BYTES = 8 * 1024 * 1024;
/** A file's hash is checked before its first use after a start, and again when this much time has passed. */
const CHECKED_FOR_MS = 24 * 3600 * 1000;
const CHECKED_MAX = 10_000;
const TOUCHES_MAX = 1_000;
const EVICT_AT_ONCE = 100;

/** One fetch and those who share it. */
interface Transfer<Meta, Failure> {
  readonly started: Promise<Started<Meta> | Failure>;
  /** Requests that wait for it or read from it. */
  users: number;
  /** Nobody is left. */
  onLeft: () => void;
}

type Started<Meta> =
  /** In memory as a whole. */
  | { readonly kind: "buffer"; readonly meta: Meta; readonly buffer: Buffer }
  | {
      readonly kind: "fill";
      readonly meta: Meta;
      readonly size: number | undefined;
      readonly fill: Fill;
    }
  /** Larger than the cache may be: the first taker has the stream, the others fetch for themselves. */
  | { readonly kind: "through"; readonly fetched: Fetched<Meta>; taken: boolean };

/** Opens a cache on its folder. `reconcile` is to be called once it runs. */
export async function createByteCache(options: ByteCacheOptions): Promise<ByteCache> {
  const { db, clock, newId } = options;
  const files = await openCacheFiles(options.folder, newId);
  const memory = createMemoryCache(options.memoryBytes);
  const transfers = new Map<string, Transfer<unknown, { readonly kind: string }>>();
  const pins = new Map<string, number>();
  const checked = new Map<string, { readonly fingerprint: string; readonly at: number }>();
  const checking = new Map<string, Promise<string>>();
  const touches = new Map<string, number>();
  const background = new Set<Promise<void>>();
  let finishedTransfers = 0;
  let isClosed = false;

  return {
    async open<Meta, Failure extends { readonly kind: string }>(
      request: CacheRequest<Meta, Failure>,
    ): Promise<CacheOutcome<Meta, Failure>> {
      for (;;) {
        const before = finishedTransfers;
        const hit = request.key === undefined ? undefined : await lookUp(request.key);
        if (hit !== undefined) return { kind: "ok", bytes: hit, meta: undefined };
        // A transfer that ended during the look has put there what the look has missed.
        if (request.key === undefined || before === finishedTransfers) break;
      }
      return share(request, joinTransfer(request));
    },

    fit,
    keysOf: (connectionId) => listCacheKeysOf(db, files.store, connectionId),
    async forget(keys) {
      for (const key of keys) await removeFile(key);
    },
    reconcile,

    async close() {
      isClosed = true;
      for (const transfer of transfers.values()) transfer.onLeft();
      await Promise.all(background);
      await flushTouches();
    },
  };

  // ---- what is at hand

  async function lookUp(key: string): Promise<CachedBytes | undefined> {
    const kept = memory.get(key);
    if (kept !== undefined) {
      touch(key);
      return bufferBytes(kept);
    }
    const entry = await findCacheEntry(db, files.store, key);
    if (entry === undefined) return undefined;
    pin(key);
    try {
      const bytes = await openEntry(entry);
      if (bytes === undefined) await drop(key);
      else touch(key);
      return bytes;
    } finally {
      unpin(key);
    }
  }

  /** The bytes of an entry whose file is as it was written; undefined otherwise. */
  async function openEntry(entry: CacheEntry): Promise<CachedBytes | undefined> {
    const handle = await files.open(entry.key);
    if (handle === undefined) return undefined;
    let isKept = false;
    try {
      const stats = await handle.stat({ bigint: true });
      if (Number(stats.size) !== entry.size) return undefined;
      if (entry.size <= SMALL_BYTES) {
        const buffer = Buffer.allocUnsafe(entry.size);
        const { bytesRead } = await handle.read(buffer, 0, entry.size, 0);
        if (bytesRead !== entry.size || hashBytes(buffer) !== entry.hash) return undefined;
        memory.put(entry.key, buffer);
        return bufferBytes(buffer);
      }
      const fingerprint = toFingerprint(stats);
      if (!isChecked(entry.key, fingerprint)) {
        if ((await hashOnce(entry.key, handle)) !== entry.hash) return undefined;
        noteChecked(entry.key, fingerprint);
      }
      isKept = true;
      pin(entry.key);
      return {
        size: entry.size,
        buffer: undefined,
        open: async (span) => readSpan(handle, span ?? { start: 0, end: entry.size - 1 }),
        release: () => {
          unpin(entry.key);
          inBackground(handle.close(), "closing a cached file");
        },
      };
    } finally {
      if (!isKept) await handle.close();
    }
  }

  function isChecked(key: string, fingerprint: string): boolean {
    const known = checked.get(key);
    return known?.fingerprint === fingerprint && clock() - known.at < CHECKED_FOR_MS;
  }

  function noteChecked(key: string, fingerprint: string): void {
    checked.delete(key);
    checked.set(key, { fingerprint, at: clock() });
    const [oldest] = checked.keys();
    if (checked.size > CHECKED_MAX && oldest !== undefined) checked.delete(oldest);
  }

  /** Many may ask for one large file at once; it is read through for all of them together. */
  async function hashOnce(key: string, handle: FileHandle): Promise<string> {
    const underWay = checking.get(key);
    if (underWay !== undefined) return underWay;
    const hashing = hashFile(handle);
    checking.set(key, hashing);
    try {
      return await hashing;
    } finally {
      checking.delete(key);
    }
  }

  // ---- what has to be fetched

  function joinTransfer<Meta, Failure extends { readonly kind: string }>(
    request: CacheRequest<Meta, Failure>,
  ): Transfer<Meta, Failure> {
    const underWay = transfers.get(request.flight) as Transfer<Meta, Failure> | undefined;
    if (underWay !== undefined) return underWay;
    const controller = new AbortController();
    const transfer: Transfer<Meta, Failure> = {
      // Begins in the next turn, when the transfer can be found by what it starts.
      started: Promise.resolve().then(() => begin(request, transfer, controller)),
      users: 0,
      onLeft: () => leaveMap(request.flight, transfer, () => controller.abort()),
    };
    transfers.set(request.flight, transfer);
    return transfer;
  }

  async function begin<Meta, Failure extends { readonly kind: string }>(
    request: CacheRequest<Meta, Failure>,
    transfer: Transfer<Meta, Failure>,
    controller: AbortController,
  ): Promise<Started<Meta> | Failure> {
    const leave = () => leaveMap(request.flight, transfer);
    try {
      const fetched = await request.fetch(undefined, controller.signal);
      if (!isFetched<Meta, Failure>(fetched)) {
        leave();
        return fetched;
      }
      const limit = await options.limitOf(request.userId);
      if (fetched.size !== undefined && fetched.size > limit) {
        leave();
        return { kind: "through", fetched, taken: false };
      }
      if (fetched.size !== undefined && fetched.size <= SMALL_BYTES)
        return await collect(request, fetched, fetched.size, controller, leave);
      return await fill(request, fetched, limit, transfer, controller, leave);
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Takes a small file into memory, gives it to all at once, and writes it down behind their backs. */
  async function collect<Meta, Failure extends { readonly kind: string }>(
    request: CacheRequest<Meta, Failure>,
    fetched: Fetched<Meta>,
    size: number,
    controller: AbortController,
    leave: () => void,
  ): Promise<Started<Meta>> {
    const { key, meta } = fetched;
    const buffer = await readSmall(fetched.stream, size, async () => {
      const again = await request.fetch({ start: 0, end: undefined, meta }, controller.signal);
      return isFetched<Meta, Failure>(again) ? again.stream : undefined;
    });
    if (key === undefined) {
      leave();
    } else {
      memory.put(key, buffer);
      const entry = toEntry(request, key, size, hashBytes(buffer));
      inBackground(
        storeBuffer(entry, buffer).finally(() => leave()),
        "writing a cached file",
      );
    }
    return { kind: "buffer", meta: fetched.meta, buffer };
  }

  async function storeBuffer(entry: CacheEntry, buffer: Buffer): Promise<void> {
    const id = newId();
    try {
      const file = await files.createTemporary(id);
      try {
        await file.writeFile(buffer);
        await file.sync();
      } finally {
        await file.close();
      }
      await publish(id, entry);
    } finally {
      await files.removeTemporary(id);
    }
  }

  /** Starts a transfer that all follow, and puts its file into the cache when it is whole. */
  async function fill<Meta, Failure extends { readonly kind: string }>(
    request: CacheRequest<Meta, Failure>,
    fetched: Fetched<Meta>,
    limit: number,
    transfer: Transfer<Meta, Failure>,
    controller: AbortController,
    leave: () => void,
  ): Promise<Started<Meta>> {
    const { key, meta, size } = fetched;
    const id = newId();
    let file: FileHandle;
    try {
      file = await files.createTemporary(id);
    } catch (error) {
      options.onError(error, "making room for a transfer");
      leave();
      return { kind: "through", fetched, taken: false };
    }
    const filling = startFill(file, fetched.stream, size, {
      async rest(start, end) {
        const more = await request.fetch({ start, end, meta }, controller.signal);
        return isFetched<Meta, Failure>(more) ? more.stream : undefined;
      },
      makeRoom,
    });
    let isOver = false;
    // Readers are told by their own streams when a transfer breaks off.
    const over = keep()
      .catch(() => undefined)
      .then(async () => {
        leave();
        isOver = true;
        await files.removeTemporary(id);
        if (transfer.users === 0) await file.close();
      });
    inBackground(over, "ending a transfer");
    transfer.onLeft = () => {
      if (isOver) {
        inBackground(file.close(), "closing a transfer");
        return;
      }
      const left = size === undefined ? Number.POSITIVE_INFINITY : size - filling.written;
      if (filling.isComplete || (!isClosed && left <= FINISH_ANYWAY_BYTES)) return;
      leave();
      controller.abort();
      filling.abort(new Error("nobody waits for the transfer any more"));
    };
    return { kind: "fill", meta, size, fill: filling };

    async function keep(): Promise<void> {
      const { hash, size: arrived } = await filling.finished;
      if (key === undefined || arrived > limit) return;
      await file.sync();
      const fingerprintBefore = await file.stat({ bigint: true });
      pin(key);
      try {
        await publish(id, toEntry(request, key, arrived, hash));
        if (fingerprintBefore.size === BigInt(arrived))
          noteChecked(key, toFingerprint(await file.stat({ bigint: true })));
      } catch (error) {
        options.onError(error, "keeping a transfer");
      } finally {
        unpin(key);
      }
    }
  }

  async function share<Meta, Failure extends { readonly kind: string }>(
    request: CacheRequest<Meta, Failure>,
    transfer: Transfer<Meta, Failure>,
  ): Promise<CacheOutcome<Meta, Failure>> {
    transfer.users += 1;
    const leave = once(() => {
      transfer.users -= 1;
      if (transfer.users === 0) transfer.onLeft();
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
        return { kind: "ok", bytes: bufferBytes(started.buffer), meta: started.meta };
      case "fill": {
        const { fill: filling, size, meta } = started;
        const open = async (span: Span | undefined) => filling.read(span);
        return { kind: "ok", bytes: { size, buffer: undefined, open, release: leave }, meta };
      }
      case "through": {
        const mine = !started.taken;
        started.taken = true;
        leave();
        if (mine) return streamThrough(request, started.fetched, new AbortController());
        const own = new AbortController();
        const fetched = await request.fetch(undefined, own.signal);
        return isFetched<Meta, Failure>(fetched) ? streamThrough(request, fetched, own) : fetched;
      }
    }
  }

  /** Bytes that are not kept. A part of them is fetched anew, as a part. */
  function streamThrough<Meta, Failure extends { readonly kind: string }>(
    request: CacheRequest<Meta, Failure>,
    fetched: Fetched<Meta>,
    controller: AbortController,
  ): CacheOutcome<Meta, Failure> {
    const { size, meta, stream } = fetched;
    let current = stream;
    const bytes: CachedBytes = {
      size,
      buffer: undefined,
      async open(span) {
        const isWhole = span === undefined || (span.start === 0 && span.end + 1 === size);
        if (isWhole && current === stream) return stream;
        current.destroy();
        const part = await request.fetch(
          { start: span?.start ?? 0, end: span?.end, meta },
          controller.signal,
        );
        if (!isFetched<Meta, Failure>(part)) throw new Error(`a part could not be fetched: ${part.kind}`);
        current = part.stream;
        return current;
      },
      release: () => {
        current.destroy();
        controller.abort();
      },
    };
    return { kind: "ok", bytes, meta };
  }

  // ---- keeping

  /** Gives a finished temporary file its place and its row, and makes the user's entries fit the limit. */
  async function publish(id: string, entry: CacheEntry): Promise<void> {
    pin(entry.key);
    try {
      await files.publish(id, entry.key);
      try {
        await fit(entry.userId, entry);
      } catch (error) {
        await files.remove(entry.key);
        // The connection or the user is gone: nobody will ask for these bytes again.
        if (!(error instanceof StorageError && error.code === "conflict")) throw error;
      }
    } finally {
      unpin(entry.key);
    }
  }

  async function fit(userId: string, added?: CacheEntry): Promise<void> {
    const limit = await options.limitOf(userId);
    const used = [...touches];
    const gone = await db.transaction(async (tx) => {
      if (added !== undefined) await putCacheEntry(tx, files.store, added);
      await touchCacheEntries(tx, files.store, used);
      const removed: string[] = [];
      let bytes = await sumCacheBytes(tx, files.store, userId);
      while (bytes > limit) {
        const oldest = await listCacheEntries(tx, files.store, userId, EVICT_AT_ONCE + pins.size);
        const batch: string[] = [];
        for (const entry of oldest) {
          if (bytes <= limit || isPinned(entry.key, added?.key)) continue;
          batch.push(entry.key);
          bytes -= entry.size;
        }
        if (batch.length === 0) break;
        await deleteCacheEntries(tx, files.store, batch);
        removed.push(...batch);
      }
      return removed;
    });
    forgetTouches(used);
    for (const key of gone) await removeFile(key);
  }

  /** The disk is full: whoever was used longest ago goes, whatever their limits say. */
  async function makeRoom(): Promise<void> {
    const oldest = await listOldestCacheEntries(db, files.store, EVICT_AT_ONCE);
    const keys = oldest.map((entry) => entry.key).filter((key) => !isPinned(key));
    // Files first: on a full disk the rows may have to wait, and a row without a file is only a miss.
    for (const key of keys) await removeFile(key);
    try {
      await db.transaction((tx) => deleteCacheEntries(tx, files.store, keys));
    } catch (error) {
      options.onError(error, "making room");
    }
  }

  async function drop(key: string): Promise<void> {
    await db.transaction((tx) => deleteCacheEntries(tx, files.store, [key]));
    await removeFile(key);
  }

  async function removeFile(key: string): Promise<void> {
    memory.delete(key);
    checked.delete(key);
    touches.delete(key);
    await files.remove(key);
  }

  async function reconcile(): Promise<void> {
    // Rows without a whole file are found and dropped when they are asked for; here they stop counting.
    const missing: string[] = [];
    for (let after = ""; ; ) {
      const page = await listCacheKeysAfter(db, files.store, after, 500);
      for (const { key, size } of page) if (!(await hasFile(key, size))) missing.push(key);
      const last = page.at(-1);
      if (last === undefined || isClosed) break;
      after = last.key;
    }
    for (const key of missing) if (!isPinned(key)) await drop(key);
    for await (const key of files.keys()) {
      if (isClosed) return;
      if (isPinned(key)) continue;
      if ((await findCacheEntry(db, files.store, key)) === undefined && !isPinned(key)) await removeFile(key);
    }
  }

  async function hasFile(key: string, size: number): Promise<boolean> {
    const handle = await files.open(key);
    if (handle === undefined) return false;
    try {
      return (await handle.stat()).size === size;
    } finally {
      await handle.close();
    }
  }

  // ---- small matters

  function touch(key: string): void {
    touches.set(key, clock());
    if (touches.size >= TOUCHES_MAX) inBackground(flushTouches(), "noting what was used");
  }

  async function flushTouches(): Promise<void> {
    const used = [...touches];
    if (used.length === 0) return;
    forgetTouches(used);
    await db.transaction((tx) => touchCacheEntries(tx, files.store, used));
  }

  function forgetTouches(used: readonly (readonly [string, number])[]): void {
    for (const [key, at] of used) if (touches.get(key) === at) touches.delete(key);
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

  function leaveMap(
    flight: string,
    transfer: Transfer<never, never> | Transfer<unknown, unknown>,
    then?: () => void,
  ): void {
    if (transfers.get(flight) === (transfer as unknown)) {
      transfers.delete(flight);
      finishedTransfers += 1;
    }
    then?.();
  }

  function pin(key: string): void {
    pins.set(key, (pins.get(key) ?? 0) + 1);
  }

  function unpin(key: string): void {
    const count = (pins.get(key) ?? 0) - 1;
    if (count > 0) pins.set(key, count);
    else pins.delete(key);
  }

  function isPinned(key: string, ownKey?: string): boolean {
    return pins.has(key) || key === ownKey;
  }

  function inBackground(work: Promise<unknown>, what: string): void {
    const done = work.then(
      () => undefined,
      (error: unknown) => options.onError(error, what),
    );
    background.add(done);
    void done.finally(() => background.delete(done));
  }
}

function bufferBytes(buffer: Uint8Array): CachedBytes {
  return {
    size: buffer.byteLength,
    buffer,
    open: async (span) =>
      Readable.from([span === undefined ? buffer : buffer.subarray(span.start, span.end + 1)]),
    release: () => undefined,
  };
}

/** A small file as a whole; a transfer that breaks off is begun again. */
async function readSmall(
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
      const next = retries < RESUMES_MAX ? await again() : undefined;
      if (next === undefined) throw error;
      stream = next;
    }
  }
}

function hashBytes(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function isFetched<Meta, Failure extends { readonly kind: string }>(
  outcome: Fetched<Meta> | Failure,
): outcome is Fetched<Meta> {
  return outcome.kind === "ok";
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
