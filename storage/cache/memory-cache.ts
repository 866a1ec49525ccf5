/** Buffers by key, bounded in bytes; the least recently used go first. */
export interface MemoryCache {
  get(key: string): Uint8Array | undefined;
  put(key: string, bytes: Uint8Array): void;
  delete(key: string): void;
  readonly bytes: number;
}

/** A memory cache of at most `maxBytes`; a buffer larger than that is not kept. */
export function createMemoryCache(maxBytes: number): MemoryCache {
  // A Map keeps the order of insertion: whatever is used is put at the end again.
  const buffers = new Map<string, Uint8Array>();
  let total = 0;

  function remove(key: string): void {
    const known = buffers.get(key);
    if (known === undefined) return;
    buffers.delete(key);
    total -= known.byteLength;
  }

  return {
    get(key) {
      const known = buffers.get(key);
      if (known === undefined) return undefined;
      buffers.delete(key);
      buffers.set(key, known);
      return known;
    },
    put(key, bytes) {
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
