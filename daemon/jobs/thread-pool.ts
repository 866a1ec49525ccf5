import { Worker, type ResourceLimits } from "node:worker_threads";

/** What became of a piece of work. */
export type ThreadOutcome<Output> =
  | { readonly kind: "done"; readonly value: Output }
  /** It took longer than its budget; the thread was ended. */
  | { readonly kind: "timed_out" }
  /** It took more memory than a thread may have; the thread was ended. */
  | { readonly kind: "out_of_memory" }
  /** Too much is waiting already. */
  | { readonly kind: "busy" }
  /** The work threw, or the thread died of something else. */
  | { readonly kind: "failed"; readonly error: Error };

/** Threads that each do one piece of work at a time. Never throws for what happens in a thread. */
export interface ThreadPool<Input, Output> {
  /**
   * `budgetMs` is what the work may take of a processor, so that a busy machine ends nothing; by the clock where Node
   * cannot tell (before 24.6). It counts from when a thread begins, not while the work waits for one.
   */
  run(input: Input, options: { readonly budgetMs: number }): Promise<ThreadOutcome<Output>>;
  /** Ends all threads; work under way or waiting answers `failed`. */
  close(): Promise<void>;
}

export interface ThreadPoolOptions {
  /** Made by `new URL("./name.worker.ts", import.meta.url)` where the worker's file lies; see `serveThread`. */
  readonly workerUrl: URL;
  /** Handed to each thread when it starts. */
  readonly workerData: unknown;
  readonly threadsMax: number;
  /** How much may wait. */
  readonly queueMax: number;
  /** A thread that had nothing to do for so long is ended. */
  readonly idleMs: number;
  readonly resourceLimits?: ResourceLimits;
}

/** By the clock, work may take so many times its budget. */
const PATIENCE = 30;

interface Job<Input, Output> {
  readonly input: Input;
  readonly budgetMs: number;
  readonly settle: (outcome: ThreadOutcome<Output>) => void;
}

interface Thread<Input, Output> {
  readonly worker: Worker;
  job: Job<Input, Output> | undefined;
  timer: NodeJS.Timeout | undefined;
}

/** What a thread answers; `serveThread` writes it. */
export type ThreadMessage =
  | { readonly kind: "ready" }
  | { readonly kind: "done"; readonly value: unknown }
  | { readonly kind: "failed"; readonly error: Error };

/** A pool that starts threads when there is work for them and ends them when there is none. */
export function createThreadPool<Input, Output>(
  options: ThreadPoolOptions,
): ThreadPool<Input, Output> {
  type Own = Thread<Input, Output>;
  const threads = new Set<Own>();
  const idle: Own[] = [];
  const queue: Job<Input, Output>[] = [];
  let isClosed = false;

  const begin = (thread: Own, job: Job<Input, Output>) => {
    thread.job = job;
    clearTimeout(thread.timer);
    watch(thread, job, workedMs(thread.worker), job.budgetMs, 0);
    thread.worker.ref();
    thread.worker.postMessage(job.input);
  };

  /** Looks after `waitMs` whether a thread has used up what it may; `before` is what it had worked for earlier jobs. */
  const watch = (
    thread: Own,
    job: Job<Input, Output>,
    before: Promise<number | undefined>,
    waitMs: number,
    waitedMs: number,
  ) => {
    const giveUp = () => end(thread, { kind: "timed_out" });
    const look = async () => {
      // One that does not even say is in a call that nothing interrupts.
      thread.timer = setTimeout(giveUp, job.budgetMs);
      const [first, now] = [await before, await workedMs(thread.worker)];
      if (thread.job !== job) return;
      clearTimeout(thread.timer);
      const leftMs = first === undefined || now === undefined ? 0 : job.budgetMs - (now - first);
      const waited = waitedMs + waitMs;
      if (leftMs <= 0 || waited >= PATIENCE * job.budgetMs) giveUp();
      else watch(thread, job, before, Math.max(leftMs, job.budgetMs / 10), waited);
    };
    thread.timer = setTimeout(() => void look(), waitMs);
  };

  const rest = (thread: Own) => {
    const next = queue.shift();
    if (next !== undefined) return begin(thread, next);
    idle.push(thread);
    // A resting thread keeps neither itself nor the process alive.
    thread.worker.unref();
    thread.timer = setTimeout(() => end(thread, undefined), options.idleMs);
    thread.timer.unref();
  };

  const settle = (thread: Own, outcome: ThreadOutcome<Output>) => {
    const { job } = thread;
    clearTimeout(thread.timer);
    thread.job = undefined;
    job?.settle(outcome);
  };

  /** Ends a thread for good; what it was doing gets `outcome`. */
  const end = (thread: Own, outcome: ThreadOutcome<Output> | undefined) => {
    if (!threads.delete(thread)) return;
    clearTimeout(thread.timer);
    const at = idle.indexOf(thread);
    if (at !== -1) idle.splice(at, 1);
    void thread.worker.terminate();
    const { job } = thread;
    if (job !== undefined)
      settle(thread, outcome ?? { kind: "failed", error: new Error("the thread ended") });
    if (queue.length > 0 && !isClosed) start();
  };

  const start = () => {
    const worker = new Worker(options.workerUrl, {
      workerData: options.workerData,
      ...(options.resourceLimits === undefined ? {} : { resourceLimits: options.resourceLimits }),
    });
    const thread: Own = { worker, job: undefined, timer: undefined };
    threads.add(thread);
    worker.on("message", (message: ThreadMessage) => {
      if (!threads.has(thread)) return;
      if (message.kind === "done") settle(thread, { kind: "done", value: message.value as Output });
      else if (message.kind === "failed") settle(thread, message);
      rest(thread);
    });
    worker.on("error", (error: unknown) =>
      fail(thread, error instanceof Error ? error : new Error(String(error))),
    );
    worker.on("exit", () => fail(thread, new Error("the thread ended")));
  };

  const fail = (thread: Own, error: Error) => {
    const isMemory = "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
    // A thread that fails before its first piece of work will always fail: the work that waits must not wait for ever.
    if (thread.job === undefined && threads.has(thread) && !idle.includes(thread))
      queue.shift()?.settle({ kind: "failed", error });
    end(thread, isMemory ? { kind: "out_of_memory" } : { kind: "failed", error });
  };

  return {
    run: (input, { budgetMs }) =>
      new Promise((resolve) => {
        const job: Job<Input, Output> = { input, budgetMs, settle: resolve };
        const free = idle.pop();
        if (isClosed) resolve({ kind: "failed", error: new Error("the pool is closed") });
        else if (free !== undefined) begin(free, job);
        else if (queue.length >= options.queueMax) resolve({ kind: "busy" });
        else {
          queue.push(job);
          if (threads.size < options.threadsMax) start();
        }
      }),
    close: async () => {
      isClosed = true;
      for (const job of queue.splice(0))
        job.settle({ kind: "failed", error: new Error("the pool is closed") });
      const ending = [...threads].map(({ worker }) => worker.terminate());
      for (const thread of threads) end(thread, undefined);
      await Promise.all(ending);
    },
  };
}

/** Milliseconds of a processor that a thread has had; undefined when it has ended, or where Node cannot tell. */
async function workedMs(worker: Worker): Promise<number | undefined> {
  if (!("cpuUsage" in worker)) return undefined;
  return worker.cpuUsage().then(
    ({ user, system }) => (user + system) / 1_000,
    () => undefined,
  );
}
