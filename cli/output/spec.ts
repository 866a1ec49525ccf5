import type { AnyOperation } from "../client/operations.ts";
import { CliError } from "../errors.ts";

/** The part of JSON Schema that croft writes by hand. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * The output of a command in machine modes. `reply`: the response of an operation, or the array inside it. `shape`: an
 * object, or a list of objects, of croft's own. `bytes`: a file. `any`: whatever the server sends.
 */
export type OutputSpec =
  | {
      readonly kind: "reply";
      readonly operation: AnyOperation;
      readonly status: number;
      readonly list: boolean;
      /** The field of the answer that holds the list; absent when the answer itself is one. */
      readonly itemsIn?: string;
      /** Fields that the command may add to the response. */
      readonly also?: Readonly<Record<string, FieldType>>;
      /** With several arguments the command prints a list of responses, each with these additional fields. */
      readonly orListWith?: Readonly<Record<string, FieldType>>;
    }
  | {
      readonly kind: "shape";
      readonly list: boolean;
      /** Whether the command takes the flags of pages. */
      readonly paged: boolean;
      readonly schema: JsonSchema;
    }
  | { readonly kind: "bytes" }
  | { readonly kind: "any" };

/** The answer of `operation` with this status, as one resource. */
export function resourceOf(
  operation: AnyOperation,
  status = 200,
  also: Readonly<Record<string, FieldType>> = {},
): OutputSpec {
  return { kind: "reply", operation, status, list: false, also };
}

/** The response of `operation` for one argument, and for several a list of responses with these additional fields. */
export function oneOrList(
  operation: AnyOperation,
  fields: Readonly<Record<string, FieldType>>,
  status = 200,
): OutputSpec {
  return { kind: "reply", operation, status, list: false, orListWith: fields };
}

/** The list that `operation` answers; `itemsIn` names the field that holds it. */
export function listOf(operation: AnyOperation, itemsIn?: string): OutputSpec {
  const spec = { kind: "reply", operation, status: 200, list: true } as const;
  return itemsIn === undefined ? spec : { ...spec, itemsIn };
}

/** A type of a field of croft's own objects: a JSON type, with `?` when it may be null, or a schema. */
export type FieldType =
  | "string"
  | "string?"
  | "integer"
  | "integer?"
  | "boolean"
  | "boolean?"
  | JsonSchema;

/** An object of croft's own with these fields, all always there. */
export function shape(fields: Readonly<Record<string, FieldType>>): OutputSpec {
  return { kind: "shape", list: false, paged: false, schema: toObjectSchema(fields) };
}

/** A list of such objects, in pages. */
export function shapeList(fields: Readonly<Record<string, FieldType>>): OutputSpec {
  return { kind: "shape", list: true, paged: true, schema: toObjectSchema(fields) };
}

/** A list of such objects that is always printed whole, such as the outcomes of a change of several items. */
export function unpagedList(fields: Readonly<Record<string, FieldType>>): OutputSpec {
  return { kind: "shape", list: true, paged: false, schema: toObjectSchema(fields) };
}

/** An object of croft's own, or with another flag a list of objects with the fields of `items`. */
export function shapeOrList(
  fields: Readonly<Record<string, FieldType>>,
  items: Readonly<Record<string, FieldType>>,
): OutputSpec {
  const list = { type: "array", items: toObjectSchema(items) };
  const schema = { anyOf: [toObjectSchema(fields), list] };
  return { kind: "shape", list: false, paged: false, schema };
}

/** The schema of an object with these fields. */
export function toObjectSchema(fields: Readonly<Record<string, FieldType>>): JsonSchema {
  return {
    type: "object",
    properties: Object.fromEntries(
      Object.entries(fields).map(([name, type]) => [name, toFieldSchema(type)]),
    ),
    required: Object.keys(fields),
    additionalProperties: true,
  };
}

/** The schema of one field. */
export function toFieldSchema(type: FieldType): JsonSchema {
  if (typeof type !== "string") return type;
  return type.endsWith("?") ? { type: [type.slice(0, -1), "null"] } : { type };
}

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
