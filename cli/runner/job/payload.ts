import { parse } from "yaml";
import type { ExpressionValue } from "../../../daemon/workflows/expressions/values.ts";
import { isMapping, type Mapping } from "../../../daemon/workflows/mapping.ts";

/** A job as the daemon assigns it: a workflow with only this job. Values may be expressions. */
export interface JobPayload {
  readonly key: string;
  /** The name of the workflow; empty from a daemon that sends none. */
  readonly workflowName: string;
  /** Of the workflow and of the job. A text is an expression whose value is a mapping. */
  readonly env: readonly (Mapping | string)[];
  readonly defaults: StepDefaults;
  readonly matrix: Mapping;
  /** The declared types of the inputs of a `workflow_dispatch`, by name. */
  readonly inputTypes: Mapping;
  readonly timeoutMinutes: ExpressionValue;
  readonly outputs: Mapping;
  readonly labels: readonly string[];
  readonly container: ExpressionValue;
  readonly hasServices: boolean;
  readonly steps: readonly StepDefinition[];
}

export interface StepDefaults {
  readonly shell: string | undefined;
  readonly workingDirectory: string | undefined;
}

/** A step of a job or of a composite action. */
export interface StepDefinition {
  readonly id: string | undefined;
  readonly name: string;
  readonly condition: string | undefined;
  readonly uses: string | undefined;
  readonly run: string | undefined;
  readonly shell: string | undefined;
  readonly workingDirectory: string | undefined;
  readonly with: Mapping | string;
  readonly env: Mapping | string;
  readonly continueOnError: ExpressionValue;
  readonly timeoutMinutes: ExpressionValue;
}

/** A job that the runner cannot read. The message is shown in its log. */
export class PayloadError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "PayloadError";
  }
}

const ALIASES_MAX = 100;

/** Parses the payload of a task. @throws PayloadError */
export function parsePayload(text: string): JobPayload {
  const root = parseYaml(text, "the workflow");
  const [[key, job] = []] = Object.entries(toMapping(root["jobs"]));
  if (key === undefined || !isMapping(job)) throw new PayloadError("the workflow has no job");
  const strategy = toMapping(job["strategy"]);
  const runsOn = job["runs-on"];
  const labels: readonly unknown[] = Array.isArray(runsOn) ? runsOn : [runsOn];
  return {
    key,
    workflowName: toOptionalText(root["name"]) ?? "",
    env: [toVariables(root["env"]), toVariables(job["env"])],
    defaults: toDefaults(toMapping(job["defaults"]), toDefaults(toMapping(root["defaults"]))),
    matrix: Object.fromEntries(
      // One combination: each key has a list of one value.
      Object.entries(toMapping(strategy["matrix"])).map(([name, value]) => [
        name,
        Array.isArray(value) ? ((value[0] as ExpressionValue | undefined) ?? null) : value,
      ]),
    ),
    inputTypes: toInputTypes(root),
    timeoutMinutes: job["timeout-minutes"] ?? null,
    outputs: toMapping(job["outputs"]),
    labels: labels.filter((each) => typeof each === "string"),
    container: job["container"] ?? null,
    hasServices: Object.keys(toMapping(job["services"])).length > 0,
    steps: toSteps(job["steps"]),
  };
}

function toInputTypes(root: Mapping): Mapping {
  const { inputs } = toMapping(toMapping(root["on"])["workflow_dispatch"]);
  return Object.fromEntries(
    Object.entries(toMapping(inputs)).map(([name, each]) => [
      name,
      toMapping(each)["type"] ?? null,
    ]),
  );
}

/** Parses YAML whose top is a mapping. @throws PayloadError */
export function parseYaml(text: string, subject: string): Mapping {
  let value: unknown;
  try {
    value = parse(text, { maxAliasCount: ALIASES_MAX, merge: true });
  } catch (error) {
    throw new PayloadError(`${subject} is not valid YAML: ${(error as Error).message}`);
  }
  if (!isMapping(value)) throw new PayloadError(`${subject} is not a mapping`);
  return value;
}

/** Reads the steps of a job or of a composite action. @throws PayloadError */
export function toSteps(value: ExpressionValue | undefined): readonly StepDefinition[] {
  if (!Array.isArray(value)) throw new PayloadError("there are no steps");
  return value.map((each: unknown): StepDefinition => {
    if (!isMapping(each)) throw new PayloadError("a step is not a mapping");
    const text = (key: string) => toOptionalText(each[key]);
    const [line = ""] = (text("run") ?? text("uses") ?? "").trim().split("\n", 1);
    return {
      id: text("id"),
      name: text("name") ?? `Run ${line}`,
      condition: text("if"),
      uses: text("uses"),
      run: text("run"),
      shell: text("shell"),
      workingDirectory: text("working-directory"),
      with: toVariables(each["with"]),
      env: toVariables(each["env"]),
      continueOnError: each["continue-on-error"] ?? false,
      timeoutMinutes: each["timeout-minutes"] ?? null,
    };
  });
}

export function toMapping(value: ExpressionValue | undefined): Mapping {
  return isMapping(value) ? value : {};
}

/** Variables are a mapping, or an expression for the whole of it. */
function toVariables(value: ExpressionValue | undefined): Mapping | string {
  return typeof value === "string" ? value : toMapping(value);
}

function toDefaults(defaults: Mapping, outer?: StepDefaults): StepDefaults {
  const run = toMapping(defaults["run"]);
  return {
    shell: toOptionalText(run["shell"]) ?? outer?.shell,
    workingDirectory: toOptionalText(run["working-directory"]) ?? outer?.workingDirectory,
  };
}

function toOptionalText(value: ExpressionValue | undefined): string | undefined {
  if (value === undefined || value === null || typeof value === "object") return undefined;
  return String(value);
}
