import {
  isWaitedFor,
  mayRetryChange,
  mayRetryRead,
  type Failure,
  type ReadFailure,
} from "./outcomes.ts";
import type { CloudProvider } from "./provider.ts";

/** Maximum number of attempts of an idempotent call, the first included. */
export const READS_MAX = 4;
/** Maximum number of attempts of a change, the first included. */
const CHANGES_MAX = 3;
const FIRST_WAIT_MS = 200;
const WAIT_MS_MAX = 3_000;

export interface RetryDeps {
  /** Resolves after this many milliseconds; rejects when aborted. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Returns a number from 0 up to but excluding 1. */
  readonly random: () => number;
}

/**
 * Wraps a storage and retries where that is harmless: reads with exponential backoff and jitter; changes only when they
 * certainly did not happen. Waits for a short Retry-After of the provider, and returns the failure for a long one.
 * Does not retry after a time-out, nor an upload: its stream is consumed.
 */
export function withRetries(provider: CloudProvider, deps: RetryDeps): CloudProvider {
  const callWithRetries = <T extends { readonly kind: string }>(
    callsMax: number,
    mayRetry: (failure: Failure) => boolean,
    signal: AbortSignal,
    call: () => Promise<T>,
  ): Promise<T> => {
    const toRetry = (outcome: T) => {
      // No retry rule matches the kinds of successes.
      const failure = outcome as unknown as Failure;
      return mayRetry(failure) ? failure : undefined;
    };
    return callAgain(deps, { callsMax, signal, toRetry }, call);
  };

  const look = <T extends { readonly kind: string }>(signal: AbortSignal, call: () => Promise<T>) =>
    callWithRetries(READS_MAX, mayLookAgain, signal, call);
  const change = <T extends { readonly kind: string }>(
    signal: AbortSignal,
    call: () => Promise<T>,
  ) => callWithRetries(CHANGES_MAX, mayChangeAgain, signal, call);

  const replace = provider.replace?.bind(provider);
  const discardSession = provider.discardSession?.bind(provider);
  const recover = provider.recover?.bind(provider);
  const { trash } = provider;
  return {
    capabilities: provider.capabilities,
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
    ...(discardSession && { discardSession }),
    ...(recover && { recover }),
    ...(replace && { replace: (input) => replace(input) }),
    ...(trash && {
      trash: {
        ...trash,
        list: (input) => look(input.signal, () => trash.list(input)),
        restore: (input) => change(input.signal, () => trash.restore(input)),
      },
    }),
    close: () => provider.close(),
  };
}

function mayLookAgain(failure: ReadFailure): boolean {
  return mayRetryRead(failure) && !isWaitedFor(failure);
}

function mayChangeAgain(failure: Failure): boolean {
  return mayRetryChange(failure) && !isWaitedFor(failure);
}

/** Retries a call with exponential backoff and jitter, while `toRetry` returns a retryable failure. */
export async function callAgain<T>(
  deps: RetryDeps,
  rules: {
    readonly callsMax: number;
    readonly signal: AbortSignal;
    /** Returns the failure of the call when it may be retried. */
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

/** Returns a fully jittered exponential delay, or the provider's Retry-After. */
function waitMs(failure: ReadFailure, calls: number, random: () => number): number {
  if (failure.kind === "rate_limited" && failure.retryAfterSeconds !== undefined)
    return failure.retryAfterSeconds * 1000;
  return Math.min(WAIT_MS_MAX, FIRST_WAIT_MS * 2 ** (calls - 1)) * random();
}
