// daemon/workflows: the engine of workflows, which the forge and the built-in runner share: files, expressions, matrices, and the
// messages of the runner protocol. Pure. Start here (the parsed file), then evaluation.ts; runner-messages.ts has the wire format.
import { listExpressions } from "./expressions/evaluate.ts";
import { parseExpression } from "./expressions/parse.ts";
import { ExpressionError, type ExpressionValue } from "./expressions/values.ts";
import { isMapping, type Mapping } from "./mapping.ts";
import { readTriggers, type Triggers } from "./triggers.ts";
import { type CallInterface, type JobCall, readCall, readCallInterface } from "./workflow-call.ts";
import { createReader, type WorkflowReader } from "./workflow-reader.ts";
import { parseYaml, WorkflowError } from "./yaml-source.ts";

/** A workflow file. All of it is JSON, so that a run can store it. */
export interface Workflow {
  /** The name in the file; empty when it has none. */
  readonly name: string;
  readonly runName: string;
  readonly triggers: Triggers;
  readonly env: Mapping;
  readonly defaults: Mapping;
  readonly permissions: ExpressionValue;
  readonly concurrency?: Concurrency | undefined;
  readonly jobs: readonly JobDefinition[];
  /** Absent when other workflows cannot call it. */
  readonly callInterface?: CallInterface | undefined;
  /** Every workflow that this one calls, directly or through another one, by address; absent until calls are resolved. */
  readonly calls?: Readonly<Record<string, Workflow>> | undefined;
}

/** A group whose runs or jobs run one at a time. Both values may be expressions. */
export interface Concurrency {
  readonly group: string;
  readonly cancelInProgress: ExpressionValue;
}

/** One job of a workflow file. */
export interface JobDefinition {
  readonly key: string;
  /** The name in the file, which may have expressions; empty when it has none. */
  readonly name: string;
  readonly needs: readonly string[];
  readonly condition?: string | undefined;
  /** A label, a list of labels, or an expression whose value is either. */
  readonly runsOn: ExpressionValue;
  /** The matrix, or an expression whose value is one; null without a matrix. */
  readonly matrix: ExpressionValue;
  readonly failFast: ExpressionValue;
  readonly maxParallel: ExpressionValue;
  readonly timeoutMinutes: ExpressionValue;
  readonly continueOnError: ExpressionValue;
  readonly concurrency?: Concurrency | undefined;
  /** The workflow that it calls in place of steps. */
  readonly call?: JobCall | undefined;
  /** The job as parsed from the file. */
  readonly source: Mapping;
}

/** Maximum number of jobs of one file, and of steps of one job. */
const JOBS_MAX = 256;
export const STEPS_MAX = 1_000;
const KEY = /^[A-Za-z_][A-Za-z0-9_-]{0,99}$/;

/** Parses a workflow file. Throws `WorkflowError` with the line of the fault. */
export function parseWorkflow(text: string): Workflow {
  const source = parseYaml(text);
  const root = source.value;
  if (!isMapping(root)) throw new WorkflowError("a workflow is a mapping with `on` and `jobs`", 1);
  const reader = createReader(source);
  const jobs = root["jobs"];
  if (!isMapping(jobs) || Object.keys(jobs).length === 0)
    throw reader.error("a workflow has at least one job under `jobs`", "jobs");
  if (Object.keys(jobs).length > JOBS_MAX)
    throw reader.error(`a workflow has at most ${JOBS_MAX} jobs`, "jobs");
  const definitions = Object.entries(jobs).map(([key, job]) => readJob(reader, key, job));
  assertNeeds(reader, definitions);
  assertPermissions(reader, root["permissions"], "permissions");
  const triggers = readTriggers(root["on"] ?? null, reader);
  const isCallable = triggers["workflow_call"] !== undefined;
  const declared = isMapping(root["on"]) ? root["on"]["workflow_call"] : undefined;
  if (declared !== undefined) assertExpressions(reader, declared, ["on", "workflow_call"]);
  return {
    name: reader.text(root["name"], "name"),
    runName: reader.text(root["run-name"], "run-name"),
    triggers,
    env: reader.mapping(root["env"], "env"),
    defaults: reader.mapping(root["defaults"], "defaults"),
    permissions: root["permissions"] ?? null,
    concurrency: readConcurrency(reader, root["concurrency"], "concurrency"),
    jobs: definitions,
    ...(isCallable ? { callInterface: readCallInterface(reader, declared) } : {}),
  };
}

function readJob(reader: WorkflowReader, key: string, job: ExpressionValue): JobDefinition {
  const at = ["jobs", key] as const;
  if (!KEY.test(key))
    throw reader.error(
      `${JSON.stringify(key)} is not an id of a job: letters, digits, - and _ only`,
      ...at,
    );
  if (!isMapping(job)) throw reader.error(`jobs.${key} must be a mapping`, ...at);
  const call = job["uses"] === undefined ? undefined : readCall(reader, key, job);
  if (call === undefined) assertSteps(reader, key, job["steps"]);
  const runsOn = call === undefined ? readRunsOn(reader, key, job["runs-on"]) : null;
  const strategy = reader.mapping(job["strategy"], ...at, "strategy");
  const matrix = strategy["matrix"] ?? null;
  if (matrix !== null && !isMapping(matrix) && typeof matrix !== "string")
    throw reader.error(`jobs.${key}.strategy.matrix must be a mapping`, ...at, "strategy");
  assertPermissions(reader, job["permissions"], ...at, "permissions");
  assertExpressions(reader, job, [...at]);
  const rawCondition = job["if"];
  const condition = rawCondition === undefined ? undefined : reader.text(rawCondition, ...at, "if");
  if (condition !== undefined) assertCondition(reader, condition, [...at, "if"]);
  return {
    key,
    name: reader.text(job["name"], ...at, "name"),
    needs: [...new Set(reader.texts(job["needs"], ...at, "needs"))],
    condition,
    runsOn,
    matrix,
    failFast: strategy["fail-fast"] ?? true,
    maxParallel: strategy["max-parallel"] ?? null,
    timeoutMinutes: job["timeout-minutes"] ?? null,
    continueOnError: job["continue-on-error"] ?? false,
    concurrency: readConcurrency(reader, job["concurrency"], ...at, "concurrency"),
    ...(call === undefined ? {} : { call }),
    source: job,
  };
}

function readRunsOn(
  reader: WorkflowReader,
  key: string,
  runsOn: ExpressionValue | undefined,
): ExpressionValue {
  const at = ["jobs", key] as const;
  if (runsOn === undefined || runsOn === null || runsOn === "")
    throw reader.error(`jobs.${key}.runs-on is missing`, ...at);
  if (!isMapping(runsOn)) return runsOn;
  if (runsOn["labels"] === undefined)
    throw reader.error(`jobs.${key}.runs-on must be a label or a list of labels`, ...at, "runs-on");
  return runsOn["labels"];
}

function assertPermissions(
  reader: WorkflowReader,
  value: ExpressionValue | undefined,
  ...at: string[]
): void {
  if (value === undefined || value === null || value === "read-all" || value === "write-all")
    return;
  if (!isMapping(value))
    throw reader.error("permissions must be read-all, write-all or a mapping", ...at);
  for (const [name, level] of Object.entries(value))
    if (level !== "read" && level !== "write" && level !== "none")
      throw reader.error(`permissions.${name} must be read, write or none`, ...at);
}

function assertSteps(
  reader: WorkflowReader,
  key: string,
  steps: ExpressionValue | undefined,
): void {
  const at = ["jobs", key, "steps"] as const;
  if (!Array.isArray(steps) || steps.length === 0)
    throw reader.error(`jobs.${key}.steps must be a list of at least one step`, ...at);
  if (steps.length > STEPS_MAX) throw reader.error(`a job has at most ${STEPS_MAX} steps`, ...at);
  for (const [index, step] of steps.entries()) {
    const hasWork = isMapping(step) && (step["run"] === undefined) !== (step["uses"] === undefined);
    if (!hasWork) throw reader.error("a step has either `run` or `uses`", ...at, index);
    const condition = step["if"];
    if (typeof condition === "string") assertCondition(reader, condition, [...at, index, "if"]);
  }
}

function readConcurrency(
  reader: WorkflowReader,
  value: ExpressionValue | undefined,
  ...at: string[]
): Concurrency | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return { group: value, cancelInProgress: false };
  const { group, "cancel-in-progress": cancelInProgress = false } = reader.mapping(value, ...at);
  const text = reader.text(group, ...at, "group");
  if (text === "") throw reader.error("concurrency needs a group", ...at);
  return { group: text, cancelInProgress };
}

function assertNeeds(reader: WorkflowReader, jobs: readonly JobDefinition[]): void {
  const keys = new Set(jobs.map(({ key }) => key));
  for (const { key, needs } of jobs) {
    const unknown = needs.find((need) => !keys.has(need));
    if (unknown !== undefined)
      throw reader.error(
        `jobs.${key} needs the unknown job ${JSON.stringify(unknown)}`,
        "jobs",
        key,
        "needs",
      );
  }
  const cycle = findCycle(jobs);
  if (cycle !== undefined)
    throw reader.error(
      `the needs of jobs form a cycle: ${cycle.join(" → ")}`,
      "jobs",
      cycle[0] ?? "",
      "needs",
    );
}

/** Returns the keys of jobs that form a cycle of needs, the first repeated at the end; undefined without a cycle. */
function findCycle(jobs: readonly JobDefinition[]): readonly string[] | undefined {
  const open = new Map(jobs.map(({ key, needs }) => [key, needs]));
  // Remove jobs without open needs until nothing changes; the remaining jobs are in a cycle or need a job of one.
  for (let before = -1; before !== open.size;) {
    before = open.size;
    for (const [key, needs] of open) if (!needs.some((need) => open.has(need))) open.delete(key);
  }
  const [start] = open.keys();
  if (start === undefined) return undefined;
  const path: string[] = [];
  for (let key: string | undefined = start; key !== undefined;) {
    const visitedAt: number = path.indexOf(key);
    if (visitedAt !== -1) return [...path.slice(visitedAt), key];
    path.push(key);
    key = open.get(key)?.find((need) => open.has(need));
  }
  return undefined;
}

/**
 * Contexts that any expression of a workflow may use. The evaluation refuses contexts that are missing at its place.
 */
const CONTEXTS: ReadonlySet<string> = new Set([
  "env",
  "gitea",
  "github",
  "inputs",
  "job",
  "jobs",
  "matrix",
  "needs",
  "runner",
  "secrets",
  "steps",
  "strategy",
  "vars",
]);

/** Parses every expression of a job, so that a mistake is shown before anything runs. */
function assertExpressions(
  reader: WorkflowReader,
  value: ExpressionValue,
  path: (string | number)[],
): void {
  if (typeof value === "string") {
    if (!value.includes("${{")) return;
    reportAt(reader, path, () => {
      for (const expression of listExpressions(value)) parseExpression(expression, CONTEXTS);
    });
  } else if (Array.isArray(value))
    for (const [index, each] of value.entries())
      assertExpressions(reader, each as ExpressionValue, [...path, index]);
  else if (isMapping(value))
    for (const [key, each] of Object.entries(value))
      assertExpressions(reader, each, [...path, key]);
}

function assertCondition(
  reader: WorkflowReader,
  condition: string,
  path: readonly (string | number)[],
): void {
  if (condition.trim() !== "" && !condition.includes("${{"))
    reportAt(reader, path, () => void parseExpression(condition, CONTEXTS));
}

/** Converts the error of an expression into an error of the file at its line. */
function reportAt(
  reader: WorkflowReader,
  path: readonly (string | number)[],
  work: () => void,
): void {
  try {
    work();
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    throw reader.error(`${path.join(".")}: ${error.message}`, ...path);
  }
}
