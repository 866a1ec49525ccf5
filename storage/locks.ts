/** Locks by name, for the calls of one process. */
export type Locks = ReturnType<typeof createLocks>;

/** The calls of one key that have not ended. */
interface Queue {
  /** The last exclusive call. */
  exclusive: Promise<void> | undefined;
  /** The shared calls since then. */
  readonly shared: Set<Promise<void>>;
}

/** Creates a set of locks. Equal keys of two sets are different locks. */
export function createLocks() {
  const queues = new Map<string, Queue>();

  function remove(key: string, own: Promise<void>): void {
    const queue = queues.get(key);
    if (queue === undefined) return;
    queue.shared.delete(own);
    if (queue.exclusive === own) queue.exclusive = undefined;
    if (queue.exclusive === undefined && queue.shared.size === 0) queues.delete(key);
  }

  return {
    /**
     * Runs `work` while holding the locks of all `keys`, and returns its result or rethrows its error. Waiters acquire a
     * lock in the order of their calls. All locks of one call are acquired together, so there is no deadlock. Not
     * reentrant.
     */
    async withLocks<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
      const own = Promise.withResolvers<void>();
      const unique = [...new Set(keys)];
      const before = unique.flatMap((key) => {
        const queue = queues.get(key);
        return [
          ...(queue?.exclusive === undefined ? [] : [queue.exclusive]),
          ...(queue?.shared ?? []),
        ];
      });
      for (const key of unique) queues.set(key, { exclusive: own.promise, shared: new Set() });
      try {
        await Promise.all(before);
        return await work();
      } finally {
        for (const key of unique) remove(key, own.promise);
        own.resolve();
      }
    },

    /**
     * Runs `work` while holding the lock of `key` together with other calls of `withSharedLock`: never while `withLocks` holds
     * it. A call waits behind each earlier call of `withLocks`, so neither kind starves.
     */
    async withSharedLock<T>(key: string, work: () => Promise<T>): Promise<T> {
      const own = Promise.withResolvers<void>();
      const queue = queues.get(key) ?? { exclusive: undefined, shared: new Set() };
      queues.set(key, queue);
      queue.shared.add(own.promise);
      try {
        await queue.exclusive;
        return await work();
      } finally {
        remove(key, own.promise);
        // A later exclusive call has replaced the queue, and waits for this call.
        own.resolve();
      }
    },

    /** Returns whether a lock is held or waited for. */
    isLocked: (key: string): boolean => queues.has(key),
  };
}

/** Runs `work` while holding a permit of a semaphore. Waiters get permits in the order of their calls. */
export type WithPermit = <T>(work: () => Promise<T>) => Promise<T>;

export interface SemaphoreOptions {
  /** How many calls may run at the same time; 1 makes a mutex. */
  readonly permits: number;
  /** How many calls may wait for a permit; no bound when absent. */
  readonly waitingMax?: number;
  /** Creates the error for a call that would exceed `waitingMax`. */
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
      // The permit passes directly to the next waiter, so that a new call cannot overtake it.
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}

/** Creates semaphores by key: a call waits for calls of the same key only. */
export function createSemaphores(
  options: SemaphoreOptions,
): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const used = new Map<string, { readonly withPermit: WithPermit; calls: number }>();
  return async (key, work) => {
    const own = used.get(key) ?? { withPermit: createSemaphore(options), calls: 0 };
    used.set(key, own);
    own.calls += 1;
    try {
      return await own.withPermit(work);
    } finally {
      own.calls -= 1;
      if (own.calls === 0) used.delete(key);
    }
  };
}
