import type { ExpressionValue } from "./expressions/values.ts";
import { createWork, type Work } from "./expressions/work.ts";
import { isMapping, type Mapping } from "./mapping.ts";

/** Maximum number of jobs of one matrix. */
const COMBINATIONS_MAX = 256;
/** Maximum number of entries of `include` and of `exclude`, and of keys of one combination. */
const ENTRIES_MAX = 1_000;
const KEYS_MAX = 256;
/** Maximum length of all combinations of a matrix as JSON. */
const LENGTH_MAX = 1024 * 1024;

/** One combination of a matrix: values by key. */
export type Combination = Readonly<Record<string, ExpressionValue>>;

/**
 * Expands a matrix whose expressions have been evaluated: the product of its lists, without the combinations in
 * `exclude`, with those that `include` adds. As GitHub documents it, an `include` entry extends every combination of the
 * product of whose values it overwrites none; without one it is a combination of its own. Values that an earlier entry
 * has added may be overwritten. Returns the reason as a text when the matrix is invalid or too large.
 */
export function expandMatrix(
  matrix: Mapping,
  { spend }: Pick<Work, "spend"> = createWork(),
): readonly Combination[] | string {
  const { include = [], exclude = [], ...lists } = matrix;
  const product = multiply(lists);
  if (typeof product === "string") return product;
  if (!isListOfMappings(exclude)) return "matrix.exclude must be a list of mappings";
  if (!isListOfMappings(include)) return "matrix.include must be a list of mappings";
  if (include.length > ENTRIES_MAX || exclude.length > ENTRIES_MAX)
    return `matrix.include and matrix.exclude have at most ${ENTRIES_MAX} entries each`;
  const keys = Object.keys(lists);
  const find = createFinder(product, keys, spend);
  const excluded = new Set(exclude.flatMap((entry) => find(entry, Object.keys(entry))));
  const extended = new Map<Combination, Record<string, ExpressionValue>>(
    product.filter((each) => !excluded.has(each)).map((each) => [each, { ...each }]),
  );
  const added: Combination[] = [];
  for (const entry of include) {
    const shared = keys.filter((key) => Object.hasOwn(entry, key));
    const matches = find(entry, shared)
      .map((each) => extended.get(each))
      .filter((each) => each !== undefined);
    if (matches.length === 0) added.push({ ...entry });
    spend(matches.length * Object.keys(entry).length);
    for (const combination of matches) Object.assign(combination, entry);
    if (extended.size + added.length > COMBINATIONS_MAX) return TOO_MANY;
  }
  return toBounded([...extended.values(), ...added], spend);
}

/** Returns the product of lists by key; the reason when one is no list or the product is too large. */
function multiply(lists: Mapping): Record<string, ExpressionValue>[] | string {
  const keys = Object.keys(lists).toSorted();
  if (keys.length > KEYS_MAX) return TOO_MANY_KEYS;
  let combinations: Record<string, ExpressionValue>[] = keys.length === 0 ? [] : [{}];
  for (const key of keys) {
    const values = lists[key];
    if (!Array.isArray(values)) return `matrix.${key} must be a list`;
    if (combinations.length * values.length > COMBINATIONS_MAX) return TOO_MANY;
    combinations = combinations.flatMap((combination) =>
      values.map((value: ExpressionValue) => ({ ...combination, [key]: value })),
    );
  }
  return combinations;
}

/**
 * Returns a function that finds the combinations whose values at some keys are those of an entry. Values are compared as
 * JSON, which is written once for each value of the matrix and of the entry.
 */
function createFinder(
  combinations: readonly Record<string, ExpressionValue>[],
  keys: readonly string[],
  spend: Work["spend"],
) {
  const known = new Map<ExpressionValue, string>();
  const toJson = (value: ExpressionValue): string => {
    const json = known.get(value) ?? JSON.stringify(value);
    if (!known.has(value)) spend(json.length);
    known.set(value, json);
    return json;
  };
  const byKey = new Map(
    keys.map((key) => [key, groupBy(combinations, (each) => toJson(each[key] ?? null))]),
  );
  return (entry: Mapping, compared: readonly string[]): readonly Combination[] => {
    spend(1 + compared.length);
    let found: readonly Combination[] = combinations;
    for (const key of compared) {
      const same = byKey.get(key)?.get(toJson(entry[key] ?? null)) ?? new Set();
      spend(found.length);
      found = found.filter((each) => same.has(each));
    }
    return found;
  };
}

function groupBy<T>(values: readonly T[], keyOf: (value: T) => string): Map<string, Set<T>> {
  const groups = new Map<string, Set<T>>();
  for (const value of values) {
    const key = keyOf(value);
    groups.set(key, (groups.get(key) ?? new Set()).add(value));
  }
  return groups;
}

/** Returns combinations that are small enough to be stored; the reason when they are not. */
function toBounded(
  combinations: readonly Combination[],
  spend: Work["spend"],
): readonly Combination[] | string {
  let length = 0;
  for (const combination of combinations) {
    const { length: own } = JSON.stringify(combination);
    spend(own);
    length += own;
    if (Object.keys(combination).length > KEYS_MAX) return TOO_MANY_KEYS;
    if (length > LENGTH_MAX)
      return `the combinations of a matrix have at most ${LENGTH_MAX} characters`;
  }
  return combinations;
}

/** Returns the name of a job of a matrix, such as `test (linux, 22)`; values follow the sorted keys. */
export function toMatrixName(name: string, combination: Combination): string {
  const values = Object.keys(combination)
    .toSorted()
    .map((key) => combination[key])
    .map((value) => (typeof value === "object" ? JSON.stringify(value) : String(value)));
  return values.length === 0 ? name : `${name} (${values.join(", ")})`;
}

const TOO_MANY = `a matrix makes at most ${COMBINATIONS_MAX} jobs`;
const TOO_MANY_KEYS = `a combination of a matrix has at most ${KEYS_MAX} keys`;

function isListOfMappings(value: unknown): value is readonly Mapping[] {
  return Array.isArray(value) && value.every(isMapping);
}
