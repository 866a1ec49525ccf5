import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { schemaOf, type AnyEndpoint, type Endpoint, type Reply } from "../contract/endpoint.ts";

type Json = Record<string, unknown>;
type Paths = Record<string, Json>;

/** The `info` of a document. */
interface ApiInfo {
  readonly title: string;
  readonly version: string;
  readonly description: string;
}

/** Returns the OpenAPI 3.1 document of some endpoints. */
export function toOpenApi(info: ApiInfo, endpoints: readonly AnyEndpoint[]): Json {
  const paths: Paths = {};
  for (const declared of endpoints as readonly Endpoint[]) addOperation(paths, declared);
  return toDocument(info, paths);
}

/** Endpoints after which other requests are served. */
const ENDPOINTS_AT_ONCE = 10;

/** Returns the JSON of the document. Makes it a few endpoints at a time: all of them take a tenth of a second and more. */
export async function writeOpenApi(
  info: ApiInfo,
  endpoints: readonly AnyEndpoint[],
): Promise<string> {
  const paths: Paths = {};
  for (const [index, declared] of (endpoints as readonly Endpoint[]).entries()) {
    if (index % ENDPOINTS_AT_ONCE === 0) await setImmediate();
    addOperation(paths, declared);
  }
  return JSON.stringify(toDocument(info, paths));
}

function addOperation(paths: Paths, declared: Endpoint): void {
  const path = declared.path.replace(
    /\*\*:(\w+)|:(\w+)/g,
    (_, manySegments, oneSegment) => `{${manySegments ?? oneSegment}}`,
  );
  paths[path] = { ...paths[path], [declared.method.toLowerCase()]: toOperation(declared) };
}

function toDocument(info: ApiInfo, paths: Paths): Json {
  return {
    openapi: "3.1.0",
    info: { ...info, license: { name: "MIT", identifier: "MIT" } },
    paths,
    components: {
      securitySchemes: {
        token: {
          type: "apiKey",
          in: "header",
          name: "Authorization",
          description: "`token <secret>`",
        },
        basic: { type: "http", scheme: "basic" },
        bearer: { type: "http", scheme: "bearer" },
      },
    },
  };
}

function toOperation(declared: Endpoint): Json {
  const parameters = [
    // Routes that differ in one segment share a schema of path values; only those in the path are parameters.
    ...toParameters(declared.params, "path").filter(({ name }) =>
      new RegExp(`:${String(name)}(?!\\w)`).test(declared.path),
    ),
    ...toParameters(declared.query, "query"),
  ];
  const responses: Json = {};
  for (const [status, reply] of Object.entries(declared.replies))
    responses[status] = toResponse(reply);
  if (declared.limit !== undefined) responses["429"] ??= { description: "Too many requests" };
  responses["default"] = { description: "Refused or failed, as any request may be" };
  return {
    operationId: declared.name,
    summary: declared.summary,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(declared.body === undefined ? {} : { requestBody: toRequestBody(declared.body) }),
    responses,
    security: toSecurity(declared),
    ...("refusesMachineTokens" in declared.gate ? { "x-machine-tokens": false } : {}),
    ...(declared.limit === undefined ? {} : { "x-rate-limit": declared.limit }),
  };
}

function toParameters(schema: z.ZodObject | undefined, where: "path" | "query"): Json[] {
  if (schema === undefined) return [];
  const shape = toJsonSchema(schema, "input") as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(shape.properties ?? {}).map(([name, value]) => ({
    name,
    in: where,
    required: where === "path" || (shape.required ?? []).includes(name),
    schema: value,
  }));
}

function toRequestBody(body: NonNullable<Endpoint["body"]>): Json {
  if (!("kind" in body))
    return {
      required: true,
      content: { "application/json": { schema: toJsonSchema(body, "input") } },
    };
  if (body.kind === "multipart") {
    const fields = toJsonSchema(body.fields, "input") as { properties?: Json; required?: string[] };
    const file = { type: "string", format: "binary" };
    return {
      required: true,
      content: {
        "multipart/form-data": {
          schema: {
            type: "object",
            properties: { ...fields.properties, file },
            required: [...(fields.required ?? []), "file"],
          },
        },
        ...toBinary(body.orBytes ?? []),
      },
    };
  }
  if (body.kind === "file_parts")
    return {
      required: true,
      description: `At most ${body.filesMax} files and ${body.bytesMax} bytes in all.`,
      content: {
        "multipart/form-data": {
          schema: { type: "object", additionalProperties: { type: "string", format: "binary" } },
        },
      },
    };
  return { required: true, content: toBinary(body.contentTypes) };
}

function toBinary(contentTypes: readonly string[]): Json {
  const binary = { schema: { type: "string", format: "binary" } };
  return Object.fromEntries(contentTypes.map((contentType) => [contentType, binary]));
}

function toResponse(reply: Reply): Json {
  if ("kind" in reply && reply.kind === "json_or_bytes")
    return {
      description: "JSON or bytes",
      content: {
        "application/json": { schema: toJsonSchema(reply.schema, "output") },
        [reply.contentType]: { schema: { type: "string" } },
      },
    };
  const schema = schemaOf(reply);
  if (schema !== undefined)
    return {
      description: "JSON",
      content: { "application/json": { schema: toJsonSchema(schema, "output") } },
    };
  if ("kind" in reply && "contentType" in reply && reply.kind === "bytes")
    return {
      description: reply.contentType === "text/event-stream" ? "Events, as they happen" : "Bytes",
      content: { [reply.contentType]: { schema: { type: "string" } } },
    };
  if ("kind" in reply && reply.kind === "bytes")
    return {
      description: "Bytes",
      content: { "application/octet-stream": { schema: { type: "string", format: "binary" } } },
    };
  if ("kind" in reply && reply.kind === "text")
    return {
      description: "Text",
      content: { [reply.contentType]: { schema: { type: "string" } } },
    };
  if ("kind" in reply && reply.kind === "json_or_text")
    return {
      description: "JSON or text",
      content: {
        "application/json": { schema: toJsonSchema(reply.schema, "output") },
        [reply.contentType]: { schema: { type: "string" } },
      },
    };
  return { description: "No body" };
}

function toSecurity({ gate }: Endpoint): Json[] {
  switch (gate.admits) {
    case "anyone":
    case "vault_upload_address":
    case "forge_artifact_address":
      return [];
    case "forge_basic":
      return [{ basic: [] }];
    case "forge_user":
      return gate.changesPassword ? [{ basic: [] }] : [{ token: [] }, { basic: [] }];
    case "forge_site_admin":
      return [{ token: [] }, { basic: [] }];
    case "vault_account":
    case "vault_user":
    case "vault_administrator":
    case "forge_job":
      return [{ bearer: [] }];
  }
}

function toJsonSchema(schema: z.ZodType, io: "input" | "output"): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return rest;
}
