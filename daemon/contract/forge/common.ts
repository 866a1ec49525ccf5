import { z } from "zod";
import { codePoints } from "./rules.ts";

const decodingMark = "a value has the wrong type, expected ";

/** The body of every JSON error of the forge API. */
export const apiError = z.object({ message: z.string(), url: z.string().optional() });

/** RFC 3339, whole seconds, UTC. */
export const wireTime = z.iso.datetime({ offset: true });

/** A 64-bit number that a double holds exactly. */
export const wireId = z.int();

export const visibilityWords = ["public", "limited", "private"] as const;

/** The refusals that any route behind a sign-in may give. */
export const signedInReplies = { 401: apiError, 403: apiError } as const;

/**
 * Names of a body member that do not follow from its JSON name: `field` is used in error texts (`[Field]: Rule`),
 * `form` is the name in forms and queries.
 */
export const bindingNames = z.registry<{ readonly field?: string; readonly form?: string }>();

/** A rule of a body member: the keyword that names it in error texts, and its test. Empty values are not tested. */
export type FieldRule = readonly [keyword: string, holds: (value: string) => boolean];

interface TextRules {
  /** Most code points. */
  readonly max?: number;
  readonly rules?: readonly FieldRule[];
}

/** A required member that must not be empty; otherwise the error is `Required`. */
export function requiredText({ max, rules = [] }: TextRules = {}) {
  const schema = z
    .string({ error: (issue) => (issue.input == null ? "Required" : notA("string")) })
    .min(1, { error: "Required" })
    .superRefine((value, context) => checkText(value, max, rules, context));
  return max === undefined ? schema : schema.meta({ maxLength: max });
}

/** A member that may be absent, `null` or empty. */
export function optionalText({ max, rules = [] }: TextRules = {}) {
  const schema = z
    .string({ error: notA("string") })
    .superRefine((value, context) => checkText(value, max, rules, context));
  return (max === undefined ? schema : schema.meta({ maxLength: max })).nullish();
}

export const optionalFlag = z.boolean({ error: notA("boolean") }).nullish();

export const integer = z.int({ error: notA("integer") });
export const optionalInteger = integer.nullish();

/** A moment as RFC 3339; anything else cannot be decoded. */
export const optionalTime = z.iso.datetime({ offset: true, error: notA("time") }).nullish();

/** A required list of words; it may be empty. */
export const requiredWords = z.array(z.string({ error: notA("string") }), {
  error: (issue) => (issue.input == null ? "Required" : notA("array")),
});

export const optionalWords = z
  .array(z.string({ error: notA("string") }), { error: notA("array") })
  .nullish();

/** A list of ids with a maximum length. */
export const optionalIds = (max: number) =>
  z
    .array(integer, { error: notA("array") })
    .max(max, { error: "MaxSize" })
    .nullish();

/** An optional object with the given members. */
export const optionalMembers = <S extends z.ZodRawShape>(shape: S) =>
  z.object(shape, { error: notA("object") }).nullish();

/** A required object of texts; it may be empty. */
export const requiredTextMap = z.record(z.string(), z.string({ error: notA("string") }), {
  error: (issue) => (issue.input == null ? "Required" : notA("object")),
});

export const optionalTextMap = z
  .record(z.string(), z.string({ error: notA("string") }), { error: notA("object") })
  .nullish();

/** `public`, `limited`, `private`, or nothing. */
export const optionalVisibility = z
  .string({ error: notA("string") })
  .refine((value) => value === "" || isVisibility(value), { error: "In" })
  .meta({ enum: visibilityWords })
  .nullish();

export function isVisibility(word: string): word is (typeof visibilityWords)[number] {
  return (visibilityWords as readonly string[]).includes(word);
}

/** The forms of a query value: text from an address, a value from a typed client. */
type QueryValue = string | number | boolean | readonly string[] | undefined;

/** Default and maximum number of items on a page. */
export const DEFAULT_PAGE_SIZE = 30;
export const MAX_PAGE_SIZE = 50;

/** A page number beyond 64 bits counts as absent, as does a word. */
const INT64_MAX = 2n ** 63n - 1n;

/** A number of at least 1, capped at `most`; any other value is treated as absent. */
const upTo = (most: number) => (value: QueryValue, context: z.core.$RefinementCtx) => {
  assertDecimal(value, context);
  const word = first(value)?.trim() ?? "";
  if (!/^\+?\d{1,19}$/.test(word) || BigInt(word.replace("+", "")) > INT64_MAX) return undefined;
  const number = Math.min(Number(word), most);
  return number >= 1 ? number : undefined;
};

const pageNumber = z.preprocess(upTo(Number.MAX_SAFE_INTEGER), z.int().min(1).default(1));

const pageSize = z.preprocess(
  upTo(MAX_PAGE_SIZE),
  z.int().min(1).max(MAX_PAGE_SIZE).default(DEFAULT_PAGE_SIZE),
);

/** `page` and `limit` of every list; invalid values count as absent, a larger limit as 50. */
export const paging = { page: pageNumber, limit: pageSize };

const unrefused = new WeakSet<z.ZodType>();

/** Marks a value of a query that every text fits. */
export function fittingAnyText<S extends z.ZodType>(schema: S): S {
  unrefused.add(schema);
  return schema;
}

/** Whether a query can be refused: one of its values does not take every text. */
export const canBeRefused = ({ shape }: z.ZodObject): boolean =>
  Object.values(shape).some((schema) => !unrefused.has(schema as z.ZodType));

/** The first occurrence of a text; absent is empty. */
export const queryText = fittingAnyText(z.preprocess(first, z.string().default("")));

/** The same without white space around it. */
export const trimmedQueryText = fittingAnyText(
  z.preprocess((value: QueryValue) => first(value)?.trim(), z.string().default("")),
);

/** A word of a closed list: documented as an enumeration, validated by the route itself. */
export const queryWord = (words: readonly string[]) =>
  z.preprocess(
    first,
    z
      .string()
      .default("")
      .meta({ enum: [...words] }),
  );

/** True for the words that `isTrueWord` accepts, false for all others. */
export const queryFlag = fittingAnyText(
  z.preprocess((value: QueryValue) => isTrueWord(first(value) ?? ""), z.boolean()),
);

/** Undefined, thus no filter, when absent or empty; otherwise as `queryFlag`. */
export const optionalQueryFlag = fittingAnyText(
  z.preprocess((value: QueryValue) => {
    const word = first(value) ?? "";
    return word === "" ? undefined : isTrueWord(word);
  }, z.boolean().optional()),
);

/** Anything other than a number is 0. */
export const queryInteger = z.preprocess((value: QueryValue, context) => {
  assertDecimal(value, context);
  return toInteger(value) ?? 0;
}, z.int().default(0));

/** Refuses a number in another notation, such as `0x10`, `1e2`, `1.0` or ` 1`: it must not count as absent. */
function assertDecimal(value: QueryValue, context: z.core.$RefinementCtx): void {
  const word = first(value)?.replace(/^[+-]/, "") ?? "";
  if (word.trim() === "" || /^\d+$/.test(word) || Number.isNaN(Number(word))) return;
  context.addIssue({
    code: "custom",
    message: "a number in a query must be written in decimal digits",
  });
}

/** A number in a path; any other text is 0, which is the id of nothing. */
export const pathInteger = z.preprocess((value: string | number) => toInteger(value) ?? 0, z.int());

/** The path of a route below a user's name. */
export const usernameParams = z.object({ username: z.string() });

/** The words that mean true in forms and queries. */
export function isTrueWord(word: string): boolean {
  return /^(?:1|t|T|true|True|TRUE)$/.test(word) || word.toLowerCase() === "on";
}

/** A whole number in base 10 that a double holds exactly, or undefined. */
export function toInteger(value: QueryValue): number | undefined {
  const word = first(value);
  if (word === undefined || !/^[+-]?\d{1,19}$/.test(word)) return undefined;
  const number = Number(word);
  return Number.isSafeInteger(number) ? number : undefined;
}

function first(value: QueryValue): string | undefined {
  if (value === undefined) return undefined;
  return typeof value === "object" ? value[0] : String(value);
}

/** The text of a wrong type; `isDecodingText` distinguishes it from the keyword of a rule. */
function notA(type: string): string {
  return `${decodingMark}${type}`;
}

/**
 * Returns whether a schema's error text means a wrong type, so that the body cannot be decoded, rather than a violated
 * rule.
 */
export function isDecodingText(text: string): boolean {
  return text.startsWith(decodingMark);
}

function checkText(
  value: string,
  max: number | undefined,
  rules: readonly FieldRule[],
  context: z.core.$RefinementCtx<string>,
): void {
  if (value === "") return;
  for (const [keyword, holds] of rules) {
    if (!holds(value)) {
      context.addIssue({ code: "custom", message: keyword });
      return;
    }
  }
  if (max !== undefined && codePoints(value) > max)
    context.addIssue({ code: "custom", message: "MaxSize" });
}
