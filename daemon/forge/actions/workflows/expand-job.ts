import { stringify } from "yaml";
import { evaluateTemplate, type Scope } from "./expressions/evaluate.ts";
import {
  ExpressionError,
  type ExpressionValue,
  isTruthy,
  memberOf,
  toText,
} from "./expressions/values.ts";
import { evaluateDeep, isMapping, type Mapping } from "./mapping.ts";
import { type Combination, expandMatrix, toMatrixName } from "./matrix.ts";
import { evaluateCallInputs, type JobCall } from "./workflow-call.ts";
import type { JobDefinition, Workflow } from "./workflow.ts";

/** A job that can be queued. */
export interface ExpandedJob {
  readonly name: string;
  /** Labels that a runner must have. */
  readonly labels: readonly string[];
  readonly matrix: Combination;
  readonly failFast: boolean;
  /** Jobs of the matrix that run at a time; 0 means no limit. */
  readonly maxParallel: number;
  /** 0 when the file sets no timeout. */
  readonly timeoutMinutes: number;
  readonly continueOnError: boolean;
  /** Empty outside of groups. */
  readonly concurrencyGroup: string;
  readonly cancelsGroup: boolean;
  /** The workflow with only this job, in YAML, for the runner; empty for a job that calls another workflow. */
  readonly payload: string;
  /** Of a job that calls another workflow. */
  readonly call?: CallContexts | undefined;
}

/** The contexts in which the called workflow and its secrets are evaluated. */
export interface CallContexts {
  readonly inputs: Mapping;
  readonly matrix: Combination;
}

/** The fields of a job's payload that start it. */
export interface JobEvent {
  readonly name: string;
  /** The workflow that the job calls. */
  readonly called?: Workflow | undefined;
}

const LABELS_MAX = 32;
const NAME_CHARACTERS_MAX = 255;

/**
 * Expands a job into the jobs of its matrix, or into one job. `scope` has the contexts of the run; `matrix` and `strategy`
 * are added. Throws `ExpressionError` for expressions that cannot be evaluated and values of the wrong type.
 */
export function expandJob(
  workflow: Workflow,
  job: JobDefinition,
  scope: Scope,
  event: JobEvent,
): readonly ExpandedJob[] {
  const matrix = job.matrix === null ? null : evaluateDeep(job.matrix, scope);
  if (matrix !== null && !isMapping(matrix))
    throw new ExpressionError(`jobs.${job.key}.strategy.matrix must give a mapping`);
  const combinations = matrix === null ? [{}] : expandMatrix(matrix);
  if (typeof combinations === "string")
    throw new ExpressionError(`jobs.${job.key}.strategy: ${combinations}`);
  return combinations.map((combination, index) => {
    const strategy = { "job-index": index, "job-total": combinations.length };
    const contexts = { ...scope.contexts, matrix: combination, strategy };
    return expandOne(workflow, job, { ...scope, contexts }, { combination, event });
  });
}

function expandOne(
  workflow: Workflow,
  job: JobDefinition,
  scope: Scope,
  { combination, event }: { readonly combination: Combination; readonly event: JobEvent },
): ExpandedJob {
  const own = toText(evaluateTemplate(job.name, scope)).trim();
  // A name with an expression distinguishes the jobs of a matrix already.
  const name =
    job.name.includes("${{") && own !== "" ? own : toMatrixName(own || job.key, combination);
  const { call } = job;
  const labels = call === undefined ? toLabels(job.key, evaluateDeep(job.runsOn, scope)) : [];
  const number = (value: ExpressionValue, field: string) =>
    toCount(evaluateDeep(value, scope), `jobs.${job.key}.${field}`);
  const failFast = isTruthy(toFlag(evaluateDeep(job.failFast, scope)));
  const maxParallel = number(job.maxParallel, "strategy.max-parallel");
  const strategy = {
    ...("fail-fast" in (isMapping(job.source["strategy"]) ? job.source["strategy"] : {})
      ? { "fail-fast": failFast }
      : {}),
    ...(maxParallel > 0 ? { "max-parallel": maxParallel } : {}),
    ...(Object.keys(combination).length > 0
      ? { matrix: mapValues(combination, (value) => [value]) }
      : {}),
  };
  return {
    name: [...name].slice(0, NAME_CHARACTERS_MAX).join(""),
    labels,
    matrix: combination,
    failFast,
    maxParallel,
    timeoutMinutes: number(job.timeoutMinutes, "timeout-minutes"),
    continueOnError: isTruthy(toFlag(evaluateDeep(job.continueOnError, scope))),
    concurrencyGroup: toText(evaluateTemplate(job.concurrency?.group ?? "", scope)).slice(
      0,
      NAME_CHARACTERS_MAX,
    ),
    cancelsGroup: isTruthy(toFlag(evaluateDeep(job.concurrency?.cancelInProgress ?? false, scope))),
    ...(call === undefined
      ? { payload: toPayload(workflow, job, scope, { name, labels, strategy, event }) }
      : { payload: "", call: toCallContexts(job.key, call, scope, { combination, event }) }),
  };
}

/** @throws ExpressionError */
function toCallContexts(
  key: string,
  call: JobCall,
  scope: Scope,
  { combination, event }: { readonly combination: Combination; readonly event: JobEvent },
): CallContexts {
  const declared = event.called?.callInterface;
  if (declared === undefined) throw new ExpressionError(`jobs.${key}.uses: no such workflow`);
  return { inputs: evaluateCallInputs(declared, call, scope), matrix: combination };
}

function toPayload(
  workflow: Workflow,
  job: JobDefinition,
  scope: Scope,
  {
    name,
    labels,
    strategy,
    event,
  }: {
    readonly name: string;
    readonly labels: readonly string[];
    /** The matrix of one combination, from which a runner computes its contexts. */
    readonly strategy: Mapping;
    readonly event: JobEvent;
  },
): string {
  const { needs: _needs, strategy: _strategy, concurrency: _concurrency, ...rest } = job.source;
  const single = {
    ...rest,
    name,
    "runs-on": [...labels],
    // The server has already decided whether the job runs.
    if: "always()",
    ...(Object.keys(strategy).length === 0 ? {} : { strategy }),
  };
  return stringify(
    {
      // Runners take the name for `github.workflow`, which is the file of a workflow without a name.
      name: workflow.name || toText(memberOf(scope.contexts["github"] ?? null, "workflow")),
      on: toOn(event.name, scope.contexts["inputs"]),
      ...(Object.keys(workflow.env).length === 0 ? {} : { env: workflow.env }),
      ...(Object.keys(workflow.defaults).length === 0 ? {} : { defaults: workflow.defaults }),
      ...(workflow.permissions === null ? {} : { permissions: workflow.permissions }),
      jobs: { [job.key]: single },
    },
    // A value that occurs twice is written twice, because not every YAML reader supports aliases.
    { aliasDuplicateObjects: false, lineWidth: 0 },
  );
}

/**
 * Returns the `on` of a payload. Gitea's runner program passes the declared inputs of an event to a job, and converts
 * only those whose declaration has a type.
 */
function toOn(event: string, inputs: ExpressionValue | undefined): ExpressionValue {
  const names = isMapping(inputs) ? Object.keys(inputs) : [];
  if (names.length === 0 || !["workflow_call", "workflow_dispatch"].includes(event)) return event;
  return { [event]: { inputs: Object.fromEntries(names.map((name) => [name, {}])) } };
}

function toLabels(key: string, value: ExpressionValue): readonly string[] {
  const list: readonly ExpressionValue[] = Array.isArray(value) ? value.flat() : [value];
  const labels = list.map((each) => toText(each).trim());
  if (labels.length === 0 || labels.length > LABELS_MAX || labels.includes(""))
    throw new ExpressionError(`jobs.${key}.runs-on gives no label`);
  return [...new Set(labels)];
}

function toCount(value: ExpressionValue, where: string): number {
  if (value === null || value === "") return 0;
  const number = Number(value);
  if (!Number.isFinite(number) || number < 0)
    throw new ExpressionError(`${where} must be a positive number`);
  return number;
}

/** Reads `false` in quotes as false. */
function toFlag(value: ExpressionValue): ExpressionValue {
  return value === "false" ? false : value;
}

function mapValues(
  combination: Combination,
  map: (value: ExpressionValue) => ExpressionValue,
): Record<string, ExpressionValue> {
  return Object.fromEntries(Object.entries(combination).map(([key, value]) => [key, map(value)]));
}
