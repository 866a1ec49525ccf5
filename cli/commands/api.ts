import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { failureOf } from "../client/client.ts";
import { parseJson } from "../client/vault-session.ts";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import { escapeJson, sanitizeText } from "../output/sanitize.ts";
import type { CommandModule } from "../tree/entry.ts";

export interface ApiOptions {
  readonly service: "forge" | "vault" | undefined;
  readonly method: string;
  readonly path: string;
  /** Members of the JSON body, or query values when the method has no body. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** A file with the body, `-` for standard input. */
  readonly input: string | undefined;
  readonly contentType: string | undefined;
}

interface Flags {
  readonly service?: string;
  readonly field?: Readonly<Record<string, unknown>>;
  readonly input?: string;
  readonly contentType?: string;
}

export const api = {
  operations: [],
  output: { kind: "any" },
  writes: true,
  define(command, cli, run = runApi): void {
    command
      .argument("<method>", "GET, POST, PUT, PATCH or DELETE")
      .argument("<path>", "the address: /api/… in full, or without /api/v1 (forge) or /api (vault)")
      .option("--service <name>", "forge or vault; derived from a full path")
      .option("-f, --field <key=value>", "a text; may be repeated", collectText)
      .option(
        "-F, --typed-field <key=value>",
        "true, false, null, a number or JSON; may be repeated",
        collectTyped,
      )
      .option("--input <file>", "a file with the body; - is standard input")
      .option("--content-type <type>", "type of the body of --input")
      .action((method: string, path: string, flags: Flags & { readonly typedField?: object }) =>
        run(cli, {
          service: toService(flags.service),
          method: toMethod(method),
          path,
          fields: { ...flags.field, ...flags.typedField },
          input: flags.input,
          contentType: flags.contentType,
        }),
      );
  },
} satisfies CommandModule;

/** Sends any request as the profile in use and prints the response body; JSON is indented on a terminal. */
async function runApi(cli: CliContext, options: ApiOptions): Promise<void> {
  const { service, path } = toFullPath(options);
  const hasFields = Object.keys(options.fields).length > 0;
  if (hasFields && options.input !== undefined)
    throw usageError("--field and --input exclude each other");
  const isQuery = options.method === "GET" || options.method === "HEAD";
  const body =
    options.input !== undefined
      ? await readBody(cli, options.input)
      : hasFields && !isQuery
        ? JSON.stringify(options.fields)
        : undefined;
  const answer = await cli.client.send({
    service,
    method: options.method,
    path: hasFields && isQuery ? withQuery(path, options.fields) : path,
    body,
    contentType: body === undefined ? undefined : (options.contentType ?? "application/json"),
  });
  const failure = failureOf(service, answer);
  if (failure !== undefined) throw failure;
  if (answer.body.byteLength === 0) {
    if (cli.output.isMachine) await cli.output.text("", null);
    return;
  }
  const value = parseJson(answer.body);
  if (cli.output.isMachine || (cli.io.isOutputTerminal && value !== undefined))
    return cli.output.text(
      `${JSON.stringify(value, null, 2)}\n`,
      value ?? answer.body.toString("utf8"),
    );
  if (cli.io.isOutputTerminal && answer.body.includes(0))
    throw usageError("the terminal would show raw bytes", "send them to a file");
  const text = answer.body.toString("utf8");
  if (value !== undefined) return cli.io.write(escapeJson(text));
  await cli.io.write(cli.io.isOutputTerminal ? sanitizeText(text) : answer.body);
}

function toFullPath({ service, path }: ApiOptions): {
  readonly service: "forge" | "vault";
  readonly path: string;
} {
  const rooted = path.startsWith("/") ? path : `/${path}`;
  if (rooted.startsWith("/api/"))
    return {
      service: service ?? (rooted.startsWith("/api/v1/") ? "forge" : "vault"),
      path: rooted,
    };
  if (service === undefined)
    throw usageError(
      "which service is not clear",
      "give --service forge or vault, or the path from /api/",
    );
  return { service, path: service === "forge" ? `/api/v1${rooted}` : `/api${rooted}` };
}

function withQuery(path: string, fields: Readonly<Record<string, unknown>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields))
    query.append(name, typeof value === "string" ? value : JSON.stringify(value));
  return `${path}${path.includes("?") ? "&" : "?"}${query.toString()}`;
}

async function readBody(cli: CliContext, input: string): Promise<string | Uint8Array> {
  if (input === "-") return cli.io.readInput();
  return readFile(resolve(cli.system.workingDirectory, input));
}

function toMethod(given: string): string {
  const method = given.toUpperCase();
  if (["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"].includes(method)) return method;
  throw usageError(`${JSON.stringify(given)} is no method`, "croft api GET /api/v1/version");
}

function toService(given: string | undefined): ApiOptions["service"] {
  if (given === undefined || given === "forge" || given === "vault") return given;
  throw usageError(`--service takes forge or vault, not ${JSON.stringify(given)}`);
}

type Fields = Readonly<Record<string, unknown>>;

function collectText(given: string, known: Fields = {}): Fields {
  const [key, value] = split("--field", given);
  return { ...known, [key]: value };
}

function collectTyped(given: string, known: Fields = {}): Fields {
  const [key, value] = split("--typed-field", given);
  try {
    return { ...known, [key]: JSON.parse(value) as unknown };
  } catch {
    throw usageError(
      `--typed-field ${key} takes JSON, not ${JSON.stringify(value)}`,
      "--field takes a text",
    );
  }
}

function split(flag: string, given: string): readonly [string, string] {
  const at = given.indexOf("=");
  if (at < 1) throw usageError(`${flag} takes KEY=VALUE, not ${JSON.stringify(given)}`);
  return [given.slice(0, at), given.slice(at + 1)];
}
