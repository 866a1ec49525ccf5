import { StorageError } from "./database.ts";
import type { SqlValue } from "./database.ts";

/**
 * Throws `failed` unless both engines store `value` unchanged: text without NUL (PostgreSQL cannot store it), finite
 * numbers within 2^53 - 1, null and bytes. A lone surrogate in text becomes U+FFFD.
 */
export function assertStorable(value: SqlValue): void {
  switch (typeof value) {
    case "string":
      if (value.includes("\0"))
        throw new StorageError("failed", "text with a NUL cannot be stored");
      return;
    case "number":
      if (!(value <= Number.MAX_SAFE_INTEGER && value >= Number.MIN_SAFE_INTEGER))
        throw new StorageError("failed", "a number beyond 2^53 - 1 cannot be stored");
      return;
    default:
      if (value === null || value instanceof Uint8Array) return;
      throw new StorageError("failed", `a value of type ${typeof value} cannot be stored`);
  }
}

/** Returns the row. Throws `corrupt` when it holds a number beyond 2^53 - 1, which has already lost digits. */
export function assertExact<T extends object>(row: T): T {
  for (const name in row) {
    const value: unknown = row[name];
    if (
      typeof value === "number" &&
      (value > Number.MAX_SAFE_INTEGER || value < Number.MIN_SAFE_INTEGER)
    )
      throw new StorageError("corrupt", `column ${name} holds a number beyond 2^53 - 1`);
  }
  return row;
}
