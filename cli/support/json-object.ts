/** A JSON object whose members are still to be checked. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Returns a value as an object; undefined for texts, numbers, lists and null. */
export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : undefined;
}

/** Returns the object that a text is as JSON; undefined for any other text, such as a file that a crash cut off. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Returns whether a value is a list of texts. */
export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}
