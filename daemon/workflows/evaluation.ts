import { evaluateCondition, evaluateTemplate } from "./expressions/evaluate.ts";
import {
  type ConditionState,
  ExpressionError,
  type ExpressionValue,
  toText,
} from "./expressions/values.ts";
import { createWork, type Work } from "./expressions/work.ts";
import { type ExpandableJob, type ExpandedJob, expandJob } from "./expand-job.ts";
import { isMapping, type Mapping } from "./mapping.ts";
import type { CallInterface } from "./workflow-call.ts";

/** Results as contexts and runners name them. */
export type NeedResult = "success" | "failure" | "cancelled" | "skipped";

/** Result and outputs of a job that another one needs. */
export interface Need {
  readonly result: NeedResult;
  readonly outputs: Readonly<Record<string, string>>;
}

/** A need whose outputs have not been read. */
export interface StoredNeed {
  readonly key: string;
  readonly result: NeedResult;
  /** The outputs of the jobs of its matrix, each as JSON. */
  readonly outputs: readonly string[];
}

/** Expressions of a run that are evaluated together. */
export type EvaluationRequest =
  /** Whether a job runs, and the jobs of its matrix. */
  | {
      readonly kind: "job";
      readonly job: ExpandableJob;
      /** `github`, `inputs` and `vars`. */
      readonly contexts: Mapping;
      readonly needs: readonly StoredNeed[];
      readonly state: ConditionState;
      /** The declarations of the workflow that the job calls. */
      readonly called: CallInterface | undefined;
    }
  /** Whether the condition of a job holds, such as in a run that is being cancelled. */
  | {
      readonly kind: "condition";
      readonly condition: string;
      readonly contexts: Mapping;
      readonly needs: readonly StoredNeed[];
      readonly state: ConditionState;
    }
  /** The outputs of a called workflow. */
  | {
      readonly kind: "outputs";
      readonly templates: Readonly<Record<string, string>>;
      readonly contexts: Mapping;
      /** The jobs of the called workflow. */
      readonly needs: readonly StoredNeed[];
    };

export type EvaluationResult =
  | { readonly kind: "skipped" }
  | { readonly kind: "condition"; readonly holds: boolean }
  | { readonly kind: "expanded"; readonly jobs: readonly ExpandedJob[] }
  | { readonly kind: "outputs"; readonly outputs: Readonly<Record<string, string>> }
  /** An expression is invalid or gives a wrong value. */
  | { readonly kind: "failed"; readonly reason: string };

/** Evaluates expressions of a run. @throws WorkExceeded */
export function evaluateRequest(request: EvaluationRequest, work: Work): EvaluationResult {
  try {
    const needs = toNeedsContext(request.needs, work);
    if (request.kind === "outputs") {
      const scope = { contexts: { ...request.contexts, jobs: needs }, work };
      const outputs = Object.entries(request.templates).map(([name, template]) => [
        name,
        toText(evaluateTemplate(template, scope)),
      ]);
      return { kind: "outputs", outputs: Object.fromEntries(outputs) };
    }
    const contexts = { ...request.contexts, needs };
    const { state } = request;
    if (request.kind === "condition")
      return {
        kind: "condition",
        holds: evaluateCondition(request.condition, { contexts, state, work }),
      };
    const { job, called } = request;
    if (!evaluateCondition(job.condition, { contexts, state, work })) return { kind: "skipped" };
    const jobs = expandJob(job, { contexts, work }, called);
    return jobs.length === 0 ? { kind: "skipped" } : { kind: "expanded", jobs };
  } catch (error) {
    if (error instanceof ExpressionError) return { kind: "failed", reason: error.message };
    throw error;
  }
}

/** `evaluateRequest` for `Compute`: its work is not known before. */
export const evaluateInThread = {
  name: "evaluateInThread",
  cost: () => Number.POSITIVE_INFINITY,
  length: ({ needs }: EvaluationRequest) =>
    needs.reduce((sum, { outputs }) => outputs.reduce((all, { length }) => all + length, sum), 0),
  run: (request: EvaluationRequest) => evaluateRequest(request, createWork()),
};

/** Returns the `needs` context. */
function toNeedsContext(needs: readonly StoredNeed[], work: Work): Mapping {
  return Object.fromEntries(
    needs.map(({ key, result, outputs }) => [
      key,
      {
        result,
        outputs: joinOutputs(outputs.map((text) => toTexts(work.decode(text)))),
      },
    ]),
  );
}

/** Joins the outputs of the jobs of a matrix: a value that is not empty wins. */
export function joinOutputs(
  all: readonly Readonly<Record<string, string>>[],
): Readonly<Record<string, string>> {
  const joined: Record<string, string> = {};
  for (const outputs of all)
    for (const [name, value] of Object.entries(outputs))
      if (value !== "" || !Object.hasOwn(joined, name)) joined[name] = value;
  return joined;
}

function toTexts(value: ExpressionValue): Readonly<Record<string, string>> {
  if (!isMapping(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, toText(each)]));
}
