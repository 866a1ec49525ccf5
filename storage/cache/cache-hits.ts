import { createHash, hash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { Readable, type Writable } from "node:stream";
import type { CacheEntry } from "../tables/vault/cache.ts";
import type { Span } from "./fill.ts";
import { toFingerprint, type CacheFiles } from "./cache-files.ts";
import type { CacheIndex } from "./cache-index.ts";
import { pump, sharedBuffers } from "../pump.ts";

/** Bytes that are ready to be sent. The caller calls `release` exactly once, when it no longer needs them. */
export interface CachedBytes {
  /** Undefined when the size is unknown until the end. */
  readonly size: number | undefined;
  /** All bytes, if the file is small. */
  readonly buffer: Uint8Array | undefined;
  open(span?: Span): Promise<Readable>;
  /** Writes the bytes to a stream, faster than by `open`, without ending the stream. Exists for large files only. */
  send?(span: Span | undefined, to: Writable): Promise<void>;
  /** Sends a whole file that is not cached. */
  readonly sendWhole?: ((to: Writable) => Promise<void>) | undefined;
  release(): void;
}

export type CacheHits = ReturnType<typeof createCacheHits>;

export interface CacheHitsOptions {
  readonly files: CacheFiles;
  readonly index: CacheIndex;
  readonly memory: MemoryCache;
  readonly clock: () => number;
  readonly onError: (error: unknown, task: string) => void;
}

/** Files up to this size are served from memory. */
export const SMALL_BYTES = 256 * 1024;

/**
 * Serves cached files after verification. A large file is compared with its hash before its first use after a start,
 * whenever its inode, size or times differ (every write changes these), and once a day against silent disk
 * corruption. In between, opening it costs one stat call. A small file is compared each time it is read into memory.
 */
const CHECKED_FOR_MS = 24 * 3600 * 1000;
const CHECKED_MAX = 10_000;

/** Reads cached files. */
export function createCacheHits(options: CacheHitsOptions) {
  const { files, index, memory, clock } = options;
  const checked = new Map<string, { readonly fingerprint: string; readonly at: number }>();
  const checking = new Map<string, Promise<string>>();

  function remember(key: string, fingerprint: string): void {
    checked.delete(key);
    checked.set(key, { fingerprint, at: clock() });
    const [oldest] = checked.keys();
    if (checked.size > CHECKED_MAX && oldest !== undefined) checked.delete(oldest);
  }

  /** Simultaneous requests for one large file share one verification. */
  async function hashOnce(key: string, handle: FileHandle): Promise<string> {
    const underWay = checking.get(key);
    if (underWay !== undefined) return underWay;
    const hashing = hashFile(handle).finally(() => checking.delete(key));
    checking.set(key, hashing);
    return hashing;
  }

  /** Returns the fingerprint of a file that is unchanged since it was written. */
  async function findWhole(entry: CacheEntry, handle: FileHandle): Promise<string | undefined> {
    const fingerprint = toFingerprint(await handle.stat({ bigint: true }));
    const verified = checked.get(entry.key);
    if (verified?.fingerprint === fingerprint && clock() - verified.at < CHECKED_FOR_MS)
      return fingerprint;
    if ((await hashOnce(`${entry.key} ${fingerprint}`, handle)) !== entry.hash) return undefined;
    remember(entry.key, fingerprint);
    return fingerprint;
  }

  async function openSmall(
    entry: CacheEntry,
    handle: FileHandle,
  ): Promise<CachedBytes | undefined> {
    const buffer = Buffer.allocUnsafe(entry.size);
    const { bytesRead } = await handle.read(buffer, 0, entry.size, 0);
    if (bytesRead !== entry.size || hash("sha256", buffer) !== entry.hash) return undefined;
    memory.put(entry.key, buffer);
    return toBufferBytes(buffer);
  }

  async function openEntry(entry: CacheEntry): Promise<CachedBytes | undefined> {
    const handle = await files.open(entry.key);
    if (handle === undefined) return undefined;
    let fingerprint: string | undefined;
    try {
      if ((await handle.stat()).size !== entry.size) return undefined;
      if (entry.size <= SMALL_BYTES) return await openSmall(entry, handle);
      fingerprint = await findWhole(entry, handle);
      if (fingerprint === undefined) return undefined;
    } finally {
      if (fingerprint === undefined) await handle.close();
    }
    index.pin(entry.key);
    const whole = { start: 0, end: entry.size - 1 };
    return {
      size: entry.size,
      buffer: undefined,
      send: (span = whole, to: Writable) => pump(handle, span, to, sharedBuffers),
      open: async (span = whole) => openSpan(handle, span),
      release: () => {
        index.unpin(entry.key);
        handle.close().catch((error: unknown) => options.onError(error, "closing a cached file"));
      },
    };
  }

  function lookUpInMemory(key: string): CachedBytes | undefined {
    const bytes = memory.get(key);
    if (bytes === undefined) return undefined;
    index.touch(key);
    return toBufferBytes(bytes);
  }

  return {
    /** Returns the bytes of a key if they are in memory as a whole. */
    lookUpInMemory,

    /** Returns the bytes of a key. Drops an entry whose file differs from the written one, and returns undefined. */
    async lookUp(key: string): Promise<CachedBytes | undefined> {
      const hit = lookUpInMemory(key);
      if (hit !== undefined) return hit;
      const entry = await index.find(key);
      if (entry === undefined) return undefined;
      index.pin(key);
      try {
        const bytes = await openEntry(entry);
        if (bytes === undefined) await index.drop([key]);
        else index.touch(key);
        return bytes;
      } finally {
        index.unpin(key);
      }
    },

    /** Drops the cached state of a file. Call it for every file that is removed. */
    forget(key: string): void {
      checked.delete(key);
      memory.delete(key);
    },
  };
}

/** Read size for large files: smaller reads cost more calls, larger ones more memory for each client. */
const READ_BYTES = 256 * 1024;

/** Opens a range of a file. The handle stays open. A file that has become shorter ends the stream with an error. */
function openSpan(handle: FileHandle, span: Span): Readable {
  let position = span.start;
  const stream = new Readable({
    highWaterMark: READ_BYTES,
    read() {
      const length = Math.min(READ_BYTES, span.end + 1 - position);
      if (length <= 0) {
        stream.push(null);
        return;
      }
      handle.read(Buffer.allocUnsafeSlow(length), 0, length, position).then(
        ({ bytesRead, buffer }) => {
          position += bytesRead;
          if (bytesRead === 0) stream.destroy(new Error("the file became shorter"));
          else stream.push(buffer.subarray(0, bytesRead));
        },
        (error: Error) => stream.destroy(error),
      );
    },
  });
  return stream;
}

/** Returns a hit whose bytes are in memory as a whole. */
export function toBufferBytes(buffer: Uint8Array): CachedBytes {
  return {
    size: buffer.byteLength,
    buffer,
    open: async (span) =>
      Readable.from([span === undefined ? buffer : buffer.subarray(span.start, span.end + 1)], {
        objectMode: false,
      }),
    release: () => undefined,
  };
}

/** An LRU cache of buffers, bounded in bytes. */
export type MemoryCache = ReturnType<typeof createMemoryCache>;

/** Creates a memory cache of at most `maxBytes`. It does not keep a buffer larger than that. */
export function createMemoryCache(maxBytes: number) {
  // A Map keeps insertion order: a used entry moves to the end.
  const buffers = new Map<string, Uint8Array>();
  let total = 0;

  function remove(key: string): void {
    const buffer = buffers.get(key);
    if (buffer === undefined) return;
    buffers.delete(key);
    total -= buffer.byteLength;
  }

  return {
    get(key: string): Uint8Array | undefined {
      const buffer = buffers.get(key);
      if (buffer === undefined) return undefined;
      buffers.delete(key);
      buffers.set(key, buffer);
      return buffer;
    },
    put(key: string, bytes: Uint8Array): void {
      remove(key);
      if (bytes.byteLength > maxBytes) return;
      buffers.set(key, bytes);
      total += bytes.byteLength;
      for (const oldest of buffers.keys()) {
        if (total <= maxBytes) break;
        remove(oldest);
      }
    },
    delete: remove,
    get bytes() {
      return total;
    },
  };
}

/** Large enough to keep the number of calls low, small enough (2 ms) that other requests do not wait. */
const CHUNK_BYTES = 1024 * 1024;

/** Returns the SHA-256 of an open file, in hex. */
export async function hashFile(handle: FileHandle): Promise<string> {
  const hash = createHash("sha256");
  const chunk = new Uint8Array(CHUNK_BYTES);
  for (let position = 0; ;) {
    const { bytesRead } = await handle.read(chunk, 0, chunk.byteLength, position);
    if (bytesRead === 0) return hash.digest("hex");
    position += bytesRead;
    hash.update(chunk.subarray(0, bytesRead));
  }
}
