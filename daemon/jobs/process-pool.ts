import { fileURLToPath } from "node:url";
import {
  type MessagingProcess,
  type ProcessEnd,
  startScript,
} from "../../storage/start-process.ts";
import { createFairQueue, type FairQueueBounds } from "./fair-queue.ts";
import {
  type JobOptions,
  type ThreadOutcome,
  type ThreadPool,
  WALL_CLOCK_FACTOR,
} from "./thread-pool.ts";

/**
 * The program that runs a script as Node would, with the arguments before the script's path: Node alone, or the single
 * executable with its argument for scripts.
 */
export type ScriptProgram = readonly [file: string, ...args: string[]];

export interface ProcessPoolOptions {
  /** `new URL("./name.process.ts", import.meta.url)`; the script calls `serveProcess`. */
  readonly scriptUrl: URL;
  readonly program: ScriptProgram;
  readonly queue: FairQueueBounds;
  /** The process ends after this time without a job. */
  readonly idleMs: number;
  /** The process ends if its resident memory is this large after a job, because only its end frees the memory. */
  readonly idleBytesMax: number;
  /** Called with the time that each job had the process, for its caller. */
  readonly onUsed?: (caller: string, milliseconds: number) => void;
}

/** A job as the process receives it. */
export interface ProcessJob<Input> {
  readonly input: Input;
  readonly options: JobOptions;
}

/** Message from the process; `serveProcess` sends it. Only the outcomes that a running job can have. */
export interface ProcessMessage<Output> {
  readonly outcome: ThreadOutcome<Output>;
  readonly residentBytes: number;
}

interface Job<Input, Output> extends ProcessJob<Input> {
  readonly settle: (outcome: ThreadOutcome<Output>) => void;
}

interface Running<Input, Output> {
  readonly child: MessagingProcess;
  job: Job<Input, Output> | undefined;
  /** When the job began, by the clock of `performance`. */
  begunAt: number;
  timer: NodeJS.Timeout | undefined;
  /** Whether the pool ended the process. */
  isEnded: boolean;
}

/** Time beyond the budgets of a job after which a process that does not answer is ended. */
const SILENCE_MS = 30_000;

/**
 * Runs jobs one at a time in a thread of a child process, with budgets of time and memory. A thread of this process
 * would enforce the limits, but the allocator keeps the memory that hostile files made it allocate; only the end of a
 * process releases it. The process starts with the first job.
 */
export function createProcessPool<Input, Output>(
  options: ProcessPoolOptions,
): ThreadPool<Input, Output> {
  const queue = createFairQueue<Job<Input, Output>>(options.queue);
  let running: Running<Input, Output> | undefined;
  let isClosed = false;
  const ended = new Set<Promise<void>>();

  const dispatch = () => {
    if (isClosed || running?.job !== undefined) return;
    const next = queue.shift(() => true)?.item;
    if (next === undefined) return;
    try {
      running ??= start();
    } catch (error) {
      failAll(next, error as Error);
      return;
    }
    begin(running, next);
  };

  /** Settles all jobs: what the system lacks for the process of one, it lacks for the next one too. */
  const failAll = (first: Job<Input, Output>, error: Error) => {
    const waiting = queue.clear().map(({ item }) => item);
    for (const job of [first, ...waiting]) job.settle({ kind: "not_started", error });
  };

  const begin = (current: Running<Input, Output>, job: Job<Input, Output>) => {
    const { child } = current;
    const { budgetMs } = job.options;
    current.job = job;
    current.begunAt = performance.now();
    clearTimeout(current.timer);
    current.timer = setTimeout(
      () => end(current, { kind: "timed_out" }),
      WALL_CLOCK_FACTOR * budgetMs + SILENCE_MS,
    );
    child.ref();
    child.channel?.ref();
    const message: ProcessJob<Input> = { input: job.input, options: job.options };
    child.send(message, (error) => {
      if (error !== null) end(current, { kind: "failed", error });
    });
  };

  const settle = (current: Running<Input, Output>, outcome: ThreadOutcome<Output>) => {
    const { job } = current;
    clearTimeout(current.timer);
    current.job = undefined;
    if (job === undefined) return;
    options.onUsed?.(job.options.caller, performance.now() - current.begunAt);
    job.settle(outcome);
  };

  /** Ends the process at once; its job settles with `outcome`. */
  const end = (
    current: Running<Input, Output>,
    outcome: ThreadOutcome<Output> = { kind: "failed", error: new Error("the process ended") },
  ) => {
    if (running === current) running = undefined;
    if (!current.isEnded) {
      current.isEnded = true;
      // Closing the pool waits for the end of an idle process as well.
      current.child.ref();
      current.child.kill("SIGKILL");
    }
    settle(current, outcome);
    dispatch();
  };

  const start = (): Running<Input, Output> => {
    const [execPath, ...execArgv] = options.program;
    const { child, exited } = startScript(fileURLToPath(options.scriptUrl), {
      execPath,
      execArgv,
      // The environment may hold secrets, and nothing that reads hostile files needs it.
      env: { MALLOC_ARENA_MAX: "2" },
      serialization: "advanced",
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    const current: Running<Input, Output> = {
      child,
      job: undefined,
      begunAt: 0,
      timer: undefined,
      isEnded: false,
    };
    child.on("message", (message) => {
      if (current.isEnded) return;
      const { outcome, residentBytes } = message as ProcessMessage<Output>;
      const isHarmed = outcome.kind !== "done" && outcome.kind !== "failed";
      if (isHarmed || residentBytes > options.idleBytesMax) return end(current, outcome);
      settle(current, outcome);
      // An idle process does not keep the daemon's process alive.
      child.unref();
      child.channel?.unref();
      current.timer = setTimeout(() => end(current), options.idleMs);
      current.timer.unref();
      dispatch();
    });
    child.on("error", (error) => end(current, { kind: "not_started", error }));
    const settled: Promise<void> = exited.then((processEnd) => {
      ended.delete(settled);
      const isOurs = current.isEnded;
      current.isEnded = true;
      if (!isOurs) end(current, toOutcome(processEnd));
    });
    ended.add(settled);
    return current;
  };

  return {
    run: (input, jobOptions) =>
      new Promise((resolve) => {
        const item = { input, options: jobOptions, settle: resolve };
        if (isClosed) return resolve({ kind: "not_started", error: closedError() });
        const pushed = queue.push({ caller: jobOptions.caller, size: jobOptions.size, item });
        if (pushed.kind === "full") return resolve({ kind: "queue_full" });
        for (const entry of pushed.displaced) entry.item.settle({ kind: "queue_full" });
        dispatch();
      }),
    async close() {
      isClosed = true;
      for (const { item } of queue.clear())
        item.settle({ kind: "not_started", error: closedError() });
      if (running !== undefined) end(running, { kind: "failed", error: closedError() });
      await Promise.all(ended);
    },
  };
}

/**
 * The outcome of a job whose process ended by itself. The system's out-of-memory killer and V8 end it when memory
 * runs out.
 */
function toOutcome({ exitCode, signal }: ProcessEnd): ThreadOutcome<never> {
  if (signal === "SIGKILL" || signal === "SIGABRT") return { kind: "out_of_memory" };
  return { kind: "failed", error: new Error(`the process ended with ${signal ?? exitCode}`) };
}

const closedError = () => new Error("the pool is closed");
