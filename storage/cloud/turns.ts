/**
 * Runs `work` when no other work of any of the same keys is running, in the order in which it was asked for. Keys are taken
 * together or not at all, so that nobody waits in a circle. What `work` gives or throws is the result.
 */
export type InTurn = <T>(keys: readonly string[], work: () => Promise<T>) => Promise<T>;

/** Keeps pieces of work apart that must not run at the same time (`ProviderDeps.turns`). */
export interface Turns {
  readonly inTurn: InTurn;
  /** Whether anything runs or waits under a key. */
  isTaken(key: string): boolean;
}

/**
 * Turns for the steps of storages that compare and act in two requests: this daemon's own requests then never slip in
 * between, from whichever connection they come.
 */
export function createTurns(): Turns {
  const lasts = new Map<string, Promise<void>>();
  return {
    async inTurn(keys, work) {
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
    isTaken: (key) => lasts.has(key),
  };
}
