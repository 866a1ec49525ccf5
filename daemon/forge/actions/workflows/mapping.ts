import { evaluateTemplate, type Scope } from "./expressions/evaluate.ts";
import type { ExpressionValue } from "./expressions/values.ts";

/** A mapping of a workflow file, as JSON. */
export type Mapping = Readonly<Record<string, ExpressionValue>>;

export function isMapping(value: unknown): value is Mapping {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Evaluates the expressions of every text within a value. @throws ExpressionError */
export function evaluateDeep(value: ExpressionValue, scope: Scope): ExpressionValue {
  if (typeof value === "string") return evaluateTemplate(value, scope);
  if (Array.isArray(value)) return value.map((each: ExpressionValue) => evaluateDeep(each, scope));
  if (!isMapping(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, evaluateDeep(each, scope)]),
  );
}
