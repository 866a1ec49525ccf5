import { type ExpressionValue, memberOf, toText } from "./expressions/values.ts";
import { isMapping, type Mapping } from "./mapping.ts";
import type { JobDefinition, Workflow } from "./workflow.ts";

/** The parts of a payload that the jobs of one matrix do not share. */
export interface OwnParts {
  readonly name: string;
  readonly labels: readonly string[];
  /** The matrix of one combination, from which a runner computes its contexts. */
  readonly strategy: Mapping;
}

/** The job of a payload, with the workflow that has it and the contexts of its run. */
export interface PayloadSource {
  readonly workflow: Workflow;
  readonly definition: JobDefinition;
  readonly github: Mapping;
  readonly inputs: Mapping;
}

/** Begins the text of own parts; a payload that an earlier version has stored whole is YAML and begins otherwise. */
const OWN_PARTS = "own:";

/** Returns the text in which a job's own parts are stored. */
export function toOwnParts(parts: OwnParts): string {
  return OWN_PARTS + JSON.stringify(parts);
}

/**
 * Returns the workflow with only one job, for a runner. The file has the job once for all jobs of its matrix, and the own
 * parts of each are stored.
 * @param stored the job's own parts, or a whole payload
 * @param event the event that has started the workflow
 */
export function toPayload(
  { workflow, definition, github, inputs }: PayloadSource,
  stored: string,
  event: string,
): string {
  if (!stored.startsWith(OWN_PARTS)) return stored;
  const { name, labels, strategy } = JSON.parse(stored.slice(OWN_PARTS.length)) as OwnParts;
  const { needs: _needs, strategy: _strategy, concurrency: _group, ...rest } = definition.source;
  const single = {
    ...rest,
    name,
    "runs-on": labels,
    // The server has already decided whether the job runs.
    if: "always()",
    ...(Object.keys(strategy).length === 0 ? {} : { strategy }),
  };
  return toYaml({
    // Runners take the name for `github.workflow`, which is the file of a workflow without a name.
    name: workflow.name || toText(memberOf(github, "workflow")),
    on: toOn(event, inputs, workflow),
    ...(Object.keys(workflow.env).length === 0 ? {} : { env: workflow.env }),
    ...(Object.keys(workflow.defaults).length === 0 ? {} : { defaults: workflow.defaults }),
    ...(workflow.permissions === null ? {} : { permissions: workflow.permissions }),
    jobs: { [definition.key]: single },
  });
}

/**
 * Returns the `on` of a payload. Runners pass the declared inputs of an event to a job, and convert the texts of a dispatch
 * to their declared types; those of a call have their types already.
 */
function toOn(event: string, inputs: Mapping, { triggers }: Workflow): ExpressionValue {
  const names = Object.keys(inputs);
  if (names.length === 0 || !["workflow_call", "workflow_dispatch"].includes(event)) return event;
  const declared = event === "workflow_dispatch" ? (triggers[event]?.inputs ?? {}) : {};
  const toDeclaration = (name: string): Mapping => {
    const declaration = Object.hasOwn(declared, name) ? declared[name] : undefined;
    const type = isMapping(declaration) ? (declaration["type"] ?? null) : null;
    return type === null ? {} : { type };
  };
  return {
    [event]: { inputs: Object.fromEntries(names.map((name) => [name, toDeclaration(name)])) },
  };
}

/**
 * Returns a value as JSON, which is YAML as well and is written a hundred times faster than YAML with blocks. Escapes the
 * characters that only JSON allows.
 */
function toYaml(value: object): string {
  return JSON.stringify(value, undefined, 1).replaceAll(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
