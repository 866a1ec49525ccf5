import {
  type ConditionState,
  ExpressionError,
  type ExpressionValue,
  isList,
  looselyEquals,
  toText,
} from "./values.ts";
import { createWork, type Work, WorkExceeded } from "./work.ts";

/** Longest result of one call of `format` or `join`. */
const RESULT_CHARACTERS_MAX = 1024 * 1024;

/** The dependencies of functions besides their arguments. */
export interface FunctionScope {
  /** Absent where status functions have no meaning. */
  readonly state?: ConditionState | undefined;
  /** Counts the work of the evaluation; absent where it has no limit. */
  readonly work?: Work | undefined;
  /** Returns the hash of the files that match patterns. Absent where there are no files. */
  readonly hashFiles?: ((patterns: readonly string[]) => string) | undefined;
}

const NAMES: ReadonlySet<string> = new Set(
  `contains startswith endswith format join tojson fromjson success failure cancelled always hashfiles`.split(
    " ",
  ),
);

/** Returns whether there is a function of this name in lower case. */
export const isFunction = (name: string): boolean => NAMES.has(name);

/** Calls a function of expressions by its name in lower case. @throws ExpressionError */
export function callFunction(
  name: string,
  values: readonly ExpressionValue[],
  { state, work, hashFiles }: FunctionScope,
): ExpressionValue {
  const [first = null, second = null] = values;
  // Decoding counts its own work, which is less for a text that was decoded before.
  if (name !== "fromjson")
    work?.spend(values.reduce<number>((sum, each) => sum + measure(each), 0));
  switch (name) {
    case "contains":
      assertCount(name, values, 2, 2);
      return isList(first)
        ? first.some((each) => looselyEquals(each, second))
        : lower(first).includes(lower(second));
    case "startswith":
      assertCount(name, values, 2, 2);
      return lower(first).startsWith(lower(second));
    case "endswith":
      assertCount(name, values, 2, 2);
      return lower(first).endsWith(lower(second));
    case "format":
      assertCount(name, values, 1, 255);
      return format(toText(first), values.slice(1));
    case "join":
      assertCount(name, values, 1, 2);
      return join(first, values.length === 1 ? "," : toText(second));
    case "tojson":
      assertCount(name, values, 1, 1);
      return toJson(first, work);
    case "fromjson":
      assertCount(name, values, 1, 1);
      return fromJson(toText(first), work);
    case "success":
    case "failure":
    case "cancelled":
      assertCount(name, values, 0, 0);
      assertState(name, state);
      return state === name;
    case "always":
      assertCount(name, values, 0, 0);
      assertState(name, state);
      return true;
    case "hashfiles":
      assertCount(name, values, 1, 255);
      if (hashFiles === undefined)
        throw new ExpressionError("hashFiles works only in steps, which run beside the files");
      return hashFiles(values.map(toText));
    default:
      throw new ExpressionError(`unknown function ${JSON.stringify(name)}`);
  }
}

/** Returns the characters of a text or the members of a list, at least 1: the steps in which a function reads it. */
export function measure(value: ExpressionValue): number {
  if (typeof value === "string") return value.length + 1;
  if (!isList(value)) return 1;
  return value.reduce<number>(
    (sum, each) => sum + (typeof each === "string" ? each.length + 1 : 1),
    1,
  );
}

const lower = (value: ExpressionValue): string => toText(value).toLowerCase();

/** Replaces `{0}`, `{1}` and so on; `{{` and `}}` are braces. */
function format(pattern: string, values: readonly ExpressionValue[]): string {
  let length = 0;
  return pattern.replaceAll(/\{\{|\}\}|\{(\d+)\}|[{}]/g, (found, index: string | undefined) => {
    if (found === "{{") return "{";
    if (found === "}}") return "}";
    if (index === undefined) throw new ExpressionError("format: a single brace; write {{ or }}");
    if (Number(index) >= values.length)
      throw new ExpressionError(`format: there is no value for {${index}}`);
    const text = toText(values[Number(index)] ?? null);
    length += text.length;
    assertLength(length);
    return text;
  });
}

function join(value: ExpressionValue, separator: string): string {
  if (!isList(value)) return toText(value);
  const texts = value.map(toText);
  assertLength(texts.reduce((sum, text) => sum + text.length + separator.length, 0));
  return texts.join(separator);
}

function toJson(value: ExpressionValue, work: Work | undefined): string {
  let text: string;
  try {
    text = JSON.stringify(value, undefined, 2);
  } catch {
    // The serializer recurses; the parser does not.
    throw new ExpressionError("toJSON: the value is nested too deeply");
  }
  work?.spend(text.length);
  return text;
}

function fromJson(text: string, work: Work = createWork()): ExpressionValue {
  try {
    return work.decode(text);
  } catch (error) {
    if (error instanceof WorkExceeded) throw error;
    throw new ExpressionError("fromJSON: the text is not JSON");
  }
}

function assertCount(
  name: string,
  values: readonly ExpressionValue[],
  least: number,
  most: number,
): void {
  if (values.length >= least && values.length <= most) return;
  const arity = least === most ? `${least}` : `${least} to ${most}`;
  throw new ExpressionError(`${name} takes ${arity} values, not ${values.length}`);
}

function assertState(name: string, state: ConditionState | undefined): void {
  if (state === undefined) throw new ExpressionError(`${name}() works only in a condition`);
}

function assertLength(length: number): void {
  if (length > RESULT_CHARACTERS_MAX)
    throw new ExpressionError(`an expression makes at most ${RESULT_CHARACTERS_MAX} characters`);
}
