import { AppError } from "../../errors.ts";

/** Limits of concurrent transfers. */
export interface TransferLimits {
  /** Transfers at one time, and how many of them for one key. */
  readonly atOnce: number;
  readonly perKey: number;
  /** Length of the queue. */
  readonly waiting: number;
}

/** A semaphore with a limit per key and a bounded queue. */
export interface TransferLimiter {
  /**
   * Acquires a slot and returns the function that releases it, which is idempotent. Refuses with `unavailable` when the
   * queue is full. Rejects with the reason of the signal when it is aborted while waiting.
   */
  acquire(key: string, signal: AbortSignal): Promise<() => void>;
}

interface Waiting {
  readonly key: string;
  readonly begin: () => void;
}

export function createTransferLimiter({
  atOnce,
  perKey,
  waiting: waitingMax,
}: TransferLimits): TransferLimiter {
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
    async acquire(key, signal) {
      signal.throwIfAborted();
      if (isFree(key)) return begin(key);
      if (waiting.length >= waitingMax)
        throw new AppError(
          "unavailable",
          "too many clones and pushes at once, try again in a moment",
          {
            retryAfterSeconds: 5,
          },
        );
      const { promise, resolve, reject } = Promise.withResolvers<() => void>();
      const waiter: Waiting = { key, begin: () => resolve(begin(key)) };
      const giveUp = () => {
        const index = waiting.indexOf(waiter);
        if (index !== -1) waiting.splice(index, 1);
        reject(signal.reason);
      };
      waiting.push(waiter);
      signal.addEventListener("abort", giveUp, { once: true });
      return promise.finally(() => signal.removeEventListener("abort", giveUp));
    },
  };
}
