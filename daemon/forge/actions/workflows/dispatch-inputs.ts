import { type ExpressionValue, toText } from "./expressions/values.ts";
import { isMapping, type Mapping } from "./mapping.ts";

const INPUTS_MAX = 25;
const VALUES_CHARACTERS_MAX = 65_535;

/**
 * Checks the inputs of a `workflow_dispatch` against its declaration and adds defaults. Returns the values as the `inputs`
 * context has them (booleans and numbers as such), or the reason for a refusal.
 */
export function readDispatchInputs(
  declared: Mapping,
  supplied: Readonly<Record<string, string>>,
): Mapping | string {
  const names = Object.keys(declared);
  const unknown = Object.keys(supplied).find((name) => !names.includes(name));
  if (unknown !== undefined) return `unknown input ${JSON.stringify(unknown)}`;
  if (names.length > INPUTS_MAX) return `a workflow has at most ${INPUTS_MAX} inputs`;
  const length = Object.values(supplied).reduce((sum, value) => sum + value.length, 0);
  if (length > VALUES_CHARACTERS_MAX)
    return `the inputs have at most ${VALUES_CHARACTERS_MAX} characters`;
  const values: Record<string, ExpressionValue> = {};
  for (const [name, declaration] of Object.entries(declared)) {
    const input = isMapping(declaration) ? declaration : {};
    const value = readInput(
      name,
      input,
      Object.hasOwn(supplied, name) ? supplied[name] : undefined,
    );
    if ("refusal" in value) return value.refusal;
    values[name] = value.value;
  }
  return values;
}

function readInput(
  name: string,
  input: Mapping,
  supplied: string | undefined,
): { readonly value: ExpressionValue } | { readonly refusal: string } {
  const byDefault = input["default"] ?? null;
  const isMissing = supplied === undefined || supplied === "";
  if (isMissing && input["required"] === true && byDefault === null)
    return { refusal: `the input ${name} is required` };
  const text = supplied ?? (byDefault === null ? "" : toText(byDefault));
  switch (input["type"]) {
    case "boolean":
      if (!["true", "false", ""].includes(text))
        return { refusal: `the input ${name} is true or false` };
      return { value: text === "true" };
    case "number":
      if (text !== "" && !Number.isFinite(Number(text)))
        return { refusal: `the input ${name} is a number` };
      return { value: text === "" ? "" : Number(text) };
    case "choice": {
      const options = Array.isArray(input["options"]) ? input["options"].map(toText) : [];
      if (text !== "" && !options.includes(text))
        return { refusal: `the input ${name} is one of ${options.join(", ")}` };
      return { value: text };
    }
    default:
      return { value: text };
  }
}
