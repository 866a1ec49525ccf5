import { mayRetryChange, mayRetryRead, type Failure, type ReadFailure } from "./outcomes.ts";
import type { CloudProvider } from "./provider.ts";

/** How often a call is made at most, the first time included. */
const READS_MAX = 4;
const CHANGES_MAX = 3;
const FIRST_WAIT_MS = 200;
const WAIT_MS_MAX = 3_000;

export interface RetryDeps {
  /** Resolves after so many milliseconds; rejects when aborted. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** From 0 up to 1. */
  readonly random: () => number;
}

/**
 * The same storage, tried again where that is harmless: looks and reads a few times with growing, jittered waits;
 * changes only when they certainly did not happen. A provider's short Retry-After is waited for, a long one is answered.
 * An upload is never tried again here: its bytes are gone.
 */
export function withRetries(provider: CloudProvider, deps: RetryDeps): CloudProvider {
  async function again<T extends { readonly kind: string }>(
    callsMax: number,
    mayRetry: (failure: Failure) => boolean,
    signal: AbortSignal,
    call: () => Promise<T>,
  ): Promise<T> {
    for (let calls = 1; ; calls++) {
      const outcome = await call();
      // What is no failure has a kind of its own, which no retry rule knows.
      const failure = outcome as unknown as Failure;
      if (calls >= callsMax || !mayRetry(failure) || signal.aborted) return outcome;
      try {
        await deps.sleep(waitMs(failure, calls, deps.random), signal);
      } catch (error) {
        if (signal.aborted) return outcome;
        throw error;
      }
    }
  }

  const look = <T extends { readonly kind: string }>(signal: AbortSignal, call: () => Promise<T>) =>
    again(READS_MAX, (failure) => mayRetryRead(failure as ReadFailure), signal, call);
  const change = <T extends { readonly kind: string }>(
    signal: AbortSignal,
    call: () => Promise<T>,
  ) => again(CHANGES_MAX, mayRetryChange, signal, call);

  return {
    can: provider.can,
    list: (input) => look(input.signal, () => provider.list(input)),
    stat: (input) => look(input.signal, () => provider.stat(input)),
    read: (input) => look(input.signal, () => provider.read(input)),
    quota: (input) => look(input.signal, () => provider.quota(input)),
    check: (input) => provider.check(input),
    createFolder: (input) => change(input.signal, () => provider.createFolder(input)),
    rename: (input) => change(input.signal, () => provider.rename(input)),
    move: (input) => change(input.signal, () => provider.move(input)),
    delete: (input) => change(input.signal, () => provider.delete(input)),
    upload: (input) => provider.upload(input),
    close: () => provider.close(),
  };
}

/** Full jitter over a doubling wait, or what the provider asks for. */
function waitMs(failure: Failure, calls: number, random: () => number): number {
  if (failure.kind === "rate_limited" && failure.retryAfterSeconds !== undefined)
    return failure.retryAfterSeconds * 1000;
  return Math.min(WAIT_MS_MAX, FIRST_WAIT_MS * 2 ** (calls - 1)) * (0.5 + random() / 2);
}
