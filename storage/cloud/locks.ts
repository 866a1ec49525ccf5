/** Locks by name, shared by all connections of this daemon (`ProviderDeps.locks`). */
export interface Locks {
  /**
   * Runs `work` while holding the locks of all `keys`, and returns or throws what it does. Waiters acquire a lock in the
   * order in which they asked. All locks of one call are acquired together, so there is no deadlock.
   */
  withLocks<T>(keys: readonly string[], work: () => Promise<T>): Promise<T>;
  /** Whether a lock is held or waited for. */
  isLocked(key: string): boolean;
}

/**
 * Creates locks for storages that compare and act in two requests, so that no other request of this daemon comes between
 * the two.
 */
export function createLocks(): Locks {
  const lasts = new Map<string, Promise<void>>();
  return {
    async withLocks(keys, work) {
      const mine = Promise.withResolvers<void>();
      const unique = [...new Set(keys)];
      const before = unique.map((key) => lasts.get(key)).filter((last) => last !== undefined);
      for (const key of unique) lasts.set(key, mine.promise);
      try {
        await Promise.all(before);
        return await work();
      } finally {
        for (const key of unique) if (lasts.get(key) === mine.promise) lasts.delete(key);
        mine.resolve();
      }
    },
    isLocked: (key) => lasts.has(key),
  };
}
