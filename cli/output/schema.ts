import { z } from "zod";
import { allEndpoints } from "../../daemon/contract/all.ts";
import { type Endpoint, schemaOf } from "../../daemon/contract/endpoint.ts";
import { type FieldType, type JsonSchema, type OutputSpec, toFieldSchema } from "./spec.ts";

/** Returns the JSON Schema of a command's output with `--json`; undefined for bytes and free forms. */
export function toOutputSchema(spec: OutputSpec): JsonSchema | undefined {
  switch (spec.kind) {
    case "bytes":
    case "any":
      return undefined;
    case "shape":
      return withDialect(spec.list ? { type: "array", items: spec.schema } : spec.schema);
    case "reply": {
      const schema = toReplySchema(spec.operation.name, spec.status);
      if (schema === undefined) return undefined;
      if (spec.itemsIn !== undefined) return toListSchema(schema, spec.itemsIn);
      if (spec.orListWith !== undefined) return toOneOrList(schema, spec.orListWith);
      return spec.also === undefined ? schema : withFields(schema, spec.also);
    }
  }
}

/** The array in the field `name` of an answer. */
function toListSchema(schema: JsonSchema, name: string): JsonSchema {
  const definitions = schema["$defs"];
  return withDialect({
    ...propertiesOf(schema)[name],
    ...(definitions === undefined ? {} : { $defs: definitions }),
  });
}

/** For a failed one, only the additional fields are guaranteed. */
function toOneOrList(
  { $schema: _, ...one }: JsonSchema,
  also: Readonly<Record<string, FieldType>>,
): JsonSchema {
  const item = { ...withFields(one, also), required: Object.keys(also) };
  return withDialect({ anyOf: [one, { type: "array", items: item }] });
}

function withFields(schema: JsonSchema, also: Readonly<Record<string, FieldType>>): JsonSchema {
  const added = Object.entries(also).map(([name, type]) => [name, toFieldSchema(type)]);
  if (added.length === 0) return schema;
  return { ...schema, properties: { ...propertiesOf(schema), ...Object.fromEntries(added) } };
}

/** Returns the names of the output fields of a command (of an item, when it is a list); empty when they are not known. */
export function toFieldNames(spec: OutputSpec): readonly string[] {
  const schema = toOutputSchema(spec);
  if (schema === undefined) return [];
  const isList = "list" in spec && spec.list;
  const item = isList ? resolve(schema["items"] as JsonSchema | undefined, schema) : schema;
  return [
    ...new Set(
      alternativesOf(item, schema).flatMap((one) => [
        ...Object.keys(propertiesOf(one)),
        ...Object.keys(propertiesOf((one["items"] as JsonSchema | undefined) ?? {})),
      ]),
    ),
  ];
}

function toReplySchema(name: string, status: number): JsonSchema | undefined {
  const declared = allEndpoints.find((endpoint) => endpoint.name === name) as Endpoint | undefined;
  const reply = schemaOf(declared?.replies[status]);
  if (reply === undefined) return undefined;
  return z.toJSONSchema(reply, { io: "input", unrepresentable: "any" }) as JsonSchema;
}

function alternativesOf(schema: JsonSchema | undefined, root: JsonSchema): readonly JsonSchema[] {
  if (schema === undefined) return [];
  const several = ["anyOf", "oneOf", "allOf"].flatMap(
    (key) => (schema[key] as readonly JsonSchema[] | undefined) ?? [],
  );
  return [schema, ...several.flatMap((one) => alternativesOf(resolve(one, root), root))];
}

/** Follows a reference inside the document. */
function resolve(schema: JsonSchema | undefined, root: JsonSchema): JsonSchema | undefined {
  const reference = schema?.["$ref"];
  if (typeof reference !== "string") return schema;
  const definitions = root["$defs"] as Readonly<Record<string, JsonSchema>> | undefined;
  return definitions?.[reference.replace("#/$defs/", "")];
}

function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return (schema["properties"] as Readonly<Record<string, JsonSchema>> | undefined) ?? {};
}

function withDialect(schema: JsonSchema): JsonSchema {
  return { $schema: "https://json-schema.org/draft/2020-12/schema", ...schema };
}
