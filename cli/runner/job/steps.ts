import { writeFile } from "node:fs/promises";
import { join, posix, win32 } from "node:path";
import { ExpressionError } from "../../../daemon/forge/actions/workflows/expressions/values.ts";
import { runAction } from "../actions/run-action.ts";
import { PlaceError } from "../places/place.ts";
import type { StepResult } from "../report/task-reporter.ts";
import { CommandFileError } from "./command-files.ts";
import { PayloadError, type StepDefinition } from "./payload.ts";
import { type Frame, type JobSession, type StepOutcome, toContexts, toState } from "./session.ts";
import { toShellCommand } from "./shells.ts";
import { type Performed, runProgram, StepError, type StepRun, withinTime } from "./step-run.ts";

/** Called when a step of the job begins and ends. */
export interface StepObserver {
  started(index: number): void;
  ended(index: number, result: StepResult): Promise<void>;
}

/** Runs steps one after the other. Failures are recorded in the frame; nothing is thrown for them. */
export async function runSteps(
  session: JobSession,
  frame: Frame,
  steps: readonly StepDefinition[],
  observer?: StepObserver,
): Promise<void> {
  for (const [index, step] of steps.entries()) {
    const outcome = await runStep(session, frame, step, () => observer?.started(index));
    await observer?.ended(index, outcome.conclusion);
    if (step.id !== undefined) frame.results.set(step.id, outcome);
    if (outcome.conclusion === "failure") frame.hasFailed = true;
  }
}

/** Longest script that is shown at the start of its step. */
const SHOWN_LINES_MAX = 50;
const SKIPPED: StepOutcome = { outputs: {}, outcome: "skipped", conclusion: "skipped" };

async function runStep(
  session: JobSession,
  frame: Frame,
  step: StepDefinition,
  onStart: () => void,
): Promise<StepOutcome> {
  const { evaluation, log } = session;
  let isContinued = false;
  let performed: Performed = { isSuccess: false, outputs: {} };
  const wasCancelled = session.cancelled.aborted;
  try {
    if (session.stopped.aborted) return SKIPPED;
    const env = await evaluation.texts(step.env, toContexts(session, frame));
    const contexts = toContexts(session, frame, env);
    if (!(await evaluation.condition(step.condition, contexts, toState(session, frame))))
      return SKIPPED;
    onStart();
    isContinued = await evaluation.flag(step.continueOnError, contexts);
    const limit = await evaluation.minutes(step.timeoutMinutes, contexts);
    const name = (await evaluation.text(step.name, contexts)).replaceAll(/\s*\n\s*/g, " ");
    log.write(`::group::${name}`);
    if (step.run !== undefined)
      log.write(step.run.trimEnd().split("\n").slice(0, SHOWN_LINES_MAX).join("\n"));
    log.write("::endgroup::");
    performed = await withinTime(session, limit, (signal) =>
      perform({
        session,
        frame,
        step,
        env,
        contexts,
        signal,
        runSteps: (inner, steps) => runSteps(session, inner, steps),
      }),
    );
  } catch (error) {
    log.write(`::error::${toReason(error)}`);
  }
  const isCancelled = !wasCancelled && session.cancelled.aborted && !performed.isSuccess;
  const outcome = performed.isSuccess ? "success" : isCancelled ? "cancelled" : "failure";
  const { outputs } = performed;
  return {
    outputs,
    outcome,
    conclusion: outcome === "failure" && isContinued ? "success" : outcome,
  };
}

function perform(run: StepRun): Promise<Performed> {
  const { step } = run;
  if (step.uses !== undefined) return runAction(run, step.uses);
  if (step.run !== undefined) return runScript(run, step.run);
  throw new StepError("a step has either `run` or `uses`");
}

/** Runs the script of a `run` step. */
async function runScript(run: StepRun, template: string): Promise<Performed> {
  const { session, frame, step, contexts } = run;
  const { place, evaluation, folders } = session;
  const script = await evaluation.text(template, contexts);
  const shell = await evaluation.text(step.shell ?? frame.defaults.shell ?? "", contexts);
  const folder = await evaluation.text(
    step.workingDirectory ?? frame.defaults.workingDirectory ?? "",
    contexts,
  );
  const command = toShellCommand(shell, script, shell !== "" || (await place.hasProgram("bash")));
  if (command === undefined)
    throw new StepError(
      `the shell ${JSON.stringify(shell)} is unknown: bash, sh, pwsh, python, or a command with {0}`,
    );
  const path = join(folders.temp, `${session.newName("script-")}${command.extension}`);
  await writeFile(path, command.script, { mode: 0o700 });
  const paths = place.workspace.startsWith("/") ? posix : win32;
  return runProgram(run, {
    argv: command.argv(place.toStepPath(path)),
    cwd: paths.resolve(place.workspace, folder),
    env: {},
  });
}

/** Returns the reason of a failed step. Anything unexpected fails the step as well, and is shown as it is. */
export function toReason(error: unknown): string {
  const isExpected = [ExpressionError, PayloadError, PlaceError, CommandFileError, StepError].some(
    (kind) => error instanceof kind,
  );
  const message = error instanceof Error ? error.message : String(error);
  return isExpected ? message : `the runner failed: ${message}`;
}
