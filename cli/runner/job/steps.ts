import { runAction } from "../actions/run-action.ts";
import type { StepResult } from "../report/task-reporter.ts";
import type { StepDefinition } from "./payload.ts";
import { type Frame, type JobSession, type StepOutcome, toContexts, toState } from "./session.ts";
import { type PreparedScript, prepareScript, runScript } from "./script-step.ts";
import { StepError } from "./step-error.ts";
import { type Performed, type StepRun, toReason, withinTime } from "./step-run.ts";

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
  const names = toStepNames(steps);
  for (const [index, step] of steps.entries()) {
    const current = { ...step, actionName: names[index] ?? "" };
    const outcome = await runStep(session, frame, current, () => observer?.started(index));
    // As Gitea's runner: a step that failed is shown as failed, also when the job continues.
    await observer?.ended(index, outcome.outcome);
    if (step.id !== undefined) frame.results.set(step.id, outcome);
    if (outcome.conclusion === "failure") frame.hasFailed = true;
  }
}

/** Lines of a script, of its variables and of inputs that are shown at the start of a step. */
const SHOWN_LINES_MAX = 50;
const SKIPPED: StepOutcome = { outputs: {}, outcome: "skipped", conclusion: "skipped" };

async function runStep(
  session: JobSession,
  frame: Frame,
  step: StepDefinition & { readonly actionName: string },
  onStart: () => void,
): Promise<StepOutcome> {
  const { evaluation, log } = session;
  let isContinued = false;
  let performed: Performed = { isSuccess: false, outputs: {} };
  const wasCancelled = session.cancelled.aborted;
  try {
    if (session.stopped.aborted || frame.timeIsOver?.aborted === true) return SKIPPED;
    const { actionName } = step;
    const env = await evaluation.texts(step.env, toContexts(session, frame, { actionName }));
    const contexts = toContexts(session, frame, { env, actionName });
    if (!(await evaluation.condition(step.condition, contexts, toState(session, frame))))
      return SKIPPED;
    onStart();
    isContinued = await evaluation.flag(step.continueOnError, contexts);
    const limit = await evaluation.minutes(step.timeoutMinutes, contexts);
    const name = (await evaluation.text(step.name, contexts)).replaceAll(/\s*\n\s*/g, " ");
    const limits = { limit, outer: frame.timeIsOver, wasCancelled };
    performed = await withinTime(session, limits, async (signal, timeIsOver) => {
      const run: StepRun = {
        session,
        frame,
        step,
        env,
        contexts,
        signal,
        timeIsOver,
        runSteps: (inner, steps) => runSteps(session, inner, steps),
      };
      return perform(await prepareShown(run, name), run);
    });
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

/** A step whose expressions are evaluated: an action with the given inputs, or a script. */
type PreparedStep =
  | { readonly uses: string; readonly inputs: Readonly<Record<string, string>> }
  | { readonly script: PreparedScript };

/** Evaluates what a step runs, and shows it in a group of the log. */
async function prepareShown(run: StepRun, name: string): Promise<PreparedStep> {
  const { log } = run.session;
  log.write(`::group::${name}`);
  try {
    const prepared = await prepare(run);
    const lines = [...toShown(prepared), ...toShownMapping("env", run.env)];
    if (lines.length > 0) log.write(lines.join("\n"));
    return prepared;
  } finally {
    log.write("::endgroup::");
  }
}

async function prepare(run: StepRun): Promise<PreparedStep> {
  const { session, step, contexts } = run;
  if (step.uses !== undefined)
    return { uses: step.uses, inputs: await session.evaluation.texts(step.with, contexts) };
  if (step.run !== undefined) return { script: await prepareScript(run, step.run) };
  throw new StepError("a step has either `run` or `uses`");
}

function perform(prepared: PreparedStep, run: StepRun): Promise<Performed> {
  return "uses" in prepared
    ? runAction(run, prepared.uses, prepared.inputs)
    : runScript(run, prepared.script);
}

/** Returns the lines that show at the start of a step what it runs. */
function toShown(prepared: PreparedStep): readonly string[] {
  if ("uses" in prepared) return toShownMapping("with", prepared.inputs);
  const { text, command } = prepared.script;
  return [...text.trimEnd().split("\n").slice(0, SHOWN_LINES_MAX), `shell: ${command.shown}`];
}

function toShownMapping(title: string, values: Readonly<Record<string, string>>): string[] {
  const lines = Object.entries(values).map(([name, value]) => `  ${name}: ${value}`);
  return lines.length === 0 ? [] : [`${title}:`, ...lines.slice(0, SHOWN_LINES_MAX)];
}

/**
 * Returns `github.action` of each step of a list: its id, or a name made of its action, `__run` for a script, as the public
 * documentation of workflows describes it. Further steps of one name get a number: `__run_2`.
 */
export function toStepNames(
  steps: readonly Pick<StepDefinition, "id" | "uses">[],
): readonly string[] {
  const taken = new Set(steps.map(({ id }) => id));
  const counts = new Map<string, number>();
  return steps.map(({ id, uses }) => {
    if (id !== undefined) return id;
    const base = `__${toBase(uses)}`;
    for (;;) {
      const count = (counts.get(base) ?? 0) + 1;
      counts.set(base, count);
      const name = count === 1 ? base : `${base}_${count}`;
      if (!taken.has(name)) {
        taken.add(name);
        return name;
      }
    }
  });
}

function toBase(uses: string | undefined): string {
  if (uses === undefined) return "run";
  if (/^\.\.?\//.test(uses)) return "self";
  const path = uses.replace(/@.*$/s, "").replace(/^https?:\/\//i, "");
  return path.replaceAll(/[^A-Za-z0-9]+/g, "_").replaceAll(/^_+|_+$/g, "");
}
