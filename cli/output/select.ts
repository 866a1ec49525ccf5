import { CliError } from "../errors.ts";

/** An object with only the chosen fields, in the chosen order; a missing one is null. A list is done item by item. */
export function selectFields(value: unknown, fields: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => selectFields(item, fields));
  if (typeof value !== "object" || value === null) return value;
  const from = value as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    fields.map((field) => [field, Object.hasOwn(from, field) ? (from[field] ?? null) : null]),
  );
}

/** @throws CliError `unknown_field`, naming the known ones, when a field is not in `known`. */
export function assertKnownFields(fields: readonly string[], known: readonly string[]): void {
  const unknown = fields.filter((field) => !known.includes(field));
  if (unknown.length === 0) return;
  const names = unknown.map((field) => JSON.stringify(field)).join(", ");
  throw new CliError("unknown_field", `unknown field${unknown.length === 1 ? "" : "s"} ${names}`, {
    hint:
      known.length === 0
        ? "this output has no fields: leave them out"
        : `the fields are: ${known.join(", ")}`,
  });
}
