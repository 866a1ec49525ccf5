/** A value of an expression: JSON. */
export type ExpressionValue =
  | null
  | boolean
  | number
  | string
  | readonly ExpressionValue[]
  | { readonly [key: string]: ExpressionValue };

/** State of the jobs that a condition tests with `success()`, `failure()` and `cancelled()`. */
export type ConditionState = "success" | "failure" | "cancelled" | "skipped";

/** An expression that cannot be parsed or evaluated. The message is shown to the author of the workflow. */
export class ExpressionError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ExpressionError";
  }
}

/** Returns whether a value counts as true in a condition: everything but false, 0, NaN, the empty string and null. */
export function isTruthy(value: ExpressionValue): boolean {
  return typeof value === "object" ? value !== null : Boolean(value);
}

/** Converts a value for a comparison of different types; arrays, objects and other texts are NaN. */
function toNumber(value: ExpressionValue): number {
  if (value === null) return 0;
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "number") return value;
  if (typeof value !== "string") return Number.NaN;
  const text = value.trim();
  // The public description has no binary numbers.
  return text === "" ? 0 : /^0b/i.test(text) ? Number.NaN : Number(text);
}

/** Converts a value to its text in a template. */
export function toText(value: ExpressionValue): string {
  if (value === null) return "";
  if (typeof value === "object") return Array.isArray(value) ? "Array" : "Object";
  return String(value);
}

/** Returns a text that is stored. @throws ExpressionError for a NUL, which JSON of `fromJSON` may have */
export function assertStorable(text: string, where: string): string {
  if (text.includes("\0")) throw new ExpressionError(`${where} has a NUL character`);
  return text;
}

/** Compares loosely: texts ignore case, different types are compared as numbers, objects by identity. */
export function looselyEquals(left: ExpressionValue, right: ExpressionValue): boolean {
  if (typeof left === "string" && typeof right === "string")
    return left.toLowerCase() === right.toLowerCase();
  const areObjects = typeof left === "object" && typeof right === "object";
  if (areObjects && left !== null && right !== null) return left === right;
  if (typeof left === typeof right && left !== null && right !== null) return left === right;
  return toNumber(left) === toNumber(right);
}

/** Returns the order of two values as a negative number, 0 or a positive one; NaN when they have no order. */
export function compare(left: ExpressionValue, right: ExpressionValue): number {
  if (typeof left === "string" && typeof right === "string") {
    const [one, other] = [left.toLowerCase(), right.toLowerCase()];
    return one === other ? 0 : one < other ? -1 : 1;
  }
  const [one, other] = [toNumber(left), toNumber(right)];
  if (one === other) return 0;
  return one < other ? -1 : one > other ? 1 : Number.NaN;
}

/** Returns a member of an object, whose name is compared without regard to case; null when it is missing. */
export function memberOf(value: ExpressionValue, key: ExpressionValue): ExpressionValue {
  if (value === null || typeof value !== "object") return null;
  if (isList(value)) {
    const index = toNumber(key);
    return Number.isInteger(index) ? (value[index] ?? null) : null;
  }
  const name = toText(key);
  if (Object.hasOwn(value, name)) return value[name] ?? null;
  const lowerName = name.toLowerCase();
  const found = Object.keys(value).find((each) => each.toLowerCase() === lowerName);
  return found === undefined ? null : (value[found] ?? null);
}

export function isList(value: ExpressionValue): value is readonly ExpressionValue[] {
  return Array.isArray(value);
}
