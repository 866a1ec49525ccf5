import type { ZodType } from "zod";
import { StorageError } from "./database.ts";

/**
 * Parses the JSON of a column. A schema also accepts values of earlier versions.
 * @param column names the column in the error, as `table.column`
 * @throws StorageError `corrupt` when the text is not JSON or does not fit the schema
 */
export function parseColumn<T>(schema: ZodType<T>, text: string, column: string): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new StorageError("corrupt", `${column} holds text that is not JSON`, { cause: error });
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success)
    throw new StorageError("corrupt", `${column} holds JSON that does not fit its schema`, {
      cause: parsed.error,
    });
  return parsed.data;
}
