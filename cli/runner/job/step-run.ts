import { ExpressionError } from "../../../daemon/workflows/expressions/values.ts";
import { JobFileError } from "../files/job-files.ts";
import { PlaceError } from "../places/place.ts";
import {
  CommandFileError,
  type CommandFiles,
  createCommandFiles,
  readCommandFiles,
  readSummary,
} from "./command-files.ts";
import { toRunnerVariables } from "./environment.ts";
import { StepError } from "./step-error.ts";
import type { Contexts } from "./evaluation.ts";
import { PayloadError, type StepDefinition } from "./payload.ts";
import type { Frame, JobSession } from "./session.ts";
import { createStepOutput } from "./step-output.ts";

/** A running step: the collaborators of its script or action. */
export interface StepRun {
  readonly session: JobSession;
  readonly frame: Frame;
  readonly step: StepDefinition;
  /** Variables of the step itself. */
  readonly env: Readonly<Record<string, string>>;
  readonly contexts: Contexts;
  readonly signal: AbortSignal;
  /** Aborted when the time of the step, or of a composite action around it, is over. */
  readonly timeIsOver: AbortSignal;
  /** Runs the steps of a composite action. */
  readonly runSteps: (frame: Frame, steps: readonly StepDefinition[]) => Promise<void>;
}

/** The result of a script or action. */
export interface Performed {
  readonly isSuccess: boolean;
  readonly outputs: Readonly<Record<string, string>>;
}

/** The time of a step. */
interface TimeLimits {
  /** Its own limit in milliseconds. */
  readonly limit: number | undefined;
  /** Aborted when the time of a composite action around it is over. */
  readonly outer: AbortSignal | undefined;
  /** Whether the job was cancelled when the step began: it may be cancelled while the step is prepared. */
  readonly wasCancelled: boolean;
}

/**
 * Runs work with a signal that ends it: at its time limit, and when the job is cancelled. A step that begins after the
 * cancellation, such as one with `always()`, ends with `stopped` only. `timeIsOver` is aborted by the time limits alone.
 */
export async function withinTime<T>(
  { cancelled, stopped, sleep, log }: JobSession,
  { limit, outer, wasCancelled }: TimeLimits,
  work: (signal: AbortSignal, timeIsOver: AbortSignal) => Promise<T>,
): Promise<T> {
  const time = new AbortController();
  const done = new AbortController();
  if (limit !== undefined)
    sleep(limit, done.signal).then(
      () => {
        log.write(`::error::the step has run longer than ${limit / 60_000} minutes`);
        time.abort();
      },
      // It has ended in time.
      () => undefined,
    );
  const timeIsOver = AbortSignal.any([time.signal, ...(outer === undefined ? [] : [outer])]);
  const signals = wasCancelled ? [stopped] : [stopped, cancelled];
  try {
    return await work(AbortSignal.any([...signals, timeIsOver]), timeIsOver);
  } finally {
    done.abort();
  }
}

/** A program of a step, before the variables and files of the runner are added. */
export interface StepProgram {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Receives the values of `GITHUB_STATE`. */
  readonly onState?: (state: Readonly<Record<string, string>>) => void;
}

/** Runs a program of a step and applies the values that it returned in its files and by commands. */
export async function runProgram(run: StepRun, program: StepProgram): Promise<Performed> {
  const { session, frame, contexts, signal } = run;
  const { place, log, masker, isDebug } = session;
  const files = await createCommandFiles(session.folders.files, session.newName("step-"));
  const { sink, values } = createStepOutput({ log, masker, isDebug });
  const code = await place.run({
    argv: program.argv,
    cwd: program.cwd,
    path: session.path,
    sink,
    signal,
    env: {
      CI: "true",
      ...Object.fromEntries(session.env),
      ...frame.env,
      ...run.env,
      ...program.env,
      ...toRunnerVariables(session, contexts, files),
    },
  });
  await keepSummary(session, files);
  const written = await readCommandFiles(files);
  for (const [name, value] of Object.entries(written.env)) session.env.set(name, value);
  session.path.unshift(...written.path.toReversed());
  program.onState?.({ ...Object.fromEntries(values.state), ...written.state });
  if (code !== 0 && !signal.aborted)
    log.write(`::error::Process completed with exit code ${code}.`);
  return {
    isSuccess: code === 0 && !signal.aborted,
    outputs: { ...Object.fromEntries(values.outputs), ...written.outputs },
  };
}

/** A summary that cannot be kept is not a reason for a step to fail. */
async function keepSummary({ addSummary, log }: JobSession, files: CommandFiles): Promise<void> {
  try {
    addSummary(await readSummary(files));
  } catch (error) {
    if (!(error instanceof CommandFileError)) throw error;
    log.write(`::warning::the summary of the step was not kept: ${error.message}`);
  }
}

/** Returns the reason of a failed step. An unexpected error fails the step as well, with its own message. */
export function toReason(error: unknown): string {
  const isExpected = [
    ExpressionError,
    PayloadError,
    PlaceError,
    CommandFileError,
    JobFileError,
    StepError,
  ].some((kind) => error instanceof kind);
  const message = error instanceof Error ? error.message : String(error);
  return isExpected ? message : `the runner failed: ${message}`;
}
