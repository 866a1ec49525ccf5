import type {
  ConditionState,
  ExpressionValue,
} from "../../../daemon/workflows/expressions/values.ts";
import type { Mapping } from "../../../daemon/workflows/mapping.ts";
import type { Repositories } from "../actions/repositories.ts";
import type { JobFolders, Place } from "../places/place.ts";
import type { Masker } from "../report/masker.ts";
import type { StepResult } from "../report/task-reporter.ts";
import type { Sleep } from "../retry.ts";
import type { Contexts, Evaluation } from "./evaluation.ts";
import type { JobLog } from "./job-log.ts";
import type { StepDefaults } from "./payload.ts";

/** The state that the steps of one job share. */
export interface JobSession {
  readonly place: Place;
  readonly folders: JobFolders;
  readonly log: JobLog;
  readonly masker: Masker;
  readonly evaluation: Evaluation;
  readonly repositories: Repositories;
  readonly sleep: Sleep;
  /** All contexts that do not change: `github`, `secrets`, `needs`, `matrix` and so on. */
  readonly contexts: Contexts;
  readonly isDebug: boolean;
  /** Variables of workflow and job, and those that steps add for later steps. */
  readonly env: Map<string, string>;
  /** Folders that steps put in front of the search path, the last one first. */
  readonly path: string[];
  /** Aborted when the job is cancelled or has used up its time. */
  readonly cancelled: AbortSignal;
  /** Aborted when also the steps that run after a cancellation must end. */
  readonly stopped: AbortSignal;
  /** Functions that run at the end of the job, in reverse order. */
  readonly posts: PostStep[];
  /** The files of each checkout, by its folder in the workspace. */
  readonly checkouts: Map<string, Checkout>;
  /** Adds a summary that a program of the current step has written for the page of the run. */
  readonly addSummary: (text: string) => void;
  /** Returns a name for a folder that no other step has. */
  readonly newName: (prefix: string) => string;
}

/** A checkout that a step of the job has made. */
interface Checkout {
  readonly repository: string;
  readonly files: readonly string[];
}

/** The part of an action that runs after all steps. */
export interface PostStep {
  readonly name: string;
  readonly condition: string;
  readonly frame: Frame;
  readonly run: (signal: AbortSignal) => Promise<boolean>;
}

/** Outcome of a step as the `steps` context shows it. */
export interface StepOutcome {
  readonly outputs: Readonly<Record<string, string>>;
  readonly outcome: StepResult;
  /** The outcome after `continue-on-error`. */
  readonly conclusion: StepResult;
}

/** The contexts of one list of steps: those of the job, or those of a composite action. */
export interface Frame {
  readonly results: Map<string, StepOutcome>;
  readonly inputs: Mapping;
  /** Variables of the step that uses a composite action. */
  readonly env: Readonly<Record<string, string>>;
  /** Members of the `github` context that differ, such as `action_path`. */
  readonly github: Mapping;
  readonly defaults: StepDefaults;
  /** Composite actions around these steps. */
  readonly depth: number;
  /** Aborted when the time of the composite action is over: its steps end, and no further one begins. */
  readonly timeIsOver: AbortSignal | undefined;
  /** Whether a step has failed. */
  hasFailed: boolean;
}

/** Returns the contexts of a step with these variables, whose `github.action` is `actionName`. */
export function toContexts(
  session: JobSession,
  frame: Frame,
  {
    env = {},
    actionName,
  }: { readonly env?: Readonly<Record<string, string>>; readonly actionName?: string } = {},
): Contexts {
  const github = {
    ...(session.contexts["github"] as Mapping),
    ...frame.github,
    ...(actionName === undefined ? {} : { action: actionName }),
  };
  return {
    ...session.contexts,
    github,
    gitea: github,
    inputs: frame.inputs,
    env: { ...Object.fromEntries(session.env), ...frame.env, ...env },
    steps: toStepsContext(frame),
    job: { ...session.place.description, status: toState(session, frame) },
  };
}

/** Returns the results of the status functions. */
export function toState(session: JobSession, frame: Frame): ConditionState {
  if (session.cancelled.aborted) return "cancelled";
  return frame.hasFailed ? "failure" : "success";
}

function toStepsContext({ results }: Frame): Record<string, ExpressionValue> {
  return Object.fromEntries(
    [...results].map(([id, { outputs, outcome, conclusion }]) => [
      id,
      { outputs: { ...outputs }, outcome, conclusion },
    ]),
  );
}
