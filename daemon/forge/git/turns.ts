import { AppError } from "../../errors.ts";

/** How many may go on at one time, and how many may wait. */
export interface TurnLimits {
  /** How many may be under way at one time, and how many of them for one key. */
  readonly atOnce: number;
  readonly perKey: number;
  /** How many may wait for their turn. */
  readonly waiting: number;
}

/** Bounds how much of something costly goes on at one time. */
export interface Turns {
  /**
   * Resolves when it is the caller's turn, with the function that ends it; may be called twice. Refuses with
   * `unavailable` when too many wait already, rejects with the signal's reason when it is aborted first.
   */
  take(key: string, signal: AbortSignal): Promise<() => void>;
}

interface Waiting {
  readonly key: string;
  readonly begin: () => void;
}

export function createTurns({ atOnce, perKey, waiting: waitingMax }: TurnLimits): Turns {
  const running = new Map<string, number>();
  const waiting: Waiting[] = [];
  let total = 0;

  const isFree = (key: string) => total < atOnce && (running.get(key) ?? 0) < perKey;

  const begin = (key: string): (() => void) => {
    total += 1;
    running.set(key, (running.get(key) ?? 0) + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      total -= 1;
      const left = (running.get(key) ?? 1) - 1;
      if (left === 0) running.delete(key);
      else running.set(key, left);
      next();
    };
  };

  const next = () => {
    const index = waiting.findIndex(({ key }) => isFree(key));
    if (index !== -1) waiting.splice(index, 1)[0]?.begin();
  };

  return {
    async take(key, signal) {
      signal.throwIfAborted();
      if (isFree(key)) return begin(key);
      if (waiting.length >= waitingMax)
        throw new AppError(
          "unavailable",
          "too many clones and pushes at once, try again in a moment",
          {
            headers: { "Retry-After": "5" },
          },
        );
      const { promise, resolve, reject } = Promise.withResolvers<() => void>();
      const turn: Waiting = { key, begin: () => resolve(begin(key)) };
      const giveUp = () => {
        const index = waiting.indexOf(turn);
        if (index !== -1) waiting.splice(index, 1);
        reject(signal.reason);
      };
      waiting.push(turn);
      signal.addEventListener("abort", giveUp, { once: true });
      return promise.finally(() => signal.removeEventListener("abort", giveUp));
    },
  };
}
