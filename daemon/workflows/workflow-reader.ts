import type { ExpressionValue } from "./expressions/values.ts";
import { isMapping, type Mapping } from "./mapping.ts";
import { WorkflowError, type YamlSource } from "./yaml-source.ts";

/** Reads values of a workflow file. Errors name the line of the value. */
export type WorkflowReader = ReturnType<typeof createReader>;

/** Creates the reader of a parsed file. */
export function createReader(source: YamlSource) {
  const error = (message: string, ...path: (string | number)[]) =>
    new WorkflowError(message, source.lineOf(path));
  return {
    error,
    /** Returns the line of a value, from 1. */
    lineOf: (...path: (string | number)[]): number => source.lineOf(path),
    text(value: ExpressionValue | undefined, ...path: (string | number)[]): string {
      if (value === undefined || value === null) return "";
      if (typeof value === "object") throw error(`${path.join(".")} must be a text`, ...path);
      return String(value);
    },
    mapping(value: ExpressionValue | undefined, ...path: (string | number)[]): Mapping {
      if (value === undefined || value === null) return {};
      if (!isMapping(value)) throw error(`${path.join(".")} must be a mapping`, ...path);
      return value;
    },
    texts(value: ExpressionValue | undefined, ...path: (string | number)[]): readonly string[] {
      if (value === undefined || value === null) return [];
      const list: readonly ExpressionValue[] = Array.isArray(value) ? value : [value];
      if (list.some((each) => each === null || typeof each === "object"))
        throw error(`${path.join(".")} must be a text or a list of texts`, ...path);
      return list.map(String);
    },
  };
}
