import { evaluateDeep, isMapping, type Mapping } from "./mapping.ts";
import type { Scope } from "./expressions/evaluate.ts";
import { ExpressionError, type ExpressionValue, toText } from "./expressions/values.ts";
import type { WorkflowReader } from "./workflow-reader.ts";

/** The call of another workflow by a job. */
export interface JobCall {
  /** The called workflow, as in the file. */
  readonly uses: string;
  /** Line of `uses` in the file, from 1. */
  readonly line: number;
  /** Values for the inputs of the called workflow, which may be expressions. */
  readonly with: Mapping;
  /** Names of the caller's secrets by those of the called workflow, in upper case; `inherit` passes all. */
  readonly secrets: Readonly<Record<string, string>> | "inherit";
  /** The key of the called workflow in `Workflow.calls`; absent until the call is resolved. */
  readonly address?: string | undefined;
}

/** The declarations of a workflow under `on.workflow_call`. */
export interface CallInterface {
  readonly inputs: Readonly<Record<string, CallInput>>;
  /** By name in upper case. */
  readonly secrets: Readonly<Record<string, { readonly isRequired: boolean }>>;
  /** Templates of the outputs. */
  readonly outputs: Readonly<Record<string, string>>;
}

interface CallInput {
  readonly type: "string" | "boolean" | "number";
  readonly isRequired: boolean;
  /** May be an expression; null without one. */
  readonly default: ExpressionValue;
}

/** The file that `uses` names. */
export interface UsedWorkflow {
  /** Undefined for a file of the same commit. */
  readonly from:
    | { readonly owner: string; readonly repository: string; readonly ref: string }
    | undefined;
  readonly folder: string;
  readonly file: string;
}

/** Maximum number of inputs, of secrets and of outputs of one workflow. */
const MEMBERS_MAX = 100;
const USES_CHARACTERS_MAX = 1_000;
const PATH = /^(\.(?:gitea|github)\/workflows)\/([^/]+\.ya?ml)$/i;
const REMOTE = /^([\w.-]+)\/([\w.-]+)\/(\.(?:gitea|github)\/workflows\/[^/@]+)@(.+)$/;

/** Parses `./FOLDER/FILE` or `OWNER/NAME/FOLDER/FILE@REF`; undefined for any other text. */
export function parseUses(uses: string): UsedWorkflow | undefined {
  if (uses.length > USES_CHARACTERS_MAX) return undefined;
  const [, owner, repository, path, ref] = REMOTE.exec(uses) ?? [];
  const isLocal = uses.startsWith("./");
  const [, folder, file] = PATH.exec(isLocal ? uses.slice(2) : (path ?? "")) ?? [];
  if (folder === undefined || file === undefined) return undefined;
  if (isLocal) return { from: undefined, folder, file };
  if (owner === undefined || repository === undefined || ref === undefined) return undefined;
  return { from: { owner, repository, ref }, folder, file };
}

/** Reads the call of a job that has `uses`. @throws WorkflowError */
export function readCall(reader: WorkflowReader, key: string, job: Mapping): JobCall {
  const at = ["jobs", key] as const;
  const uses = reader.text(job["uses"], ...at, "uses").trim();
  if (job["steps"] !== undefined)
    throw reader.error(`jobs.${key} has both \`uses\` and \`steps\``, ...at, "steps");
  const { secrets } = job;
  return {
    uses,
    line: reader.lineOf(...at, "uses"),
    with: readScalars(reader, job["with"], ...at, "with"),
    secrets: secrets === "inherit" ? secrets : readSecrets(reader, key, secrets),
  };
}

/** Reads the secrets that a call passes. Accepts only the form that Gitea accepts, which needs no evaluation. */
function readSecrets(
  reader: WorkflowReader,
  key: string,
  value: ExpressionValue | undefined,
): Readonly<Record<string, string>> {
  const at = ["jobs", key, "secrets"] as const;
  const passed = Object.entries(reader.mapping(value, ...at)).map(([name, each]) => {
    const [, source] = PASSED_SECRET.exec(reader.text(each, ...at, name)) ?? [];
    if (source === undefined)
      throw reader.error(
        `jobs.${key}.secrets.${name} must have the form \${{ secrets.NAME }}`,
        ...at,
        name,
      );
    return [name.toUpperCase(), source.toUpperCase()] as const;
  });
  return Object.fromEntries(passed);
}

const PASSED_SECRET = /^\s*\$\{\{\s*secrets\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}\s*$/;

/** Reads `on.workflow_call`. @throws WorkflowError */
export function readCallInterface(
  reader: WorkflowReader,
  value: ExpressionValue | undefined,
): CallInterface {
  const at = ["on", "workflow_call"] as const;
  const declared = reader.mapping(value, ...at);
  const read = <T>(part: string, toMember: (each: Mapping, name: string) => T) => {
    const members = Object.entries(reader.mapping(declared[part], ...at, part));
    if (members.length > MEMBERS_MAX)
      throw reader.error(`a workflow has at most ${MEMBERS_MAX} ${part}`, ...at, part);
    return members.map(
      ([name, each]) => [name, toMember(reader.mapping(each, ...at, part, name), name)] as const,
    );
  };
  const secrets = read("secrets", (each) => ({ isRequired: each["required"] === true }));
  return {
    inputs: Object.fromEntries(
      read("inputs", (each, name): CallInput => {
        const type = INPUT_TYPES.find((known) => known === each["type"]);
        if (type === undefined)
          throw reader.error(
            `the type of the input ${name} must be string, boolean or number`,
            ...at,
            "inputs",
            name,
          );
        return { type, isRequired: each["required"] === true, default: each["default"] ?? null };
      }),
    ),
    secrets: Object.fromEntries(secrets.map(([name, each]) => [name.toUpperCase(), each])),
    outputs: Object.fromEntries(
      read("outputs", (each, name) => reader.text(each["value"], ...at, "outputs", name, "value")),
    ),
  };
}

const INPUT_TYPES = ["string", "boolean", "number"] as const;

/**
 * Returns why a call does not match the workflow that it names; undefined when it does. Does not compare types of
 * values.
 */
export function findCallError(call: JobCall, called: CallInterface): string | undefined {
  const unknown = Object.keys(call.with).find((name) => !Object.hasOwn(called.inputs, name));
  if (unknown !== undefined) return `the called workflow has no input ${unknown}`;
  const missing = Object.entries(called.inputs).find(
    ([name, input]) =>
      input.isRequired && input.default === null && !Object.hasOwn(call.with, name),
  );
  if (missing !== undefined) return `the input ${missing[0]} is required`;
  if (call.secrets === "inherit") return undefined;
  const { secrets } = call;
  const undeclared = Object.keys(secrets).find((name) => !Object.hasOwn(called.secrets, name));
  if (undeclared !== undefined) return `the called workflow has no secret ${undeclared}`;
  const absent = Object.entries(called.secrets).find(
    ([name, secret]) => secret.isRequired && !Object.hasOwn(secrets, name),
  );
  return absent && `the secret ${absent[0]} is required`;
}

/**
 * Returns the inputs of a called workflow. An input without a value has its default, which may use `github` and `vars`, or
 * the empty value of its type. @param caller the contexts of the calling job
 * @throws ExpressionError for expressions that cannot be evaluated and values of another type
 */
export function evaluateCallInputs(
  { inputs }: CallInterface,
  call: JobCall,
  caller: Scope,
): Mapping {
  const { github = null, vars = null } = caller.contexts;
  const values: Record<string, ExpressionValue> = {};
  for (const [name, input] of Object.entries(inputs)) {
    const value = Object.hasOwn(call.with, name)
      ? evaluateDeep(call.with[name] ?? null, caller)
      : evaluateDeep(input.default, { contexts: { github, vars }, work: caller.work });
    values[name] = toInput(name, input.type, value);
  }
  return values;
}

function toInput(name: string, type: CallInput["type"], value: ExpressionValue): ExpressionValue {
  if (value === null) return EMPTY[type];
  if (type === "string" && typeof value !== "object") return toText(value);
  if (typeof value !== type) throw new ExpressionError(`the input ${name} must be a ${type}`);
  return value;
}

const EMPTY = { string: "", boolean: false, number: 0 } as const;

/** Returns the secrets that a called workflow gets from its caller, without those that the caller does not have. */
export function passSecrets(
  { secrets: passed }: JobCall,
  secrets: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  if (passed === "inherit") return secrets;
  return Object.fromEntries(
    Object.entries(passed).flatMap(([name, source]) => {
      const value = secrets[source];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** Reads a mapping of values that are neither lists nor mappings. */
function readScalars(
  reader: WorkflowReader,
  value: ExpressionValue | undefined,
  ...at: string[]
): Mapping {
  const mapping = reader.mapping(value, ...at);
  for (const [name, each] of Object.entries(mapping))
    if (Array.isArray(each) || isMapping(each))
      throw reader.error(`${[...at, name].join(".")} must be a single value`, ...at, name);
  return mapping;
}
