import { createHash } from "node:crypto";
import { z } from "zod";
import { allEndpoints } from "../../../daemon/contract/all.ts";
import { type Endpoint, schemaOf } from "../../../daemon/contract/endpoint.ts";
import { toQueryObject } from "../../../daemon/http/request-input.ts";
import {
  type FakeAnswer,
  fakeDaemon,
  type FakeDaemon,
  type RecordedRequest,
} from "./fake-daemon.ts";

/** Answers of a test's own, by the name of the operation. */
export type ContractAnswers = Readonly<
  Record<string, (request: RecordedRequest) => FakeAnswer | Promise<FakeAnswer>>
>;

/** Values of fields in the samples of one operation. */
export type SampleFields = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/**
 * A fake daemon that follows the contract: it refuses invalid requests and answers with samples of the response schema.
 */
export interface ContractDaemon extends FakeDaemon {
  /** Names of the operations that were called. */
  readonly called: readonly string[];
}

/** Serves every endpoint of the contract. `answers` take precedence over the samples, into which `fields` are merged. */
export async function contractDaemon(
  answers: ContractAnswers,
  fields: SampleFields,
): Promise<ContractDaemon> {
  const called: string[] = [];
  const daemon = await fakeDaemon(
    new Proxy<Record<string, (request: RecordedRequest) => Promise<FakeAnswer>>>(
      {},
      {
        get: () => async (request: RecordedRequest) => {
          const [path = "", query = ""] = request.path.split("?");
          const endpoint = findEndpoint(request.method, path);
          if (endpoint === undefined) return refuse(`no endpoint is ${request.method} ${path}`);
          called.push(endpoint.name);
          const problem = findProblem(endpoint, query, request);
          if (problem !== undefined) return refuse(`${endpoint.name}: ${problem}`);
          const answer = answers[endpoint.name];
          return answer === undefined
            ? sampleAnswer(endpoint, fields[endpoint.name])
            : answer(request);
        },
      },
    ),
  );
  return Object.assign(daemon, { called });
}

function refuse(message: string): FakeAnswer {
  return { status: 422, body: { message, detail: message } };
}

const patterns = (allEndpoints as readonly Endpoint[]).map((endpoint) => ({
  endpoint,
  // Of `/repos/search` and `/repos/:id` the first is meant when both fit, and of `:id.diff` and `:id` as well.
  variables: endpoint.path.split("/").filter((part) => part.includes(":")).length,
  letters: endpoint.path.replaceAll(/:\w+/g, "").length,
  pattern: new RegExp(
    `^${endpoint.path.replaceAll(/\/\*\*:\w+/g, "/.+").replaceAll(/:\w+/g, "[^/]+")}$`,
  ),
}));

function findEndpoint(method: string, path: string): Endpoint | undefined {
  return patterns
    .filter(({ endpoint, pattern }) => endpoint.method === method && pattern.test(path))
    .toSorted((a, b) => a.variables - b.variables || b.letters - a.letters)[0]?.endpoint;
}

/** Returns the daemon's reason for refusing query or body, or undefined. */
function findProblem(
  { query: querySchema, body: bodySchema }: Endpoint,
  query: string,
  request: RecordedRequest,
): string | undefined {
  const values = toQueryObject(new URLSearchParams(query));
  // Lists without pages take the numbers of one and pass them over.
  const known = new Set(["page", "limit", ...Object.keys(querySchema?.shape ?? {})]);
  const unknown = Object.keys(values).filter((name) => !known.has(name));
  if (unknown.length > 0) return `unknown query parameters ${unknown.join(", ")}`;
  const parsed = querySchema?.safeParse(values);
  if (parsed?.success === false) return z.prettifyError(parsed.error);
  if (bodySchema === undefined || "kind" in bodySchema || request.body.byteLength === 0)
    return undefined;
  const body = bodySchema.safeParse(request.json());
  return body.success ? undefined : z.prettifyError(body.error);
}

function sampleAnswer(
  { replies, paging }: Endpoint,
  fields: Readonly<Record<string, unknown>> = {},
): FakeAnswer {
  const [status = "200"] = Object.keys(replies).filter((code) => code.startsWith("2"));
  const reply = replies[Number(status)];
  const schema = schemaOf(reply);
  const headers = paging === undefined ? {} : { "X-Total-Count": "1" };
  if (schema !== undefined) {
    const wire = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Schema;
    return { status: Number(status), body: toSample(wire, "", { root: wire, fields }), headers };
  }
  const isEmpty = reply !== undefined && "kind" in reply && reply.kind === "empty";
  return { status: Number(status), ...(isEmpty ? {} : { body: Buffer.from("sample\n") }) };
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly minimum?: number;
}

/** Texts by the names of their fields, where the name says more than the schema. */
const texts: Readonly<Record<string, string>> = {
  login: "keeper",
  full_name: "keeper/notes",
  handle: "mira",
  email: "mira@example.org",
  display_name: "Papers",
  expires_at: "2099-01-01T00:00:00Z",
};

interface Sampling {
  readonly root: Schema;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A value of the schema: the first alternative, one item a list, and an object with all its fields. */
function toSample(schema: Schema, name: string, sampling: Sampling): unknown {
  if (Object.hasOwn(sampling.fields, name)) return sampling.fields[name];
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.$ref !== undefined)
    return schema.$ref === "#"
      ? null
      : toSample(sampling.root.$defs?.[schema.$ref.replace("#/$defs/", "")] ?? {}, name, sampling);
  const [alternative] = schema.anyOf ?? schema.oneOf ?? [];
  if (alternative !== undefined) return toSample(alternative, name, sampling);
  if (schema.allOf !== undefined)
    return Object.assign(
      {},
      ...schema.allOf.map((one) => toSample(one, name, sampling)),
    ) as unknown;
  const type = typeof schema.type === "object" ? schema.type[0] : schema.type;
  switch (type) {
    case "object":
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([key, value]) => [
          key,
          toSample(value, key, sampling),
        ]),
      );
    case "array":
      return schema.items === undefined ? [] : [toSample(schema.items, name, sampling)];
    case "integer":
    case "number":
      return Math.max(schema.minimum ?? 0, 7);
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return toText(schema.format, name);
  }
}

function toText(format: string | undefined, name: string): string {
  const known = texts[name];
  if (known !== undefined) return known;
  if (format === "uuid") return "0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8";
  if (format === "date-time" || /_at$|^(?:created|updated)$/.test(name))
    return "2026-11-20T09:30:00Z";
  if (format === "uri" || /url$/.test(name)) return "http://127.0.0.1/sample";
  // Of the bytes that every download has.
  if (name === "sha256") return createHash("sha256").update("sample\n").digest("hex");
  return /(?:^|_)id$/.test(name) ? "0a6f4c1e-3b52-4d8e-9f10-2c7b5a91d3e8" : `sample ${name}`;
}
