// A server of the Model Context Protocol over standard input and output: JSON-RPC messages, one a line. Its tools are the
// operations of both APIs, made from the contract.
import type { Readable } from "node:stream";
import { z } from "zod";
import { allEndpoints } from "../../daemon/contract/all.ts";
import type { Endpoint } from "../../daemon/contract/endpoint.ts";
import { apiOf } from "../../daemon/contract/api-of.ts";
import { failureOf } from "../client/outcomes.ts";
import { toAddress } from "../client/request.ts";
import type { CliContext } from "../context.ts";
import { CliError, toCliError, usageError } from "../errors.ts";
import { asObject, type JsonObject, parseJson } from "../support/json.ts";
import { commandDetails } from "../tree/command.ts";
import { version } from "../version.ts";
import { createLimit } from "./vault/item/transfer.ts";

/** The versions of the protocol, newest first. */
const PROTOCOLS = ["2025-06-18", "2025-03-26", "2024-11-05"] as const;
/** Largest message of a client in bytes: a file as base64 in a body fits. */
const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;
/** Largest answer of a tool in bytes: more would fill the context of a model. */
const ANSWER_BYTES_MAX = 256 * 1024;
/** Calls at once; others wait. */
const CALLS_AT_ONCE = 4;

export const mcp = commandDetails({
  flags: {
    "--write": "also offer the operations that change something",
    "--only <prefix...>":
      "only operations whose names begin so, such as forge.repos or vault.documents",
  },
  output: { kind: "any" },
  writes: true,
  examples: [
    ["Serve an assistant that may read", "croft mcp"],
    [
      "Serve one that may also change issues, and sees no other tools",
      "croft mcp --write --only forge.issues",
    ],
  ],
  note: [
    "An MCP client starts this command and talks to it over standard input and output;",
    "docs/guides/assistants.md has the settings of clients. The rights are those of the token in use:",
    "give an assistant a token of its own.",
  ].join("\n"),
  /** Answers messages until standard input ends. */
  async run(cli, { write = false, only = [] }) {
    const { stdin } = cli.system;
    if (cli.io.isInputTerminal)
      throw usageError("croft mcp is started by an MCP client", "see croft help mcp");
    const tools = createTools({ mayWrite: write, only });
    if (tools.size === 0) throw usageError(`no operation begins with ${only.join(" or ")}`);
    const limited = createLimit(CALLS_AT_ONCE);
    const pending = new Set<Promise<void>>();
    const failures: unknown[] = [];
    for await (const line of readLines(stdin as unknown as Readable)) {
      const answering = limited(() => answer(cli, tools, line))
        .catch((error: unknown) => void failures.push(error))
        .finally(() => pending.delete(answering));
      pending.add(answering);
      // Backpressure: a client that sends without reading answers is not read either.
      if (pending.size >= 4 * CALLS_AT_ONCE) await Promise.race(pending);
      if (failures.length > 0) break;
    }
    await Promise.all(pending);
    if (failures.length > 0) throw failures[0];
  },
});

/** A tool, and the operation that it calls. */
export interface Tool {
  readonly endpoint: Endpoint;
  readonly description: JsonObject;
}

/** Returns the tools by name: each operation whose request is JSON and that needs no signed address, session or job. */
export function createTools(options: {
  readonly mayWrite: boolean;
  readonly only: readonly string[];
}): ReadonlyMap<string, Tool> {
  const offered = (allEndpoints as readonly Endpoint[]).filter(
    (endpoint) =>
      (options.mayWrite || isReading(endpoint)) &&
      (options.only.length === 0 ||
        options.only.some((prefix) => endpoint.name.startsWith(prefix))) &&
      !NEVER.some((pattern) => pattern.test(endpoint.name)) &&
      !OTHER_CREDENTIALS.has(endpoint.gate.admits) &&
      endpoint.apiOnly === undefined &&
      !isEndless(endpoint) &&
      (endpoint.body === undefined || !("kind" in endpoint.body)),
  );
  return new Map(offered.map((endpoint) => [toToolName(endpoint.name), toTool(endpoint)]));
}

/** Signing in and second factors: their answers are secrets, which belong in no model's context. */
const NEVER = [/^vault\.auth\./, /totp|password|token|secret/];
const OTHER_CREDENTIALS: ReadonlySet<string> = new Set([
  "forge_basic",
  "forge_job",
  "forge_artifact_address",
  "vault_upload_address",
]);

const isReading = ({ method, onlyReads }: Endpoint): boolean =>
  method === "GET" || onlyReads === true;

const isEndless = ({ replies }: Endpoint): boolean =>
  Object.values(replies).some(
    (reply) => "contentType" in reply && reply.contentType === "text/event-stream",
  );

/** Names of tools have no dots in all clients. */
const toToolName = (name: string): string => name.replaceAll(".", "_");

function toTool(endpoint: Endpoint): Tool {
  const { name, summary, params, query, body, method } = endpoint;
  const schemas = [params, query].map((schema) => (schema === undefined ? {} : toSchema(schema)));
  const properties = Object.assign(
    {},
    ...schemas.map((schema) => schema["properties"]),
  ) as JsonObject;
  const required = schemas.flatMap((schema) => (schema["required"] ?? []) as string[]);
  const isBodyNeeded = body !== undefined && !(body as z.ZodType).safeParse(undefined).success;
  return {
    endpoint,
    description: {
      name: toToolName(name),
      description: summary,
      inputSchema: {
        type: "object",
        properties:
          body === undefined ? properties : { ...properties, body: toSchema(body as z.ZodType) },
        required: isBodyNeeded ? [...required, "body"] : required,
        additionalProperties: false,
      },
      annotations: { readOnlyHint: isReading(endpoint), destructiveHint: method === "DELETE" },
    },
  };
}

function toSchema(schema: z.ZodType): JsonObject {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return rest;
}

/** Reads lines. Throws when one is longer than the maximum. */
async function* readLines(input: Readable): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input as AsyncIterable<Buffer | string>) {
    let left = Buffer.from(chunk);
    for (let end = left.indexOf(10); end >= 0; end = left.indexOf(10)) {
      yield Buffer.concat([...rest, left.subarray(0, end)]);
      rest = [];
      bytes = 0;
      left = left.subarray(end + 1);
    }
    rest.push(left);
    bytes += left.byteLength;
    if (bytes > MESSAGE_BYTES_MAX)
      throw new CliError("invalid", `a message has more than ${MESSAGE_BYTES_MAX} bytes`);
  }
}

/** Error codes of JSON-RPC. */
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;

async function answer(
  cli: CliContext,
  tools: ReadonlyMap<string, Tool>,
  line: Buffer,
): Promise<void> {
  if (line.toString("utf8").trim() === "") return;
  const reply = await toReply(cli, tools, parseJson(line));
  if (reply !== undefined) await cli.io.write(`${JSON.stringify({ jsonrpc: "2.0", ...reply })}\n`);
}

/** Returns the reply to a message; undefined to a notification. */
async function toReply(cli: CliContext, tools: ReadonlyMap<string, Tool>, message: unknown) {
  const fail = (code: number, text: string, id: unknown = null) => ({
    id,
    error: { code, message: text },
  });
  if (message === undefined) return fail(PARSE_ERROR, "the message is not JSON");
  const { id, method, params } = asObject(message) ?? {};
  const hasId = typeof id === "string" || typeof id === "number";
  if (typeof method !== "string")
    return hasId && method === undefined
      ? undefined
      : fail(INVALID_REQUEST, "the message has no method");
  if (!hasId) return undefined;
  const given = asObject(params) ?? {};
  switch (method) {
    case "initialize": {
      const wanted = PROTOCOLS.find((one) => one === given["protocolVersion"]);
      return {
        id,
        result: {
          protocolVersion: wanted ?? PROTOCOLS[0],
          capabilities: { tools: {} },
          serverInfo: { name: "croft", version },
        },
      };
    }
    case "ping":
      return { id, result: {} };
    case "tools/list":
      return { id, result: { tools: [...tools.values()].map(({ description }) => description) } };
    case "tools/call": {
      const tool = tools.get(String(given["name"]));
      if (tool === undefined)
        return fail(INVALID_PARAMS, `there is no tool ${String(given["name"])}`, id);
      return { id, result: await callTool(cli, tool, asObject(given["arguments"]) ?? {}) };
    }
    default:
      return fail(METHOD_NOT_FOUND, `there is no method ${method}`, id);
  }
}

/** Calls an operation. A failure is a result that says so, which the model reads. */
async function callTool(cli: CliContext, { endpoint }: Tool, args: JsonObject) {
  try {
    return { content: [{ type: "text", text: await call(cli, endpoint, args) }] };
  } catch (error) {
    const { message, details, code } = toCliError(error);
    const problems = (details.problems ?? []).map(
      ({ field, text: problem }) => `${field}: ${problem}`,
    );
    const text = [`${code}: ${message}`, ...problems].join("\n");
    return { content: [{ type: "text", text }], isError: true };
  }
}

async function call(cli: CliContext, endpoint: Endpoint, args: JsonObject): Promise<string> {
  const { method, path, params, query } = endpoint;
  const { body, ...values } = args;
  const names = [...Object.keys(params?.shape ?? {}), ...Object.keys(query?.shape ?? {})];
  const unknown = Object.keys(values).find((name) => !names.includes(name));
  if (unknown !== undefined) throw usageError(`there is no argument ${unknown}`);
  if (body !== undefined && endpoint.body === undefined)
    throw usageError("there is no argument body");
  const missing = Object.keys(params?.shape ?? {}).find((name) => values[name] === undefined);
  if (missing !== undefined) throw usageError(`${missing} is missing`);
  const inPath = new Set(Object.keys(params?.shape ?? {}));
  const rest = Object.fromEntries(Object.entries(values).filter(([name]) => !inPath.has(name)));
  const address = toAddress(path, values, rest);
  if (method === "GET") {
    const { stream, status } = await cli.client.download(endpoint, {
      params: values,
      query: rest,
    } as never);
    return status === 204 ? "done" : readText(stream);
  }
  const service = apiOf(endpoint);
  const reply = await cli.client.send({
    service,
    method,
    path: address,
    body: body === undefined ? undefined : JSON.stringify(body),
    contentType: body === undefined ? undefined : "application/json",
  });
  const failure = failureOf(service, reply);
  if (failure !== undefined) throw failure;
  return toText(reply.body) || "done";
}

async function readText(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.byteLength;
      if (bytes > ANSWER_BYTES_MAX) break;
    }
  } finally {
    stream.destroy();
  }
  return toText(Buffer.concat(chunks)) || "done";
}

/** Returns an answer as text. @throws CliError `unsupported` for one that is too large or not text */
function toText(bytes: Buffer): string {
  if (bytes.byteLength > ANSWER_BYTES_MAX)
    throw new CliError(
      "unsupported",
      `the answer has more than ${ANSWER_BYTES_MAX} bytes: ask for a smaller page or for a part`,
    );
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new CliError("unsupported", "the answer is not text");
  }
}
