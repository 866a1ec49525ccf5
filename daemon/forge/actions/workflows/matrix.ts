import type { ExpressionValue } from "./expressions/values.ts";
import { isMapping, type Mapping } from "./mapping.ts";

/** Maximum number of jobs of one matrix. */
const COMBINATIONS_MAX = 256;

/** One combination of a matrix: values by key. */
export type Combination = Readonly<Record<string, ExpressionValue>>;

/**
 * Expands a matrix whose expressions have been evaluated: the product of its lists, without the combinations in
 * `exclude`, with those that `include` adds. An `include` entry extends the combinations whose values it repeats;
 * without one it is a combination of its own. Returns the reason as a text when the matrix is invalid or too large.
 */
export function expandMatrix(matrix: Mapping): readonly Combination[] | string {
  const { include = [], exclude = [], ...lists } = matrix;
  const keys = Object.keys(lists).toSorted();
  let combinations: Record<string, ExpressionValue>[] = keys.length === 0 ? [] : [{}];
  for (const key of keys) {
    const values = lists[key];
    if (!Array.isArray(values)) return `matrix.${key} must be a list`;
    if (combinations.length * values.length > COMBINATIONS_MAX) return TOO_MANY;
    combinations = combinations.flatMap((combination) =>
      values.map((value: ExpressionValue) => ({ ...combination, [key]: value })),
    );
  }
  if (!isListOfMappings(exclude)) return "matrix.exclude must be a list of mappings";
  if (!isListOfMappings(include)) return "matrix.include must be a list of mappings";
  combinations = combinations.filter(
    (combination) =>
      !exclude.some((entry) =>
        Object.entries(entry).every(([key, value]) => isSame(combination[key], value)),
      ),
  );
  const additions: Record<string, ExpressionValue>[] = [];
  const originals = combinations.map((combination) => ({ ...combination }));
  for (const entry of include) {
    const shared = Object.keys(entry).filter((key) => keys.includes(key));
    const extended = originals.flatMap((original, index) =>
      shared.length > 0 && shared.every((key) => isSame(original[key], entry[key])) ? [index] : [],
    );
    for (const index of extended) Object.assign(combinations[index] ?? {}, entry);
    if (extended.length === 0) additions.push({ ...entry });
    if (combinations.length + additions.length > COMBINATIONS_MAX) return TOO_MANY;
  }
  return [...combinations, ...additions];
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

function isListOfMappings(value: unknown): value is readonly Mapping[] {
  return Array.isArray(value) && value.every(isMapping);
}

function isSame(left: ExpressionValue | undefined, right: ExpressionValue | undefined): boolean {
  return left === right || JSON.stringify(left) === JSON.stringify(right);
}
