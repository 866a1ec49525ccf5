/** Locks by name, for the calls of one process. */
export interface Locks {
  /**
   * Runs `work` while holding the locks of all `keys`, and returns or throws what it does. Waiters acquire a lock in the
   * order of their calls. All locks of one call are acquired together, so there is no deadlock. Not reentrant.
   */
  withLocks<T>(keys: readonly string[], work: () => Promise<T>): Promise<T>;
  /** Returns whether a lock is held or waited for. */
  isLocked(key: string): boolean;
}

/** Creates a set of locks; two sets do not know each other's keys. */
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

/** Runs `work` while holding a permit of a semaphore. Waiters get permits in the order of their calls. */
export type WithPermit = <T>(work: () => Promise<T>) => Promise<T>;

export interface SemaphoreOptions {
  /** How many calls may run at the same time; 1 makes a mutex. */
  readonly permits: number;
  /** How many calls may wait for a permit; no bound when absent. */
  readonly waitingMax?: number;
  /** Makes the error of a call that would exceed `waitingMax`. */
  readonly toFullError?: () => Error;
}

/** Creates a semaphore. */
export function createSemaphore({
  permits,
  waitingMax = Number.POSITIVE_INFINITY,
  toFullError = () => new Error("too many calls wait for a permit"),
}: SemaphoreOptions): WithPermit {
  const waiting: (() => void)[] = [];
  let free = permits;
  return async (work) => {
    if (free > 0) free -= 1;
    else {
      if (waiting.length >= waitingMax) throw toFullError();
      await new Promise<void>((acquired) => waiting.push(acquired));
    }
    try {
      return await work();
    } finally {
      // The permit passes to the next waiter directly: a new call cannot overtake it.
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}
