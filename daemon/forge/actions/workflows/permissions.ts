import type { ExpressionValue } from "./expressions/values.ts";
import { isMapping } from "./mapping.ts";

/** Returns why a `permissions` of a file is invalid; undefined when it is not. */
export function findPermissionsError(value: ExpressionValue | undefined): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (value === "read-all" || value === "write-all") return undefined;
  if (!isMapping(value)) return "permissions must be read-all, write-all or a mapping";
  const wrong = Object.entries(value).find(
    ([, level]) => level !== "read" && level !== "write" && level !== "none",
  );
  return wrong && `permissions.${wrong[0]} must be read, write or none`;
}
