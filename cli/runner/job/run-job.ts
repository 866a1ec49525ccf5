import type { WireTask } from "../../../daemon/workflows/runner-messages.ts";
import { runPosts } from "../actions/run-action.ts";
import { createRepositories } from "../actions/repositories.ts";
import type { JobProcesses } from "../places/job-processes.ts";
import type { JobFolders, Place } from "../places/place.ts";
import type { Masker } from "../report/masker.ts";
import type { StepResult, TaskReporter } from "../report/task-reporter.ts";
import type { Sleep } from "../retry.ts";
import { SUMMARY_BYTES_MAX } from "./command-files.ts";
import { createEvaluation } from "./evaluation.ts";
import type { JobLog } from "./job-log.ts";
import type { JobPayload } from "./payload.ts";
import { type Frame, type JobSession, toContexts } from "./session.ts";
import { createContexts, toInputs } from "./task-contexts.ts";
import { StepError } from "./step-error.ts";
import { toReason } from "./step-run.ts";
import { runSteps, type StepObserver } from "./steps.ts";

export interface RunJobDeps {
  readonly task: WireTask;
  readonly payload: JobPayload;
  readonly place: Place;
  readonly folders: JobFolders;
  readonly processes: JobProcesses;
  readonly log: JobLog;
  readonly masker: Masker;
  readonly reporter: Pick<TaskReporter, "setStep">;
  readonly newName: (prefix: string) => string;
  readonly sleep: Sleep;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly runnerName: string;
  readonly platform: NodeJS.Platform;
  readonly architecture: string;
  readonly searchPath: string;
  /** The daemon's address without a trailing slash. */
  readonly url: string;
  readonly certificates: string | undefined;
  /** Aborted when the job is cancelled. */
  readonly cancelled: AbortSignal;
  /** Aborted when also the steps after a cancellation must end. */
  readonly stopped: AbortSignal;
  /** Sends the summary of a step. Rejects when the daemon does not take it. */
  readonly sendSummary: (step: number, text: string) => Promise<void>;
  /** Cancels the job, because it reached its time limit. */
  readonly cancel: () => void;
}

/** Time of a job without `timeout-minutes`. */
const JOB_MS_MAX = 360 * 60_000;

/** The result of a job. */
export interface JobEnd {
  readonly result: StepResult;
  readonly outputs: Readonly<Record<string, string>>;
}

/** Runs the steps of a job, then the `post` scripts of its actions. Failures are in the log and in the result. */
export async function runJob(deps: RunJobDeps): Promise<JobEnd> {
  const { task, payload, log } = deps;
  const frame: Frame = {
    results: new Map(),
    inputs: toInputs(task, payload),
    env: {},
    github: {},
    defaults: payload.defaults,
    depth: 0,
    timeIsOver: undefined,
    hasFailed: false,
  };
  const done = new AbortController();
  let isTimedOut = false;
  try {
    const summaries = createStepSummaries(deps);
    const session = await createSession(deps, summaries.add);
    const contexts = toContexts(session, frame);
    for (const env of payload.env)
      // One after the other: a variable may use those before it, as with Gitea's runner.
      for (const each of toSingles(env)) {
        const values = await session.evaluation.texts(each, toContexts(session, frame));
        for (const [name, value] of Object.entries(values)) session.env.set(name, value);
      }
    const limit = await session.evaluation.minutes(payload.timeoutMinutes, contexts);
    deps.sleep(limit ?? JOB_MS_MAX, done.signal).then(
      () => {
        isTimedOut = true;
        log.write(`::error::the job has run longer than ${(limit ?? JOB_MS_MAX) / 60_000} minutes`);
        deps.cancel();
      },
      // The job has ended in time.
      () => undefined,
    );
    await runSteps(session, frame, payload.steps, createObserver(deps, summaries));
    if (!(await runPosts(session, frame))) frame.hasFailed = true;
    await summaries.send();
    const outputs = await readOutputs(session, frame, payload);
    const isCancelled = deps.cancelled.aborted && !isTimedOut;
    const hasFailed = frame.hasFailed || isTimedOut;
    return { result: isCancelled ? "cancelled" : hasFailed ? "failure" : "success", outputs };
  } catch (error) {
    log.write(`::error::${toReason(error)}`);
    return { result: deps.cancelled.aborted ? "cancelled" : "failure", outputs: {} };
  } finally {
    done.abort();
  }
}

/** Returns a mapping for each variable; an expression for all variables stays whole. */
function toSingles(env: JobPayload["env"][number]): readonly JobPayload["env"][number][] {
  if (typeof env === "string") return [env];
  return Object.entries(env).map(([name, value]) => ({ [name]: value }));
}

/** Collects the summaries of steps and sends that of each at its end. */
function createStepSummaries({ sendSummary, masker, log }: RunJobDeps) {
  let step = 0;
  let text = "";
  let isSent = true;
  return {
    /** The programs of a composite action share the summary of its step. */
    add(more: string) {
      if (more === "") return;
      if (text.length + more.length > SUMMARY_BYTES_MAX)
        return log.write("::warning::the rest of the summary of the step was not kept");
      text += more.endsWith("\n") ? more : `${more}\n`;
      isSent = false;
    },
    begin(number: number) {
      step = number;
      text = "";
      isSent = true;
    },
    /** A summary that cannot be sent is not a reason for a job to fail. */
    async send(): Promise<void> {
      if (isSent) return;
      isSent = true;
      await sendSummary(step, masker.mask(text)).catch((error: unknown) =>
        log.write(`::warning::the summary of the step was not kept: ${toReason(error)}`),
      );
    },
  };
}

async function createSession(
  deps: RunJobDeps,
  addSummary: JobSession["addSummary"],
): Promise<JobSession> {
  const { task, payload, place, folders, log, masker, sleep, cancelled, stopped, newName } = deps;
  const contexts = await createContexts(task, payload, deps);
  const { secrets, vars } = task;
  const debug = secrets["ACTIONS_STEP_DEBUG"] ?? vars["ACTIONS_STEP_DEBUG"];
  const github = contexts["github"] as Readonly<Record<string, unknown>>;
  return {
    place,
    folders,
    log,
    masker,
    sleep,
    contexts,
    cancelled,
    stopped,
    newName,
    addSummary,
    evaluation: createEvaluation({
      workspace: folders.workspace,
      stepPath: place.workspace,
      sleep,
      stopped,
    }),
    repositories: createRepositories({
      ...deps,
      actionsFolder: folders.actions,
      privateFolder: folders.checkouts,
      signal: stopped,
      token: String(github["token"] ?? ""),
    }),
    isDebug: debug === "true" || debug === "1",
    env: new Map(),
    path: [],
    posts: [],
    checkouts: new Map(),
  };
}

/** Reports steps with their times and their rows of the log. */
function createObserver(
  { reporter, log, clock }: RunJobDeps,
  summaries: ReturnType<typeof createStepSummaries>,
): StepObserver {
  let startedAt: number | undefined;
  let logIndex = 0;
  return {
    started(number) {
      summaries.begin(number);
      startedAt = clock();
      logIndex = log.rows;
      const running = { result: undefined, stoppedAt: undefined, logLength: 0 };
      reporter.setStep({ number, startedAt, logIndex, ...running });
    },
    async ended(number, result) {
      await summaries.send();
      const isSkipped = startedAt === undefined;
      reporter.setStep({
        number,
        result,
        startedAt,
        stoppedAt: isSkipped ? undefined : clock(),
        logIndex: isSkipped ? log.rows : logIndex,
        logLength: isSkipped ? 0 : log.rows - logIndex,
      });
      startedAt = undefined;
    },
  };
}

/** Most outputs of a job, and longest name and value: the daemon drops what is more. */
const OUTPUTS_MAX = 1_000;
const OUTPUT_NAME_CHARACTERS_MAX = 255;
const OUTPUT_CHARACTERS_MAX = 1024 * 1024;
const OUTPUTS_CHARACTERS_MAX = 4 * OUTPUT_CHARACTERS_MAX;

/**
 * Evaluates the outputs of the job. One that holds a secret is left out: the daemon shows outputs.
 * @throws StepError for outputs that are too long or too many: a job that needs them would do without
 */
async function readOutputs(
  session: JobSession,
  frame: Frame,
  { outputs }: JobPayload,
): Promise<Record<string, string>> {
  const values = await session.evaluation.texts(outputs, toContexts(session, frame));
  let characters = 0;
  for (const [name, value] of Object.entries(values)) {
    characters += name.length + value.length;
    const title = name.slice(0, OUTPUT_NAME_CHARACTERS_MAX);
    if (name.length > OUTPUT_NAME_CHARACTERS_MAX)
      throw new StepError(
        `the name of the output ${title}… has more than ${OUTPUT_NAME_CHARACTERS_MAX} characters`,
      );
    if (value.length > OUTPUT_CHARACTERS_MAX)
      throw new StepError(
        `the output ${name} has ${value.length} characters, more than ${OUTPUT_CHARACTERS_MAX}; use an artifact`,
      );
  }
  if (Object.keys(values).length > OUTPUTS_MAX || characters > OUTPUTS_CHARACTERS_MAX)
    throw new StepError(
      `a job has at most ${OUTPUTS_MAX} outputs with ${OUTPUTS_CHARACTERS_MAX} characters in all`,
    );
  return Object.fromEntries(
    Object.entries(values).filter(([name, value]) => {
      const hasSecret = session.masker.mask(value) !== value;
      if (hasSecret)
        session.log.write(`::warning::the output ${name} is left out: it has a secret`);
      return !hasSecret;
    }),
  );
}
