interface Waiter {
  readonly known: number;
  readonly resolve: (version: number) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Polls the version once for all waiting requests, so that a hundred idle runners cost as much as one. Waits until the
 * version of the queue differs from a known one.
 */
export function createVersionWatch({
  read,
  everyMs,
}: {
  readonly read: () => Promise<number>;
  readonly everyMs: number;
}) {
  const waiters = new Set<Waiter>();
  let isLooking = false;

  return {
    /**
     * Returns the version once it differs from `known`, else the same version after `holdMs` or when the signal aborts.
     * @throws any error of reading the version
     */
    async wait(known: number, holdMs: number, signal: AbortSignal): Promise<number> {
      const version = await read();
      if (version !== known || signal.aborted) return version;
      return new Promise<number>((resolve, reject) => {
        const end = () => {
          clearTimeout(timer);
          signal.removeEventListener("abort", giveUp);
          waiters.delete(waiter);
        };
        const waiter: Waiter = {
          known,
          resolve: (found) => (end(), resolve(found)),
          reject: (error) => (end(), reject(error)),
        };
        const giveUp = () => waiter.resolve(known);
        const timer = setTimeout(giveUp, holdMs);
        signal.addEventListener("abort", giveUp, { once: true });
        waiters.add(waiter);
        if (!isLooking) look().catch(reject);
      });
    },
  };

  /** Polls while a request waits. Never rejects; passes errors to the waiting requests. */
  async function look(): Promise<void> {
    isLooking = true;
    while (waiters.size > 0) {
      await new Promise<void>((resolve) => void setTimeout(resolve, everyMs));
      try {
        const version = await read();
        for (const waiter of waiters) if (waiter.known !== version) waiter.resolve(version);
      } catch (error) {
        for (const waiter of waiters) waiter.reject(error);
      }
    }
    isLooking = false;
  }
}
