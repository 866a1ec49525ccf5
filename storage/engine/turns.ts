/** Runs what it is given, but never more than its number at a time; the rest waits in order. */
export type Turns = <T>(use: () => Promise<T>) => Promise<T>;

/** Creates turns for `max` at a time. */
export function createTurns(max: number): Turns {
  const waiting: (() => void)[] = [];
  let free = max;
  return async (use) => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await use();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    }
  };
}

/** Counts what is under way, so that closing can wait for it. */
export interface Count {
  during<T>(use: () => Promise<T>): Promise<T>;
  /** Resolves when nothing is under way. */
  none(): Promise<void>;
}

/** Creates a count of nothing. */
export function createCount(): Count {
  let count = 0;
  let onNone: (() => void) | undefined;
  return {
    async during(use) {
      count++;
      try {
        return await use();
      } finally {
        if (--count === 0) onNone?.();
      }
    },
    none() {
      if (count === 0) return Promise.resolve();
      return new Promise((resolve) => {
        onNone = resolve;
      });
    },
  };
}
