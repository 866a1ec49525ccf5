import type { z } from "zod";

/** A column that holds JSON: `parse` throws for text that is not JSON or does not fit the schema. */
export function jsonColumn<Schema extends z.ZodType>(schema: Schema) {
  return { parse: (text: string): z.output<Schema> => schema.parse(JSON.parse(text)) };
}
