import { callFunction, type FunctionScope, measure } from "./functions.ts";
import { type Expression, parseExpression } from "./parse.ts";
import {
  compare,
  ExpressionError,
  type ExpressionValue,
  isList,
  isTruthy,
  looselyEquals,
  memberOf,
  toText,
} from "./values.ts";

/** The contexts that an expression may refer to. */
export interface Scope extends FunctionScope {
  /** Contexts by name, such as `github`, `matrix` and `needs`. */
  readonly contexts: Readonly<Record<string, ExpressionValue>>;
}

/** Longest result of an expression or template; nested `format` calls grow exponentially. */
const TEXT_MAX = 1024 * 1024;
/** Steps in which a character of an expression is parsed. */
const STEPS_TO_PARSE = 5;

/** Evaluates the text between `${{` and `}}`. @throws ExpressionError */
export function evaluate(text: string, scope: Scope): ExpressionValue {
  scope.work?.spend(text.length * STEPS_TO_PARSE);
  return evaluateParsed(parseExpression(text), scope);
}

function evaluateParsed(expression: Expression, scope: Scope): ExpressionValue {
  scope.work?.spend(1);
  const of = (each: Expression) => evaluateParsed(each, scope);
  switch (expression.kind) {
    case "literal":
      return expression.value;
    case "context": {
      const names = Object.keys(scope.contexts);
      const known = names.find((name) => name.toLowerCase() === expression.name.toLowerCase());
      if (known === undefined)
        throw new ExpressionError(`unknown name ${JSON.stringify(expression.name)}`);
      return scope.contexts[known] ?? null;
    }
    case "member": {
      const value = of(expression.of);
      const key = of(expression.key);
      const isOfEach = isFiltered(expression.of) && isList(value);
      scope.work?.spend(isList(value) && !isOfEach ? 1 : countMembers(value) + measure(key));
      // After a filter: the member of each value, without the values that lack it.
      return isOfEach
        ? value.map((each) => memberOf(each, key)).filter((each) => each !== null)
        : memberOf(value, key);
    }
    case "filter": {
      const value = of(expression.of);
      scope.work?.spend(countMembers(value));
      // After another filter: the values of each value.
      return isFiltered(expression.of) && isList(value)
        ? value.flatMap((each) => valuesOf(each))
        : valuesOf(value);
    }
    case "not":
      return !isTruthy(of(expression.of));
    case "call": {
      const result = callFunction(expression.name, expression.values.map(of), scope);
      if (typeof result === "string") {
        scope.work?.spend(result.length);
        assertLength(result.length);
      }
      return result;
    }
    case "binary":
      return evaluateBinary(expression, of, scope);
  }
}

function evaluateBinary(
  { operator, left, right }: Extract<Expression, { kind: "binary" }>,
  of: (expression: Expression) => ExpressionValue,
  { work }: Scope,
): ExpressionValue {
  const first = of(left);
  if (operator === "||") return isTruthy(first) ? first : of(right);
  if (operator === "&&") return isTruthy(first) ? of(right) : first;
  const second = of(right);
  for (const each of [first, second]) if (typeof each === "string") work?.spend(each.length);
  switch (operator) {
    case "==":
      return looselyEquals(first, second);
    case "!=":
      return !looselyEquals(first, second);
    case "<":
      return compare(first, second) < 0;
    case "<=":
      return compare(first, second) <= 0;
    case ">":
      return compare(first, second) > 0;
    case ">=":
      return compare(first, second) >= 0;
  }
}

function isFiltered(expression: Expression): boolean {
  if (expression.kind === "filter") return true;
  return expression.kind === "member" && isFiltered(expression.of);
}

/**
 * Replaces every `${{ … }}` of a text by its value. A text that is one expression as a whole gives the value itself, so
 * that `${{ fromJSON(…) }}` may be a list. @throws ExpressionError
 */
export function evaluateTemplate(text: string, scope: Scope): ExpressionValue {
  scope.work?.spend(text.length);
  const parts = splitTemplate(text);
  const [only] = parts;
  if (parts.length === 1 && only?.isExpression === true) return evaluate(only.text, scope);
  let length = 0;
  return parts
    .map((part) => {
      const value = part.isExpression ? toText(evaluate(part.text, scope)) : part.text;
      length += value.length;
      scope.work?.spend(value.length);
      assertLength(length);
      return value;
    })
    .join("");
}

/** Returns the steps in which a member of a value is found: names of objects are compared without regard to case. */
function countMembers(value: ExpressionValue): number {
  if (value === null || typeof value !== "object") return 1;
  return isList(value) ? value.length : Object.keys(value).length;
}

function valuesOf(value: ExpressionValue): readonly ExpressionValue[] {
  if (value === null || typeof value !== "object") return [];
  return isList(value) ? value : Object.values(value);
}

/** Returns whether a condition names a status function; without one it applies to successful runs only. */
function namesStatus(text: string): boolean {
  const names = (expression: Expression): boolean => {
    switch (expression.kind) {
      case "call":
        return STATUS_FUNCTIONS.has(expression.name) || expression.values.some(names);
      case "member":
        return names(expression.of) || names(expression.key);
      case "filter":
      case "not":
        return names(expression.of);
      case "binary":
        return names(expression.left) || names(expression.right);
      case "literal":
      case "context":
        return false;
    }
  };
  return names(parseExpression(text));
}

const STATUS_FUNCTIONS: ReadonlySet<string> = new Set([
  "success",
  "failure",
  "cancelled",
  "always",
]);

/**
 * Evaluates the `if` of a job or step, where `${{ }}` is optional. An absent condition is `success()`, and a condition
 * without a status function holds only after success. @throws ExpressionError
 */
export function evaluateCondition(condition: string | undefined, scope: Scope): boolean {
  const isSuccess = (scope.state ?? "success") === "success";
  if (condition === undefined || condition.trim() === "") return isSuccess;
  const parts = splitTemplate(condition);
  if (!parts.some(({ isExpression }) => isExpression)) {
    const text = condition.trim();
    return (isSuccess || namesStatus(text)) && isTruthy(evaluate(text, scope));
  }
  const asks = parts.some(({ isExpression, text }) => isExpression && namesStatus(text));
  return (isSuccess || asks) && isTruthy(evaluateTemplate(condition, scope));
}

/** Returns the texts between `${{` and `}}`. @throws ExpressionError for one that is not closed */
export function listExpressions(text: string): readonly string[] {
  return splitTemplate(text).flatMap((part) => (part.isExpression ? [part.text] : []));
}

/** Splits a text into expressions and the literal texts between them. A `}}` within a quoted text ends no expression. */
function splitTemplate(text: string): { readonly isExpression: boolean; readonly text: string }[] {
  const parts: { isExpression: boolean; text: string }[] = [];
  let at = 0;
  for (;;) {
    const start = text.indexOf("${{", at);
    if (start === -1) break;
    if (start > at) parts.push({ isExpression: false, text: text.slice(at, start) });
    let end = start + 3;
    let isQuoted = false;
    while (end < text.length && (isQuoted || !text.startsWith("}}", end))) {
      if (text[end] === "'") isQuoted = !isQuoted;
      end += 1;
    }
    if (end >= text.length) throw new ExpressionError("an expression is not closed by }}");
    parts.push({ isExpression: true, text: text.slice(start + 3, end) });
    at = end + 2;
  }
  if (at < text.length) parts.push({ isExpression: false, text: text.slice(at) });
  return parts;
}

function assertLength(length: number): void {
  if (length > TEXT_MAX)
    throw new ExpressionError(`an expression makes at most ${TEXT_MAX} characters`);
}
