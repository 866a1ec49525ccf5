/** Keeps pieces of work apart that must not run at the same time. */
export interface Turns {
  /** Runs `work` once everything that was asked for earlier under the same key is over. Settles as `work` does. */
  inTurn<T>(key: string, work: () => Promise<T>): Promise<T>;
}

/** Turns that hold within this process. A key that nobody waits for any more costs nothing. */
export function createTurns(): Turns {
  const latest = new Map<string, Promise<unknown>>();
  return {
    inTurn(key, work) {
      const before = latest.get(key) ?? Promise.resolve();
      const mine = before.then(work, work);
      const settled = mine.then(
        () => undefined,
        () => undefined,
      );
      latest.set(key, settled);
      void settled.then(() => {
        if (latest.get(key) === settled) latest.delete(key);
      });
      return mine;
    },
  };
}

/** Runs `work` in turn under several keys at once. They are taken in one order everywhere, so that nobody waits for ever. */
export function inTurns<T>(
  turns: Turns,
  keys: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  const ordered = [...new Set(keys)].sort();
  return ordered.reduceRight<() => Promise<T>>(
    (next, key) => () => turns.inTurn(key, next),
    work,
  )();
}
