import { evaluateTemplate, type Scope } from "./expressions/evaluate.ts";
import type { ExpressionValue } from "./expressions/values.ts";

/** A mapping of a workflow file, as JSON. */
export type Mapping = Readonly<Record<string, ExpressionValue>>;

export function isMapping(value: unknown): value is Mapping {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Returns an object after a round trip through JSON: without the members that JSON omits. `replacer` is that of
 * `JSON.stringify`.
 */
export function toJsonMapping(
  value: object,
  replacer?: (key: string, value: unknown) => unknown,
): Mapping {
  const parsed: unknown = JSON.parse(JSON.stringify(value, replacer));
  if (!isMapping(parsed)) throw new TypeError("the value is not an object of JSON");
  return parsed;
}

/** Evaluates the expressions of every text within a value. @throws ExpressionError, WorkExceeded */
export function evaluateDeep(value: ExpressionValue, scope: Scope): ExpressionValue {
  if (typeof value === "string") return evaluateTemplate(value, scope);
  scope.work?.spend(1);
  if (Array.isArray(value)) return value.map((each: ExpressionValue) => evaluateDeep(each, scope));
  if (!isMapping(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, evaluateDeep(each, scope)]),
  );
}
