/** Waits between attempts: doubled each time, from the first to the longest. */
const FIRST_MS = 100;
const LONGEST_MS = 5_000;

/** The process functions that waiting needs. */
export type Sleep = (milliseconds: number, signal?: AbortSignal) => Promise<void>;

export interface RetryOptions {
  readonly sleep: Sleep;
  /** Ends the attempts: the error of the last one is thrown. */
  readonly signal: AbortSignal;
  /** Whether another attempt cannot succeed. */
  readonly isFinal: (error: unknown) => boolean;
  /** Called before each wait. */
  readonly onRetry?: ((error: unknown) => void) | undefined;
}

/** Repeats `work` with growing waits until it succeeds, fails permanently, or the signal is aborted. */
export async function withRetries<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  for (let wait = FIRST_MS; ; wait = Math.min(wait * 2, LONGEST_MS)) {
    try {
      return await work();
    } catch (error) {
      if (options.isFinal(error) || options.signal.aborted) throw error;
      options.onRetry?.(error);
      // An abort ends the wait; the next attempt is the last one.
      await options.sleep(wait, options.signal).catch(() => undefined);
    }
  }
}
