import { type ExpressionValue, toText } from "./expressions/values.ts";
import { isMapping, type Mapping } from "./mapping.ts";
import type { Workflow } from "./workflow.ts";

const INPUTS_MAX = 25;
const VALUES_CHARACTERS_MAX = 65_535;

/**
 * Checks the inputs of a `workflow_dispatch` against its declaration and adds defaults. Returns them as
 * `github.event.inputs` has them, as texts, or the reason for a refusal.
 */
export function readDispatchInputs(
  declared: Mapping,
  supplied: Readonly<Record<string, string>>,
): { readonly inputs: Readonly<Record<string, string>> } | string {
  const names = Object.keys(declared);
  const unknown = Object.keys(supplied).find((name) => !names.includes(name));
  if (unknown !== undefined) return `unknown input ${JSON.stringify(unknown)}`;
  if (names.length > INPUTS_MAX) return `a workflow has at most ${INPUTS_MAX} inputs`;
  const length = Object.values(supplied).reduce((sum, value) => sum + value.length, 0);
  if (length > VALUES_CHARACTERS_MAX)
    return `the inputs have at most ${VALUES_CHARACTERS_MAX} characters`;
  const inputs: Record<string, string> = {};
  for (const [name, declaration] of Object.entries(declared)) {
    const input = isMapping(declaration) ? declaration : {};
    const value = readInput(
      name,
      input,
      Object.hasOwn(supplied, name) ? supplied[name] : undefined,
    );
    if ("refusal" in value) return value.refusal;
    inputs[name] = value.text;
  }
  return { inputs };
}

/** An input of `workflow_dispatch` as its file declares it. An unknown type is that of a text. */
export interface DispatchInput {
  readonly name: string;
  readonly description: string;
  readonly type: "string" | "boolean" | "number" | "choice" | "environment";
  readonly required: boolean;
  /** Empty when there is none. */
  readonly default: string;
  /** Of a choice. */
  readonly options: string[];
}

const types = ["boolean", "number", "choice", "environment"] as const;
/** Options of a choice that are described, and characters of a text about an input. */
const OPTIONS_MAX = 100;
const TEXT_MAX = 1_000;

/** Describes the inputs of a `workflow_dispatch`; as many as a workflow may have. */
export function describeDispatchInputs(declared: Mapping): DispatchInput[] {
  return Object.entries(declared)
    .slice(0, INPUTS_MAX)
    .map(([name, declaration]) => {
      const input = isMapping(declaration) ? declaration : {};
      const textOf = (member: string) => toText(input[member] ?? "").slice(0, TEXT_MAX);
      const options = Array.isArray(input["options"]) ? input["options"] : [];
      return {
        name,
        description: textOf("description"),
        type: types.find((type) => type === input["type"]) ?? "string",
        required: input["required"] === true,
        default: textOf("default"),
        options: options.slice(0, OPTIONS_MAX).map(toText),
      };
    });
}

/** Returns the `inputs` context of an event: those of `workflow_dispatch` have the types that the file declares. */
export function toInputsContext({ triggers }: Pick<Workflow, "triggers">, event: unknown): Mapping {
  const inputs = isMapping(event) && isMapping(event["inputs"]) ? event["inputs"] : {};
  const declared = triggers["workflow_dispatch"]?.inputs ?? {};
  return Object.fromEntries(
    Object.entries(inputs).map(([name, value]) => {
      const declaration = Object.hasOwn(declared, name) ? declared[name] : undefined;
      const type = isMapping(declaration) ? declaration["type"] : undefined;
      return [name, toTypedInput(type, value)];
    }),
  );
}

/** Converts the text of an input to its declared type. Runs of earlier versions have typed values already. */
export function toTypedInput(
  type: ExpressionValue | undefined,
  value: ExpressionValue,
): ExpressionValue {
  if (typeof value !== "string") return value;
  if (type === "boolean") return value === "true";
  return type === "number" && value !== "" ? Number(value) : value;
}

function readInput(
  name: string,
  input: Mapping,
  supplied: string | undefined,
): { readonly text: string } | { readonly refusal: string } {
  const byDefault = input["default"] ?? null;
  const isMissing = supplied === undefined || supplied === "";
  if (isMissing && input["required"] === true && byDefault === null)
    return { refusal: `the input ${name} is required` };
  const text = supplied ?? (byDefault === null ? "" : toText(byDefault));
  switch (input["type"]) {
    case "boolean":
      if (!["true", "false", ""].includes(text))
        return { refusal: `the input ${name} is true or false` };
      return { text: text === "true" ? text : "false" };
    case "number":
      if (text !== "" && !Number.isFinite(Number(text)))
        return { refusal: `the input ${name} is a number` };
      return { text };
    case "choice": {
      const options = Array.isArray(input["options"]) ? input["options"].map(toText) : [];
      if (text !== "" && !options.includes(text))
        return { refusal: `the input ${name} is one of ${options.join(", ")}` };
      return { text };
    }
    default:
      return { text };
  }
}
