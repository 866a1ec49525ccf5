/**
 * Creates an empty cache in memory, bounded by the length of one value and of all together. It evicts the least
 * recently used values.
 */
export function createLruCache<T>(limits: {
  readonly valueLengthMax: number;
  readonly lengthMax: number;
}) {
  // A Map keeps the order of insertion: a value that is used is inserted again.
  const entries = new Map<string, { readonly value: T; readonly length: number }>();
  let total = 0;
  return {
    get(key: string): T | undefined {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entries.delete(key);
      entries.set(key, entry);
      return entry.value;
    },
    /**
     * Keeps a value unless its length exceeds the limit. Replaces the former value of the key.
     * @param length of the value, such as its characters
     */
    set(key: string, value: T, length: number): void {
      if (length > limits.valueLengthMax) return;
      total -= entries.get(key)?.length ?? 0;
      entries.delete(key);
      entries.set(key, { value, length });
      total += length;
      for (const [oldest, { length: freed }] of entries) {
        if (total <= limits.lengthMax) break;
        entries.delete(oldest);
        total -= freed;
      }
    },
  };
}
