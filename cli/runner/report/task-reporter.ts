import type { Sleep } from "../retry.ts";

/** Results of steps and jobs. */
export type StepResult = "success" | "failure" | "cancelled" | "skipped";

/** The report of one step; times are epoch milliseconds, positions are rows of the log. */
export interface ReportedStep {
  readonly number: number;
  readonly result: StepResult | undefined;
  readonly startedAt: number | undefined;
  readonly stoppedAt: number | undefined;
  readonly logIndex: number;
  readonly logLength: number;
}

/** The state of a task as it is sent. */
export interface ReportedTask {
  readonly result: StepResult | undefined;
  readonly startedAt: number;
  readonly stoppedAt: number | undefined;
  readonly steps: readonly ReportedStep[];
  readonly outputs: Readonly<Record<string, string>>;
}

/** Reports the state of one task, at least every two seconds. */
export type TaskReporter = ReturnType<typeof createTaskReporter>;

export interface TaskReporterDeps {
  /** Sends a state, with retries. Resolves with whether the daemon has cancelled the task. */
  readonly send: (state: ReportedTask) => Promise<{ readonly isCancelled: boolean }>;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly sleep: Sleep;
  readonly onCancelled: () => void;
  /** Called when the daemon does not know the task any more. */
  readonly onLost: (error: unknown) => void;
}

/** Longest time without a report: how soon a cancellation is seen. */
const REPORT_EVERY_MS = 2_000;
/** Changes of steps within this time are one report. */
const COLLECT_MS = 300;

export function createTaskReporter(deps: TaskReporterDeps) {
  const { send, clock, sleep, onCancelled, onLost } = deps;
  const startedAt = clock();
  const steps = new Map<number, ReportedStep>();
  const finished = new AbortController();
  let changed = Promise.withResolvers<void>();
  const reporting = report();

  return {
    setStep(step: ReportedStep) {
      steps.set(step.number, step);
      changed.resolve();
    },
    /** Reports the end; resolves when the daemon has acknowledged it, or refuses it. */
    async finish(result: StepResult, outputs: Readonly<Record<string, string>>) {
      finished.abort();
      changed.resolve();
      await reporting;
      await send(toState(result, outputs)).catch(onLost);
    },
  };

  async function report(): Promise<void> {
    while (!finished.signal.aborted) {
      // The end of the task ends both waits.
      const pause = sleep(REPORT_EVERY_MS, finished.signal).catch(() => undefined);
      await Promise.race([pause, changed.promise]);
      await sleep(COLLECT_MS, finished.signal).catch(() => undefined);
      if (finished.signal.aborted) return;
      changed = Promise.withResolvers<void>();
      try {
        if ((await send(toState(undefined, {}))).isCancelled) onCancelled();
      } catch (error) {
        onLost(error);
        return;
      }
    }
  }

  function toState(
    result: StepResult | undefined,
    outputs: Readonly<Record<string, string>>,
  ): ReportedTask {
    const stoppedAt = result === undefined ? undefined : clock();
    return { result, startedAt, stoppedAt, steps: [...steps.values()], outputs };
  }
}
