import { STATUS_CODES } from "node:http";
import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { createSharedSchemas, toTypeName } from "./shared-schemas.ts";
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
export async function toOpenApi(info: ApiInfo, endpoints: readonly AnyEndpoint[]): Promise<Json> {
  const paths: Paths = {};
  await eachInTurns(endpoints, (declared) => addOperation(paths, declared as Endpoint));
  const schemas = createSharedSchemas();
  const entries = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations as Record<string, Json>).map(
      ([method, operation]) => [path, method, operation] as const,
    ),
  );
  await eachInTurns(entries, ([, , operation]) =>
    schemas.look(operation, toTypeName(String((operation["tags"] as string[])[0]))),
  );
  await eachInTurns(entries, ([path, method, operation]) => {
    paths[path] = { ...paths[path], [method]: schemas.share(operation) };
  });
  return toDocument(info, paths, schemas.components);
}

/** Endpoints after which other requests are served: the whole document takes a tenth of a second and more. */
const ENDPOINTS_AT_ONCE = 10;

async function eachInTurns<T>(items: readonly T[], work: (item: T) => void): Promise<void> {
  for (const [index, item] of items.entries()) {
    if (index % ENDPOINTS_AT_ONCE === 0) await setImmediate();
    work(item);
  }
}

function addOperation(paths: Paths, declared: Endpoint): void {
  const path = declared.path.replace(
    /\*\*:(\w+)|:(\w+)/g,
    (_, manySegments, oneSegment) => `{${manySegments ?? oneSegment}}`,
  );
  paths[path] = { ...paths[path], [declared.method.toLowerCase()]: toOperation(declared) };
}

const SECURITY_SCHEMES: Readonly<Record<string, Json>> = {
  token: {
    type: "apiKey",
    in: "header",
    name: "Authorization",
    description: "`token <secret>`, with a secret of `croft token create`",
  },
  basic: { type: "http", scheme: "basic" },
  bearer: { type: "http", scheme: "bearer" },
};

function toDocument(info: ApiInfo, paths: Paths, schemas: Json): Json {
  const operations = Object.values(paths).flatMap((path) => Object.values(path) as Json[]);
  const used = new Set(
    operations.flatMap(({ security }) => (security as Json[]).flatMap((one) => Object.keys(one))),
  );
  return {
    openapi: "3.1.0",
    info: { ...info, license: { name: "MIT", identifier: "MIT" } },
    // From the address of the document, so that it is right behind a proxy with a path of its own.
    servers: [{ url: "..", description: "This server" }],
    tags: toTags(paths),
    paths,
    components: {
      schemas,
      securitySchemes: Object.fromEntries(
        Object.entries(SECURITY_SCHEMES).filter(([name]) => used.has(name)),
      ),
    },
  };
}

/** The tags of all operations, each with the shortest of its addresses. */
function toTags(paths: Paths): Json[] {
  const addresses = new Map<string, string>();
  for (const [path, operations] of Object.entries(paths))
    for (const { tags } of Object.values(operations) as { tags: string[] }[])
      for (const tag of tags) {
        const known = addresses.get(tag);
        if (known === undefined || path.length < known.length) addresses.set(tag, path);
      }
  return [...addresses]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, path]) => ({ name, description: `Operations at \`${path}\`` }));
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
    responses[status] = toResponse(status, reply);
  if (declared.limit !== undefined) responses["429"] ??= { description: "Too many requests" };
  responses["default"] = { description: "Refused or failed, as any request may be" };
  return {
    operationId: declared.name,
    tags: [toTag(declared.name)],
    summary: declared.summary,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(declared.body === undefined ? {} : { requestBody: toRequestBody(declared.body) }),
    responses,
    security: toSecurity(declared),
    ...("refusesMachineTokens" in declared.gate ? { "x-machine-tokens": false } : {}),
    ...(declared.limit === undefined ? {} : { "x-rate-limit": declared.limit }),
  };
}

/** What the operation is about: `repos/labels` for `forge.repos.labels.list`. */
export function toTag(name: string): string {
  return name.split(".").slice(1, -1).slice(0, 2).join("/") || "server";
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

function toResponse(status: string, reply: Reply): Json {
  const name = STATUS_CODES[status] ?? status;
  if ("kind" in reply && reply.kind === "json_or_bytes")
    return {
      description: `${name}: JSON or bytes`,
      content: {
        "application/json": { schema: toJsonSchema(reply.schema, "output") },
        [reply.contentType]: { schema: { type: "string" } },
      },
    };
  const schema = schemaOf(reply);
  if (schema !== undefined)
    return {
      description: name,
      content: { "application/json": { schema: toJsonSchema(schema, "output") } },
    };
  if ("kind" in reply && "contentType" in reply && reply.kind === "bytes")
    return {
      description:
        reply.contentType === "text/event-stream"
          ? `${name}: events, as they happen`
          : `${name}: bytes`,
      content: { [reply.contentType]: { schema: { type: "string" } } },
    };
  if ("kind" in reply && reply.kind === "bytes")
    return {
      description: `${name}: bytes`,
      content: { "application/octet-stream": { schema: { type: "string", format: "binary" } } },
    };
  if ("kind" in reply && reply.kind === "text")
    return {
      description: `${name}: text`,
      content: { [reply.contentType]: { schema: { type: "string" } } },
    };
  if ("kind" in reply && reply.kind === "json_or_text")
    return {
      description: `${name}: JSON or text`,
      content: {
        "application/json": { schema: toJsonSchema(reply.schema, "output") },
        [reply.contentType]: { schema: { type: "string" } },
      },
    };
  return { description: `${name}: no body` };
}

function toSecurity({ gate, name }: Endpoint): Json[] {
  switch (gate.admits) {
    case "anyone":
      // What is public is read without a token, and what is not with one.
      return name.startsWith("forge.") ? [{}, { token: [] }, { basic: [] }] : [];
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
