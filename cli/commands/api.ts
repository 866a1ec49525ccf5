import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { apiOf } from "../../daemon/contract/api-of.ts";
import { toChoice } from "../support/flag-values.ts";
import { failureOf } from "../client/outcomes.ts";
import { forge, vault } from "../client/operations.ts";
import { parseJson } from "../support/json.ts";
import type { IncomingResponse } from "../client/transport.ts";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import { escapeJson, sanitizeText } from "../output/sanitize.ts";
import { commandDetails, type FlagValues } from "../tree/command.ts";

const apiFlags = {
  "-X, --method <method>": "GET, POST, PUT, PATCH or DELETE, where the path stands alone",
  "--service <name>": "forge or vault; derived from the path if only one has it",
  "-f, --field <key=value>": { help: "a text; may be repeated", parse: collectText },
  "-F, --typed-field <key=value>": {
    help: "true, false, null, a number or JSON; may be repeated",
    parse: collectTyped,
  },
  "--input <file>": "a file with the body; - is standard input",
  "--content-type <type>": "type of the body of --input",
  "-H, --header <name:value>": { help: "a header; may be repeated", parse: collectHeader },
  "-i, --include": "print the status and headers of the response first",
  "--paginate": "follow the pages of a list and print one array",
} as const;

export const api = commandDetails({
  args: {
    "<method-or-path>":
      "GET, POST, PUT, PATCH or DELETE; without it GET, or POST with a body (--field, --input)",
    "[path]":
      "the address: /api/… in full, or without /api/v1 (forge) or /api (vault), if only one of them has the path",
  },
  flags: apiFlags,
  output: { kind: "any" },
  writes: true,
  examples: [
    ["Send a GET request to the forge", "croft api /api/v1/version"],
    [
      "Follow the pages of a list",
      "croft api GET /api/v1/user/repos --paginate --jq '.[].full_name'",
    ],
    ["Send a body with POST", "croft api /api/v1/user/repos -f name=notes -F private=true"],
    ["Send another method", "croft api PATCH /api/v1/repos/keeper/notes -F archived=true"],
  ],
  /** Sends any request as the profile in use and prints the response body; JSON is indented on a terminal. */
  async run(cli, { methodOrPath: first, path: second, ...flags }) {
    const options = {
      service: toService(flags.service),
      ...toTarget(first, second, flags),
      fields: { ...flags.field, ...flags.typedField },
      input: flags.input,
      contentType: flags.contentType,
      headers: flags.header ?? {},
      include: flags.include === true,
      paginate: flags.paginate === true,
    };

    const { service, path } = toFullPath(options);
    const hasFields = Object.keys(options.fields).length > 0;
    if (hasFields && options.input !== undefined)
      throw usageError("--field and --input exclude each other");
    const isQuery = options.method === "GET" || options.method === "HEAD";
    if (options.paginate && options.method !== "GET") throw usageError("--paginate goes with GET");
    if (options.paginate && options.include)
      throw usageError("--paginate and --include exclude each other");
    const body =
      options.input !== undefined
        ? await readBody(cli, options.input)
        : hasFields && !isQuery
          ? JSON.stringify(options.fields)
          : undefined;
    const send = async (query: Fields): Promise<IncomingResponse> => {
      const answer = await cli.client.send({
        service,
        method: options.method,
        path: isQuery ? withQuery(path, query) : path,
        body,
        contentType: body === undefined ? undefined : (options.contentType ?? "application/json"),
        headers: options.headers,
      });
      const failure = failureOf(service, answer);
      if (failure !== undefined) throw failure;
      return answer;
    };
    if (options.paginate) return printValue(cli, await readAllPages(send, options.fields));
    const answer = await send(options.fields);
    if (options.include) await cli.io.write(toHead(answer));
    if (answer.body.byteLength === 0) {
      if (cli.output.isMachine) await cli.output.text("", null);
      return;
    }
    const value = parseJson(answer.body);
    if (cli.output.isMachine || (cli.io.isOutputTerminal && value !== undefined))
      return printValue(cli, value ?? answer.body.toString("utf8"));
    if (cli.io.isOutputTerminal && answer.body.includes(0))
      throw usageError("the terminal would show raw bytes", "send them to a file");
    const text = answer.body.toString("utf8");
    if (value !== undefined) return cli.io.write(escapeJson(text));
    await cli.io.write(cli.io.isOutputTerminal ? sanitizeText(text) : answer.body);
  },
});

function printValue(cli: CliContext, value: unknown): Promise<void> {
  return cli.output.text(`${escapeJson(JSON.stringify(value, null, 2))}\n`, value);
}

/** The status line and headers, as curl prints them. */
function toHead({ status, headers }: IncomingResponse): string {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => `${name}: ${one}`),
  );
  return sanitizeText(`${[`HTTP/1.1 ${status}`, ...lines].join("\n")}\n\n`);
}

/** Requests of one `--paginate`. */
const PAGES_MAX = 100_000;

/**
 * Reads the pages of a list, from the one that the fields name, to the first that is empty, ends the total or repeats the one
 * before it: a list without pages is always whole. A list is an array, or the array in `items` or `data` of an object.
 */
async function readAllPages(
  send: (query: Fields) => Promise<IncomingResponse>,
  fields: Fields,
): Promise<readonly unknown[]> {
  const all: unknown[] = [];
  const start = Number(fields["page"] ?? 1);
  if (!Number.isSafeInteger(start) || start < 1)
    throw usageError("with --paginate, the field page is a number from 1");
  let last: Uint8Array | undefined;
  for (let page = start; page < start + PAGES_MAX; page += 1) {
    const answer = await send({ ...fields, page });
    const body = parseJson(answer.body) as readonly unknown[] | ListBody | undefined;
    const { items, total: counted } = toList(body);
    if (!Array.isArray(items))
      throw usageError("the response is not a list of pages", "leave out --paginate");
    if (last !== undefined && answer.body.equals(last)) break;
    last = answer.body;
    for (const item of items as readonly unknown[]) all.push(item);
    const total = Number(answer.headers["x-total-count"] ?? counted ?? Number.NaN);
    if (items.length === 0 || (start === 1 && all.length >= total)) break;
  }
  return all;
}

function toList(body: readonly unknown[] | ListBody | undefined): ListBody {
  if (body === undefined || body === null) return {};
  if (Array.isArray(body)) return { items: body };
  const { items, data, total } = body as ListBody;
  return { items: items ?? data, ...(total === undefined ? {} : { total }) };
}

interface ListBody {
  readonly items?: unknown;
  readonly data?: unknown;
  readonly total?: number;
}

function toFullPath({
  service,
  path,
}: {
  readonly service: "forge" | "vault" | undefined;
  readonly path: string;
}): {
  readonly service: "forge" | "vault";
  readonly path: string;
} {
  const rooted = path.startsWith("/") ? path : `/${path}`;
  if (rooted.startsWith("/api/"))
    return {
      service: service ?? apiOf({ path: rooted }),
      path: rooted,
    };
  const known = service ?? findService(rooted.replace(/[?#].*$/, ""));
  if (known === undefined) {
    const { forge: isForge } = findServices(rooted.replace(/[?#].*$/, ""));
    throw usageError(
      isForge ? `${rooted} is a path of both services` : `neither service has the path ${rooted}`,
      isForge
        ? "give --service forge or vault, or the path from /api/"
        : "check the path, or give --service forge or vault to send the request all the same",
    );
  }
  return { service: known, path: known === "forge" ? `/api/v1${rooted}` : `/api${rooted}` };
}

/** Returns the service that has this path, given without its prefix; undefined when both or neither have it. */
function findService(path: string): "forge" | "vault" | undefined {
  const found = findServices(path);
  if (found.forge === found.vault) return undefined;
  return found.forge ? "forge" : "vault";
}

function findServices(path: string): { readonly forge: boolean; readonly vault: boolean } {
  return {
    forge: Object.values<Route>(forge).some((one) => matches(one, `/api/v1${path}`)),
    vault: Object.values<Route>(vault).some((one) => matches(one, `/api${path}`)),
  };
}

interface Route {
  readonly path: string;
}

/** Whether a path fits a template such as `/repos/:owner/:repo/contents/**:filepath`. */
function matches({ path: template }: Route, path: string): boolean {
  const words = path.split("/");
  const names = template.split("/");
  const isOpen = names.at(-1)?.startsWith("**") === true;
  if (isOpen ? words.length < names.length : words.length !== names.length) return false;
  return names.every(
    (name, at) =>
      name.startsWith("**") || name === words[at] || (name.startsWith(":") && words[at] !== ""),
  );
}

function withQuery(path: string, fields: Readonly<Record<string, unknown>>): string {
  if (Object.keys(fields).length === 0) return path;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields))
    query.append(name, typeof value === "string" ? value : JSON.stringify(value));
  return `${path}${path.includes("?") ? "&" : "?"}${query.toString()}`;
}

async function readBody(cli: CliContext, input: string): Promise<string | Uint8Array> {
  if (input === "-") return cli.io.readInput();
  return readFile(resolve(cli.system.workingDirectory, input));
}

const methods: readonly string[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/** Reads `PATH`, as in gh, or `METHOD PATH`. */
function toTarget(
  first: string,
  second: string | undefined,
  { method, field, typedField, input, paginate }: FlagValues<typeof apiFlags>,
): { readonly method: string; readonly path: string } {
  if (second !== undefined) {
    if (method !== undefined)
      throw usageError("--method and a method before the path exclude each other");
    return { method: toMethod(first), path: second };
  }
  if (methods.includes(first.toUpperCase()) && !first.startsWith("/"))
    throw usageError("the path is missing", "croft api GET /api/v1/version");
  const hasBody = field !== undefined || typedField !== undefined || input !== undefined;
  const usual = hasBody && paginate !== true ? "POST" : "GET";
  return { method: method === undefined ? usual : toMethod(method), path: first };
}

function toMethod(value: string): string {
  const method = value.toUpperCase();
  if (methods.includes(method)) return method;
  throw usageError(`${JSON.stringify(value)} is not a method`, "croft api GET /api/v1/version");
}

function toService(value: string | undefined) {
  return value === undefined ? undefined : toChoice("--service", ["forge", "vault"], value);
}

type Fields = Readonly<Record<string, unknown>>;

function collectText(field: string, previous: Fields = {}): Fields {
  const [key, value] = split("--field", field);
  return { ...previous, [key]: value };
}

function collectTyped(field: string, previous: Fields = {}): Fields {
  const [key, value] = split("--typed-field", field);
  try {
    return { ...previous, [key]: JSON.parse(value) as unknown };
  } catch {
    throw usageError(
      `--typed-field ${key} takes JSON, not ${JSON.stringify(value)}`,
      "--field takes a text",
    );
  }
}

/** Headers that the client sets itself. Other values would end a session or make the request invalid. */
const ownHeaders: ReadonlySet<string> = new Set([
  "accept-language",
  "authorization",
  "content-length",
  "content-type",
  "cookie",
  "host",
  "user-agent",
]);

function collectHeader(header: string, previous: Headers = {}): Headers {
  const [, name, value] =
    /^([!#$%&'*+.^_`|~\w-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/.exec(header) ?? [];
  if (name === undefined || value === undefined)
    throw usageError(`--header takes NAME:VALUE, not ${JSON.stringify(header)}`);
  if (ownHeaders.has(name.toLowerCase()))
    throw usageError(
      `--header cannot set ${name}`,
      "--content-type, --profile and --input set such headers",
    );
  return { ...previous, [name]: value };
}

type Headers = Readonly<Record<string, string>>;

function split(flag: string, value: string): readonly [string, string] {
  const at = value.indexOf("=");
  if (at < 1) throw usageError(`${flag} takes KEY=VALUE, not ${JSON.stringify(value)}`);
  return [value.slice(0, at), value.slice(at + 1)];
}
