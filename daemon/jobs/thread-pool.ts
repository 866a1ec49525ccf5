import { Worker, type ResourceLimits } from "node:worker_threads";
import { AppError } from "../errors.ts";
import { createFairQueue, type FairQueueBounds } from "./fair-queue.ts";

/** Result of one job. */
export type ThreadOutcome<Output> =
  | { readonly kind: "done"; readonly value: Output }
  /** The job exceeded its time budget; its thread was terminated. */
  | { readonly kind: "timed_out" }
  /** The job exceeded a memory limit; its thread was terminated. */
  | { readonly kind: "out_of_memory" }
  /** The queue was full, or the item was displaced because its caller had too many. The job did not start. */
  | { readonly kind: "queue_full" }
  /** The job did not start: file descriptors or memory were missing for a thread, or the pool was closed. */
  | { readonly kind: "not_started"; readonly error: Error }
  /** The job threw, its thread exited, or the pool was closed. */
  | { readonly kind: "failed"; readonly error: Error };

export interface JobOptions {
  /**
   * Processor time that the job may use. Wall-clock time would end jobs early on a busy machine. Where Node cannot
   * measure it (before 24.6), the budget is wall-clock time.
   */
  readonly budgetMs: number;
  /** The caller that the job runs for: threads and queue places are shared fairly between callers. */
  readonly caller: string;
  /** Memory that the input holds while it waits; see `FairQueueBounds`. */
  readonly size: number;
}

/** Worker threads that run one job at a time each. Failures inside a thread are outcomes, not exceptions. */
export interface ThreadPool<Input, Output> {
  run(input: Input, options: JobOptions): Promise<ThreadOutcome<Output>>;
  /** Terminates all threads; running jobs settle as `failed`, waiting ones as `not_started`. */
  close(): Promise<void>;
}

export interface ThreadPoolOptions {
  /** `new URL("./name.worker.ts", import.meta.url)`; the script calls `serveThread`. */
  readonly workerUrl: URL;
  /** Passed to each thread when it starts. */
  readonly workerData: unknown;
  readonly threadsMax: number;
  /** Maximum number of jobs that run for one caller at the same time. */
  readonly runningPerCallerMax: number;
  /**
   * Returns whether a caller is anonymous. At most `runningPerCallerMax` jobs run for all anonymous callers together, and
   * together they have one share of the queue: one client can have very many addresses.
   */
  readonly isAnonymous?: (caller: string) => boolean;
  readonly queue: FairQueueBounds;
  /** Idle threads are terminated after this time. */
  readonly idleMs: number;
  readonly resourceLimits?: ResourceLimits;
  /**
   * Growth of the process's resident memory at which a job is ended. The limits of a thread do not cover buffers and
   * WebAssembly.
   */
  readonly growthBytesMax?: number;
  /** Called with the processor time of each job that ran, for its caller; wall-clock time where Node measures none. */
  readonly onUsed?: (caller: string, milliseconds: number) => void;
}

/** How often the growth of memory is checked. A decoder fills some 500 MiB a second. */
const GROWTH_CHECK_MS = 100;

/** Upper bound of wall-clock time, as a multiple of the processor time budget. */
export const WALL_CLOCK_FACTOR = 30;

interface Job<Input, Output> {
  readonly input: Input;
  readonly options: JobOptions;
  readonly settle: (outcome: ThreadOutcome<Output>) => void;
}

interface Thread<Input, Output> {
  readonly worker: Worker;
  job: Job<Input, Output> | undefined;
  /** The time when the job began, and the thread's processor time then. */
  begun: { readonly at: number; readonly processorMs: Promise<number | undefined> } | undefined;
  timer: NodeJS.Timeout | undefined;
  growthTimer: NodeJS.Timeout | undefined;
}

/** Message from a thread; `serveThread` sends it. */
export type ThreadMessage =
  | { readonly kind: "ready" }
  | { readonly kind: "done"; readonly value: unknown }
  | { readonly kind: "failed"; readonly error: Error };

/** Creates a pool. Threads start when a job needs one. */
export function createThreadPool<Input, Output>(
  options: ThreadPoolOptions,
): ThreadPool<Input, Output> {
  type PoolThread = Thread<Input, Output>;
  const threads = new Set<PoolThread>();
  const idle: PoolThread[] = [];
  /** Returns the group that shares a limit: one signed-in caller, or all anonymous callers. */
  const groupOf = (caller: string) => (options.isAnonymous?.(caller) === true ? "" : caller);
  const queue = createFairQueue<Job<Input, Output>>(options.queue, groupOf);
  const running = new Map<string, number>();
  let starting = 0;
  let isClosed = false;

  const mayStart = (caller: string) =>
    (running.get(groupOf(caller)) ?? 0) < options.runningPerCallerMax;

  /** Assigns waiting jobs to idle threads, and starts threads for the rest. */
  const dispatch = () => {
    for (let thread = idle.pop(); thread !== undefined; thread = idle.pop()) {
      const next = queue.shift(mayStart);
      if (next === undefined) {
        idle.push(thread);
        break;
      }
      begin(thread, next.item);
    }
    while (
      threads.size < options.threadsMax &&
      queue.countCallers(mayStart) > starting + idle.length
    )
      try {
        startThread();
      } catch (error) {
        // The system has no thread or memory left. Waiting jobs run on the other threads, if there are any.
        if (threads.size > 0) return;
        queue.shift(mayStart)?.item.settle({ kind: "not_started", error: error as Error });
      }
  };

  const begin = (thread: PoolThread, job: Job<Input, Output>) => {
    const group = groupOf(job.options.caller);
    running.set(group, (running.get(group) ?? 0) + 1);
    thread.job = job;
    clearTimeout(thread.timer);
    const before = processorMs(thread.worker);
    thread.begun = { at: performance.now(), processorMs: before };
    watchBudget(thread, job, before, 0, 0);
    watchGrowth(thread);
    thread.worker.ref();
    thread.worker.postMessage(job.input);
  };

  /** Checks after `waitMs` whether the job has used up its budget. `before` is the thread's processor time at its start. */
  const watchBudget = (
    thread: PoolThread,
    job: Job<Input, Output>,
    before: Promise<number | undefined>,
    waitMs: number,
    waitedMs: number,
  ) => {
    const { budgetMs } = job.options;
    const giveUp = () => stopThread(thread, { kind: "timed_out" });
    const check = async () => {
      // A thread inside a long native call cannot report its processor time either.
      thread.timer = setTimeout(giveUp, budgetMs);
      const [first, now] = [await before, await processorMs(thread.worker)];
      if (thread.job !== job) return;
      // The thread has ended: its `exit` event settles the job.
      if (first === undefined || now === undefined) return;
      clearTimeout(thread.timer);
      const leftMs = budgetMs - (now - first);
      const waited = waitedMs + waitMs;
      if (leftMs <= 0 || waited >= WALL_CLOCK_FACTOR * budgetMs) giveUp();
      else watchBudget(thread, job, before, Math.max(leftMs, budgetMs / 10), waited);
    };
    const isMeasured = "cpuUsage" in thread.worker;
    thread.timer = isMeasured
      ? setTimeout(() => {
          check().catch((error: Error) => stopThread(thread, { kind: "failed", error }));
        }, waitMs)
      : setTimeout(giveUp, budgetMs);
  };

  const watchGrowth = (thread: PoolThread) => {
    const { growthBytesMax } = options;
    if (growthBytesMax === undefined) return;
    const bytesMax = process.memoryUsage.rss() + growthBytesMax;
    thread.growthTimer = setInterval(() => {
      if (process.memoryUsage.rss() > bytesMax) stopThread(thread, { kind: "out_of_memory" });
    }, GROWTH_CHECK_MS);
  };

  /** Reports what a job has used. A thread that has ended tells no longer; its job had the wall-clock time at most. */
  const reportUse = (thread: PoolThread, { options: { caller, budgetMs } }: Job<Input, Output>) => {
    const { onUsed } = options;
    const { begun, worker } = thread;
    if (onUsed === undefined || begun === undefined) return;
    const lastedMs = Math.min(performance.now() - begun.at, budgetMs);
    Promise.all([begun.processorMs, processorMs(worker)])
      .then(([before, after]) => {
        const isMeasured = before !== undefined && after !== undefined;
        onUsed(caller, isMeasured ? Math.min(after - before, lastedMs) : lastedMs);
      })
      .catch((error: Error) => stopThread(thread, { kind: "failed", error }));
  };

  const settle = (thread: PoolThread, outcome: ThreadOutcome<Output>) => {
    const { job } = thread;
    clearTimeout(thread.timer);
    clearInterval(thread.growthTimer);
    thread.job = undefined;
    if (job === undefined) return;
    reportUse(thread, job);
    const group = groupOf(job.options.caller);
    const remaining = (running.get(group) ?? 1) - 1;
    if (remaining === 0) running.delete(group);
    else running.set(group, remaining);
    job.settle(outcome);
  };

  const becomeIdle = (thread: PoolThread) => {
    idle.push(thread);
    // An idle thread must not keep the process alive.
    thread.worker.unref();
    thread.timer = setTimeout(() => stopThread(thread, undefined), options.idleMs);
    thread.timer.unref();
    dispatch();
  };

  /** Terminates a thread; its job settles with `outcome`, and another thread starts if jobs are waiting. */
  const stopThread = (thread: PoolThread, outcome: ThreadOutcome<Output> | undefined) => {
    if (!threads.delete(thread)) return;
    clearTimeout(thread.timer);
    const at = idle.indexOf(thread);
    if (at !== -1) idle.splice(at, 1);
    // The end of the thread settles nothing any more.
    thread.worker.terminate().catch(() => undefined);
    settle(thread, outcome ?? { kind: "failed", error: new Error("the thread ended") });
    if (!isClosed) dispatch();
  };

  const startThread = () => {
    const worker = new Worker(options.workerUrl, {
      workerData: options.workerData,
      ...(options.resourceLimits === undefined ? {} : { resourceLimits: options.resourceLimits }),
    });
    const thread: PoolThread = {
      worker,
      job: undefined,
      begun: undefined,
      timer: undefined,
      growthTimer: undefined,
    };
    let isStarting = true;
    const started = () => {
      if (isStarting) starting -= 1;
      isStarting = false;
    };
    starting += 1;
    threads.add(thread);
    const fail = (error: Error) => {
      // A thread that fails before its first job fails every time, so a waiting job would wait for ever.
      if (isStarting && threads.has(thread))
        queue.shift(() => true)?.item.settle({ kind: "not_started", error });
      started();
      const isMemory = "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
      stopThread(thread, isMemory ? { kind: "out_of_memory" } : { kind: "failed", error });
    };
    worker.on("message", (message: ThreadMessage) => {
      started();
      if (!threads.has(thread)) return;
      if (message.kind === "done") settle(thread, { kind: "done", value: message.value as Output });
      else if (message.kind === "failed") settle(thread, message);
      becomeIdle(thread);
    });
    worker.on("error", (error: unknown) =>
      fail(error instanceof Error ? error : new Error(String(error))),
    );
    worker.on("exit", () => fail(new Error("the thread ended")));
  };

  const closedError = () => new Error("the pool is closed");
  const notStarted = (): ThreadOutcome<Output> => ({ kind: "not_started", error: closedError() });

  return {
    run: (input, jobOptions) =>
      new Promise((resolve) => {
        const item = { input, options: jobOptions, settle: resolve };
        if (isClosed) return resolve(notStarted());
        const pushed = queue.push({ caller: jobOptions.caller, size: jobOptions.size, item });
        if (pushed.kind === "full") return resolve({ kind: "queue_full" });
        for (const entry of pushed.displaced) entry.item.settle({ kind: "queue_full" });
        dispatch();
      }),
    async close() {
      isClosed = true;
      for (const { item } of queue.clear()) item.settle(notStarted());
      const ending = [...threads].map(({ worker }) => worker.terminate());
      for (const thread of threads) stopThread(thread, { kind: "failed", error: closedError() });
      await Promise.all(ending);
    },
  };
}

/** Processor time of a thread in milliseconds; undefined when it has ended, or where Node cannot measure it. */
async function processorMs(worker: Worker): Promise<number | undefined> {
  if (!("cpuUsage" in worker)) return undefined;
  return worker.cpuUsage().then(
    ({ user, system }) => (user + system) / 1_000,
    () => undefined,
  );
}

const THREADS_RETRY_AFTER_SECONDS = 5;

/**
 * Returns the refusal of a job that worker threads did not start, because the queue is full or no thread could start.
 */
export function threadsUnavailable(
  outcome: Extract<ThreadOutcome<unknown>, { kind: "queue_full" | "not_started" }>,
): AppError {
  return new AppError("unavailable", "The server is busy. Try again in a moment.", {
    cause: outcome.kind === "not_started" ? outcome.error : undefined,
    retryAfterSeconds: THREADS_RETRY_AFTER_SECONDS,
  });
}
