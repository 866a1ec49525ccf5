import { assertNever } from "../errors.ts";
import type { ProcessorShares } from "../jobs/processor-shares.ts";
import { createThreadPool, threadsUnavailable } from "../jobs/thread-pool.ts";

/** A pure function over values from users, with an estimate of its work. */
export interface ComputeFunction<Input, Output> {
  /** The threads find the function by its name; daemon/composition/compute.worker.ts lists all. */
  readonly name: string;
  /**
   * Returns an upper bound of the work of one call in steps, such as compared characters, without doing that work. A step
   * takes at most some 10 ns.
   */
  readonly cost: (input: Input) => number;
  /** Returns the characters of the input, which is in memory while it waits for a thread. */
  readonly length: (input: Input) => number;
  /** `postMessage` must be able to copy the input and the result. */
  readonly run: (input: Input) => Output;
}

/** The input of a thread. */
export interface ComputeRequest {
  readonly name: string;
  readonly input: unknown;
}

/** Result of a call. */
export type Computed<Output> =
  | { readonly kind: "done"; readonly value: Output }
  /** The call used up its budget of processor time or memory. `reason` completes "the … takes". */
  | { readonly kind: "exceeded"; readonly reason: "too much time" | "too much memory" };

/**
 * The one way to evaluate what users send when its work is not bounded by its size: patterns, expressions, matrices,
 * masks. A cheap call runs at once on the calling thread. Any other runs in a worker thread under a budget of processor
 * time, while the event loop serves other requests.
 */
export type Compute = ReturnType<typeof createCompute>;

export interface ComputeOptions {
  /** The entry of the threads: daemon/composition/compute.worker.ts. */
  readonly workerUrl: URL;
  /** What one account may use of the threads in all, over a period. */
  readonly shares: ProcessorShares;
  /** Processor time of one call in a thread. */
  readonly budgetMs?: number;
  /** Calls of at most this cost run on the calling thread: some 2 ms. */
  readonly inlineCostMax?: number;
}

const BUDGET_MS = 2_000;
const INLINE_COST_MAX = 200_000;
const THREADS_MAX = 2;
/** Calls that wait for a thread: in total, of one account, and the characters of their inputs. */
const WAITING_MAX = 512;
const WAITING_PER_ACCOUNT_MAX = 64;
const WAITING_LENGTH_MAX = 64 * 1024 * 1024;

/** Creates the threads, which start with the first call that needs one. */
export function createCompute({
  workerUrl,
  shares,
  budgetMs = BUDGET_MS,
  inlineCostMax = INLINE_COST_MAX,
}: ComputeOptions) {
  const threads = createThreadPool<ComputeRequest, unknown>({
    workerUrl,
    workerData: undefined,
    threadsMax: THREADS_MAX,
    runningPerCallerMax: 1,
    queue: {
      lengthMax: WAITING_MAX,
      lengthPerCallerMax: WAITING_PER_ACCOUNT_MAX,
      sizeMax: WAITING_LENGTH_MAX,
    },
    idleMs: 30_000,
    resourceLimits: { maxOldGenerationSizeMb: 256 },
    onUsed: shares.book,
  });
  return {
    /**
     * Runs a function. Throws what the function throws, `unavailable` with `Retry-After` when too many calls wait or no
     * thread can start, and `rate_limited` when the account has used up its share of the processors. Must not be
     * awaited in a transaction: compute before it, and check in it that the values which were read are still the same.
     * @param account the account that the work is done for, such as `String(owner.id)`. One account uses one thread at a
     * time, and waiting calls are served in turns between accounts
     */
    async run<Input, Output>(
      called: ComputeFunction<Input, Output>,
      input: Input,
      account: string,
    ): Promise<Computed<Output>> {
      if (called.cost(input) <= inlineCostMax) return { kind: "done", value: called.run(input) };
      shares.assertLeft(account);
      const outcome = await threads.run(
        { name: called.name, input },
        { budgetMs, caller: account, size: called.length(input) },
      );
      switch (outcome.kind) {
        case "done":
          return { kind: "done", value: outcome.value as Output };
        case "timed_out":
          return { kind: "exceeded", reason: "too much time" };
        case "out_of_memory":
          return { kind: "exceeded", reason: "too much memory" };
        case "failed":
          throw outcome.error;
        case "queue_full":
        case "not_started":
          throw threadsUnavailable(outcome);
        default:
          return assertNever(outcome);
      }
    },
    /** Terminates the threads. */
    close: (): Promise<void> => threads.close(),
  };
}
