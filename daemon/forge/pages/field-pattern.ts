import type { ComputeFunction } from "../compute.ts";

/** A value of a form and the pattern of its template, which the whole value must match. */
export interface FieldPattern {
  readonly pattern: string;
  readonly value: string;
}

/**
 * Returns whether a value matches; true for a pattern that is not valid, as in browsers. Patterns are regular expressions
 * from a repository, so they run in a thread under a budget.
 */
export const matchFieldPattern: ComputeFunction<FieldPattern, boolean> = {
  name: "match_field_pattern",
  // No bound is known without parsing the pattern.
  cost: () => Infinity,
  length: ({ pattern, value }) => pattern.length + value.length,
  run({ pattern, value }) {
    try {
      return new RegExp(`^(?:${pattern})$`, "v").test(value);
    } catch (error) {
      if (error instanceof SyntaxError) return true;
      throw error;
    }
  },
};
