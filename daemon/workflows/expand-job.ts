import { evaluateTemplate, type Scope } from "./expressions/evaluate.ts";
import {
  assertStorable,
  ExpressionError,
  type ExpressionValue,
  isTruthy,
  toText,
} from "./expressions/values.ts";
import { evaluateDeep, isMapping, type Mapping } from "./mapping.ts";
import { type Combination, expandMatrix, toMatrixName } from "./matrix.ts";
import { toOwnParts } from "./payload.ts";
import { type CallInterface, evaluateCallInputs, type JobCall } from "./workflow-call.ts";
import type { JobDefinition } from "./workflow.ts";

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
  /** The job's own parts of its payload; see `toPayload`. Empty for a job that calls another workflow. */
  readonly payload: string;
  /** Of a job that calls another workflow. */
  readonly call?: CallContexts | undefined;
}

/** A job without its steps: the parts that are evaluated when its needs have ended. */
export type ExpandableJob = Omit<JobDefinition, "source"> & {
  /** Whether the file sets `strategy.fail-fast`, which runners are told then. */
  readonly setsFailFast: boolean;
};

/** Returns the parts of a job that are evaluated when its needs have ended. */
export function toExpandable({ source, ...job }: JobDefinition): ExpandableJob {
  const { strategy } = source;
  return { ...job, setsFailFast: isMapping(strategy) && "fail-fast" in strategy };
}

/** The contexts in which the called workflow and its secrets are evaluated. */
export interface CallContexts {
  readonly inputs: Mapping;
  readonly matrix: Combination;
}

const LABELS_MAX = 32;
const NAME_CHARACTERS_MAX = 255;
/** A year: no job runs as long, and no database stores any number. */
const TIMEOUT_MINUTES_MAX = 366 * 24 * 60;

/**
 * Expands a job into the jobs of its matrix, or into one job. `scope` has the contexts of the run; `matrix` and `strategy`
 * are added. Throws `ExpressionError` for expressions that cannot be evaluated and values of the wrong type, and
 * `WorkExceeded`.
 * @param called the inputs, secrets and outputs of the workflow that the job calls
 */
export function expandJob(
  job: ExpandableJob,
  scope: Scope,
  called?: CallInterface,
): readonly ExpandedJob[] {
  const matrix = job.matrix === null ? null : evaluateDeep(job.matrix, scope);
  if (matrix !== null && !isMapping(matrix))
    throw new ExpressionError(`jobs.${job.key}.strategy.matrix must give a mapping`);
  const combinations = matrix === null ? [{}] : expandMatrix(matrix, scope.work);
  if (typeof combinations === "string")
    throw new ExpressionError(`jobs.${job.key}.strategy: ${combinations}`);
  return combinations.map((combination, index) => {
    const strategy = { "job-index": index, "job-total": combinations.length };
    const contexts = { ...scope.contexts, matrix: combination, strategy };
    return expandOne(job, { ...scope, contexts }, { combination, called });
  });
}

function expandOne(
  job: ExpandableJob,
  scope: Scope,
  {
    combination,
    called,
  }: { readonly combination: Combination; readonly called: CallInterface | undefined },
): ExpandedJob {
  const own = toText(evaluateTemplate(job.name, scope)).trim();
  // A name with an expression distinguishes the jobs of a matrix already.
  const name =
    job.name.includes("${{") && own !== "" ? own : toMatrixName(own || job.key, combination);
  const where = `jobs.${job.key}`;
  const shortName = assertStorable(
    [...name].slice(0, NAME_CHARACTERS_MAX).join(""),
    `${where}.name`,
  );
  const { call } = job;
  const labels = call === undefined ? toLabels(job.key, evaluateDeep(job.runsOn, scope)) : [];
  const number = (value: ExpressionValue, field: string) =>
    toCount(evaluateDeep(value, scope), `jobs.${job.key}.${field}`);
  const failFast = isTruthy(toFlag(evaluateDeep(job.failFast, scope)));
  const maxParallel = number(job.maxParallel, "strategy.max-parallel");
  if (!Number.isSafeInteger(maxParallel))
    throw new ExpressionError(`${where}.strategy.max-parallel must be a whole number`);
  const strategy = {
    ...(job.setsFailFast ? { "fail-fast": failFast } : {}),
    ...(maxParallel > 0 ? { "max-parallel": maxParallel } : {}),
    ...(Object.keys(combination).length > 0
      ? { matrix: mapValues(combination, (value) => [value]) }
      : {}),
  };
  return {
    name: shortName,
    labels,
    matrix: combination,
    failFast,
    maxParallel,
    timeoutMinutes: Math.min(number(job.timeoutMinutes, "timeout-minutes"), TIMEOUT_MINUTES_MAX),
    continueOnError: isTruthy(toFlag(evaluateDeep(job.continueOnError, scope))),
    concurrencyGroup: assertStorable(
      toText(evaluateTemplate(job.concurrency?.group ?? "", scope)).slice(0, NAME_CHARACTERS_MAX),
      `${where}.concurrency`,
    ),
    cancelsGroup: isTruthy(toFlag(evaluateDeep(job.concurrency?.cancelInProgress ?? false, scope))),
    ...(call === undefined
      ? { payload: toOwnParts({ name: shortName, labels, strategy }) }
      : { payload: "", call: toCallContexts(job.key, call, scope, { combination, called }) }),
  };
}

/** @throws ExpressionError */
function toCallContexts(
  key: string,
  call: JobCall,
  scope: Scope,
  {
    combination,
    called,
  }: { readonly combination: Combination; readonly called: CallInterface | undefined },
): CallContexts {
  if (called === undefined) throw new ExpressionError(`jobs.${key}.uses: no such workflow`);
  return { inputs: evaluateCallInputs(called, call, scope), matrix: combination };
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
