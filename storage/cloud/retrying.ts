import {
  isWaitedFor,
  mayRetryChange,
  mayRetryRead,
  type Failure,
  type ReadFailure,
} from "./outcomes.ts";
import type { CloudProvider } from "./provider.ts";

/** How often a call is made at most, the first time included: one that does no harm twice, */
export const READS_MAX = 4;
/** and a change. */
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
 * What was waited for to the end of a time is not tried again, nor is an upload here: its bytes are gone.
 */
export function withRetries(provider: CloudProvider, deps: RetryDeps): CloudProvider {
  const again = <T extends { readonly kind: string }>(
    callsMax: number,
    mayRetry: (failure: Failure) => boolean,
    signal: AbortSignal,
    call: () => Promise<T>,
  ): Promise<T> => {
    const toRetry = (outcome: T) => {
      // What is no failure has a kind of its own, which no retry rule knows.
      const failure = outcome as unknown as Failure;
      return mayRetry(failure) ? failure : undefined;
    };
    return callAgain(deps, { callsMax, signal, toRetry }, call);
  };

  const look = <T extends { readonly kind: string }>(signal: AbortSignal, call: () => Promise<T>) =>
    again(READS_MAX, mayLookAgain, signal, call);
  const change = <T extends { readonly kind: string }>(
    signal: AbortSignal,
    call: () => Promise<T>,
  ) => again(CHANGES_MAX, mayChangeAgain, signal, call);

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

function mayLookAgain(failure: ReadFailure): boolean {
  return mayRetryRead(failure) && !isWaitedFor(failure);
}

function mayChangeAgain(failure: Failure): boolean {
  return mayRetryChange(failure) && !isWaitedFor(failure);
}

/** A call that is made again, after growing and jittered waits, while `toRetry` tells a failure to be waited for. */
export async function callAgain<T>(
  deps: RetryDeps,
  rules: {
    readonly callsMax: number;
    readonly signal: AbortSignal;
    /** The failure that the call ended with, when it may be made again. */
    readonly toRetry: (outcome: T) => ReadFailure | undefined;
  },
  call: () => Promise<T>,
): Promise<T> {
  const { callsMax, signal, toRetry } = rules;
  for (let calls = 1; ; calls++) {
    const outcome = await call();
    const failure = toRetry(outcome);
    if (calls >= callsMax || failure === undefined || signal.aborted) return outcome;
    try {
      await deps.sleep(waitMs(failure, calls, deps.random), signal);
    } catch (error) {
      if (signal.aborted) return outcome;
      throw error;
    }
  }
}

/** Full jitter over a doubling wait, or what the provider asks for. */
function waitMs(failure: ReadFailure, calls: number, random: () => number): number {
  if (failure.kind === "rate_limited" && failure.retryAfterSeconds !== undefined)
    return failure.retryAfterSeconds * 1000;
  return Math.min(WAIT_MS_MAX, FIRST_WAIT_MS * 2 ** (calls - 1)) * random();
}
