/** Runs `work` while holding the lock of `key`. Waiters get the lock in the order of their calls. */
export type WithLock = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/** Returns a function that holds one lock per key, for the calls of this process. */
export function createKeyLocks(): WithLock {
  const last = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const run = (last.get(key) ?? Promise.resolve()).then(work, work);
    const settled = run
      .catch(() => undefined)
      .finally(() => {
        if (last.get(key) === settled) last.delete(key);
      });
    last.set(key, settled);
    return run;
  };
}
