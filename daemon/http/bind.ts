import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { H3, type H3Event } from "h3";
import { addRoute, createRouter, findRoute } from "rou3";
import { z } from "zod";
import { schemaOf, type AnyEndpoint, type BodySpec, type Endpoint } from "../contract/endpoint.ts";
import { AppError } from "../errors.ts";
import { createByteSender } from "./bytes.ts";
import type {
  AnyAnswer,
  Api,
  AnswerHeaders,
  RenderedError,
  Route,
  ServerRequest,
} from "./handle.ts";
import { readMultipart } from "./multipart.ts";
import { readWholeBody } from "./read-body.ts";
import { pagingHeaders, toRefusal, withHeaders, writeAnswer } from "./replies.ts";
import { createTurnEnd } from "./turn-end.ts";

/** How often one key may call one route; see `limits.ts`. */
export interface RateLimiter {
  /** False when everything passes uncounted: then answers say nothing of limits. */
  readonly counts: boolean;
  consume(
    key: string,
    limit: { readonly max: number; readonly seconds: number },
  ): Promise<{
    readonly allowed: boolean;
    readonly remaining: number;
    readonly resetSeconds: number;
  }>;
  /** The key of an address: an IPv6 network counts as one caller. */
  addressKey(address: string): string;
}

/** What happened to one request, for the log and the metrics. */
export interface RequestReport {
  readonly request: ServerRequest;
  readonly route: string;
  readonly status: number;
  /** The bug behind a 500, or the cause of a refusal. */
  readonly error: unknown;
}

/** What the binder needs besides the routes. */
export interface BinderOptions {
  readonly limiter: RateLimiter;
  /** Base of the links in paging headers, without a trailing slash. */
  readonly publicUrl: () => string;
  readonly maxJsonBytes: number;
  readonly maxUploadBytes: number;
  /** Where a form's file waits when fields follow it. */
  readonly temporaryDirectory: string;
  /** Parse every JSON answer with its declared schema and fail on a difference. For tests. */
  readonly checkReplies: boolean;
  /** Makes the request value that services see. */
  readonly toServerRequest: (message: IncomingMessage, response: ServerResponse) => ServerRequest;
  readonly report: (what: RequestReport) => void;
}

/** h3's mark for a handler that wrote Node's response itself. */
const HANDLED = Symbol.for("h3.handled");

const NO_PARAMS: Readonly<Record<string, string>> = {};

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;

/**
 * Makes an h3 app of an API's routes. Every request goes through the same steps: address limit, who calls,
 * account limit, gate, what the path names, parse, handler, answer. A wrong method is 405 and an unknown
 * address 404 from the endpoint table, in the API's own words.
 */
export function bindRoutes<Caller>(
  api: Api<Caller>,
  routes: readonly Route[],
  options: BinderOptions,
): H3 {
  const app = new H3({ silent: true });
  const turnEnd = createTurnEnd();
  const sendBytes = createByteSender(api.headers);
  const table = createRouter<string>();
  for (const route of routes) {
    const { method, path } = route.endpoint;
    addRoute(table, method, path, method);
    app.on(method, path, (event) => run(event, route));
    // The catch-all below would win over h3's own fallback from HEAD to GET.
    if (method === "GET") app.on("HEAD", path, (event) => run(event, route));
  }
  app.all("/**", (event) => refuseUnknown(event));
  return app;

  async function run(event: H3Event, route: Route): Promise<symbol> {
    const { req, res } = nodePair(event);
    const request = options.toServerRequest(req, res);
    const declared = route.endpoint as Endpoint;
    const extra: Record<string, string> = {};
    let status: number;
    let cause: unknown;
    try {
      const answer = await answerOf(route, declared, request, event, req, extra);
      addOwnHeaders(request, extra);
      await turnEnd();
      const sent = send(declared, answer, request, res, extra);
      status = typeof sent === "number" ? sent : await sent;
    } catch (error) {
      cause = error;
      addOwnHeaders(request, extra);
      status = sendError(error, res, request, extra);
    }
    options.report({ request, route: declared.name, status, error: cause });
    return HANDLED;
  }

  /** Asked for at the end: what they tell of may be in the body. */
  function addOwnHeaders(request: ServerRequest, extra: Record<string, string>): void {
    const more = api.headersFor?.(request);
    if (more !== undefined) Object.assign(extra, more);
  }

  async function answerOf(
    route: Route,
    declared: Endpoint,
    request: ServerRequest,
    event: H3Event,
    req: IncomingMessage,
    extra: Record<string, string>,
  ): Promise<AnyAnswer> {
    const { limit, gate } = declared;
    const addressKey = () => `a:${options.limiter.addressKey(request.address)}`;
    if (limit?.key === "address") await consume(declared, addressKey(), extra);
    let caller: Caller | undefined;
    let wrong: { readonly error: unknown } | undefined;
    try {
      caller = await api.authenticate(request, gate);
    } catch (error) {
      wrong = { error };
    }
    // Tries with wrong credentials count too: for the address that they come from.
    if (limit?.key === "account") {
      const account = wrong === undefined ? api.accountKey(caller) : undefined;
      await consume(declared, account === undefined ? addressKey() : `u:${account}`, extra);
    }
    if (wrong !== undefined) throw wrong.error;
    const rawParams = event.context.params ?? NO_PARAMS;
    const authorizing = api.authorize(caller, declared, request, rawParams);
    if (authorizing !== undefined) await authorizing;
    if (api.resolve !== undefined) await api.resolve(declared, rawParams);
    const params =
      declared.params && parse(declared, declared.params, decodeParams(rawParams), "path");
    const query =
      declared.query &&
      parse(
        declared,
        declared.query,
        queryObject(await readQuery(declared, request, req)),
        "query",
      );
    const isHeldBack = api.looksAgain === true && !req.complete;
    const body =
      declared.body === undefined
        ? undefined
        : await readBody(declared, declared.body, request, req);
    if (isHeldBack && caller !== undefined && isReadWhole(declared.body)) {
      caller = await api.authenticate(request, gate);
      await api.authorize(caller, declared, request, rawParams);
    }
    return route.handler({ caller, params, query, body, request });
  }

  async function consume(
    declared: Endpoint,
    key: string,
    extra: Record<string, string>,
  ): Promise<void> {
    if (declared.limit === undefined || !options.limiter.counts) return;
    const { max } = declared.limit;
    const counted = await options.limiter.consume(`${declared.name}:${key}`, declared.limit);
    extra["RateLimit-Limit"] = String(max);
    extra["RateLimit-Remaining"] = String(counted.remaining);
    extra["RateLimit-Reset"] = String(counted.resetSeconds);
    if (counted.allowed) return;
    const seconds = counted.resetSeconds;
    throw new AppError("rate_limited", `Too many requests. Try again in ${seconds} seconds.`, {
      headers: { "Retry-After": String(seconds) },
    });
  }

  function readQuery(
    declared: Endpoint,
    request: ServerRequest,
    req: IncomingMessage,
  ): Promise<URLSearchParams> | URLSearchParams {
    const maxBytes = declared.maxBodyBytes ?? options.maxJsonBytes;
    const read = () => readWholeBody(req, maxBytes);
    return api.readQuery?.(declared, request, read) ?? request.query;
  }

  async function readBody(
    declared: Endpoint,
    spec: BodySpec,
    request: ServerRequest,
    req: IncomingMessage,
  ): Promise<unknown> {
    if ("kind" in spec && spec.kind === "stream") return req satisfies Readable;
    if ("kind" in spec && spec.kind === "multipart") {
      const form = await readMultipart(req, {
        maxFileBytes: options.maxUploadBytes,
        temporaryDirectory: options.temporaryDirectory,
        fieldNames: Object.keys(spec.fields.shape),
        toMalformed: (message, cause) => {
          const error = new z.ZodError([{ code: "custom", path: [], message, input: undefined }]);
          const refusal = api.toValidationError("body", error, declared);
          refusal.cause = cause;
          return refusal;
        },
      });
      try {
        return { fields: parse(declared, spec.fields, form.fields, "body"), file: form.file };
      } catch (error) {
        // A file that waited for its fields stays on the disk for as long as nobody reads it.
        form.file?.stream.resume();
        throw error;
      }
    }
    const maxBytes = declared.maxBodyBytes ?? options.maxJsonBytes;
    const value = await api.decodeBody(declared, request, () => readWholeBody(req, maxBytes));
    return parse(declared, spec as z.ZodType, value, "body");
  }

  function parse<S extends z.ZodType>(
    declared: Endpoint,
    schema: S,
    value: unknown,
    where: "path" | "query" | "body",
  ) {
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    throw api.toValidationError(where, result.error, declared);
  }

  /** The status at once unless the answer is a stream. */
  function send(
    declared: Endpoint,
    answer: AnyAnswer,
    request: ServerRequest,
    res: ServerResponse,
    extra: Readonly<Record<string, string>>,
  ): Promise<number> | number {
    if ("bytes" in answer) {
      for (const name in extra) res.setHeader(name, extra[name] ?? "");
      return sendBytes(request, res, answer);
    }
    const headers = { ...api.headers };
    Object.assign(headers, extra, answer.headers);
    if (declared.paging !== undefined && answer.total !== undefined)
      Object.assign(
        headers,
        pagingHeaders(declared.paging, pageFacts(declared, request, answer.total)),
      );
    const body = options.checkReplies ? checked(declared, answer.status, answer.body) : answer.body;
    writeAnswer(res, answer.status, headers, body, JSON_TYPE[api.name]);
    return answer.status;
  }

  function pageFacts(declared: Endpoint, request: ServerRequest, total: number) {
    const query = declared.query?.safeParse(queryObject(request.query)).data as
      | { page?: number; limit?: number }
      | undefined;
    const [path = "/"] = request.target.split("?");
    return {
      address: `${options.publicUrl()}${path}`,
      query: request.query,
      page: query?.page ?? 1,
      limit: query?.limit ?? Math.max(total, 1),
      total,
    };
  }

  function sendError(
    error: unknown,
    res: ServerResponse,
    request: ServerRequest,
    extra: AnswerHeaders,
  ): number {
    const refusal = toRefusal(error);
    const rendered =
      refusal === undefined
        ? api.internalError()
        : withHeaders(api.renderError(refusal), refusal.headers);
    const answer = rendered.status >= 500 ? withRequestId(rendered, request) : rendered;
    sendRendered(
      res,
      withHeaders({ ...answer, headers: { ...extra, ...answer.headers } }, undefined),
    );
    return rendered.status;
  }

  function sendRendered(res: ServerResponse, rendered: RenderedError): void {
    const headers = { ...api.headers, ...rendered.headers };
    // A body that nobody read would be taken for the next request on this connection.
    if (!res.req.complete && !("Connection" in headers) && hasBody(res.req))
      res.setHeader("Connection", "close");
    writeAnswer(res, rendered.status, headers, rendered.body, JSON_TYPE[api.name]);
  }

  async function refuseUnknown(event: H3Event): Promise<symbol> {
    const { req, res } = nodePair(event);
    const request = options.toServerRequest(req, res);
    const path = event.url.pathname;
    const allowed = METHODS.filter((method) =>
      findRoute(table, method === "HEAD" ? "GET" : method, path),
    );
    const rendered = allowed.length === 0 ? api.notFound(request) : api.methodNotAllowed(allowed);
    sendRendered(res, rendered);
    options.report({ request, route: "unknown", status: rendered.status, error: undefined });
    return HANDLED;
  }
}

const JSON_TYPE = {
  forge: "application/json;charset=utf-8",
  vault: "application/json",
} as const;

function nodePair(event: H3Event): { req: IncomingMessage; res: ServerResponse } {
  const node = event.runtime?.node;
  if (node?.res === undefined) throw new Error("the daemon serves Node's HTTP only");
  return { req: node.req as IncomingMessage, res: node.res as ServerResponse };
}

/** Whether the handler begins after the body: streams and forms reach it while they arrive. */
function isReadWhole(spec: BodySpec | undefined): boolean {
  return spec !== undefined && !("kind" in spec);
}

function hasBody(req: IncomingMessage): boolean {
  return (
    req.headers["transfer-encoding"] !== undefined || Number(req.headers["content-length"]) > 0
  );
}

/** Path values, decoded once per segment; a value of several segments keeps its slashes apart from encoded ones. */
function decodeParams(raw: Readonly<Record<string, string>>): Record<string, string> {
  const decoded: Record<string, string> = {};
  for (const [name, value] of Object.entries(raw))
    decoded[name] = value.includes("%")
      ? value.split("/").map(decodeURIComponent).join("/")
      : value;
  return decoded;
}

/** The query as the schemas take it: one value as text, several as an array. */
function queryObject(query: URLSearchParams): Record<string, string | string[]> {
  const object: Record<string, string | string[]> = Object.create(null);
  for (const [name, value] of query) {
    const known = object[name];
    if (known === undefined) object[name] = value;
    else if (Array.isArray(known)) known.push(value);
    else object[name] = [known, value];
  }
  return object;
}

function withRequestId(rendered: RenderedError, request: ServerRequest): RenderedError {
  return withHeaders(rendered, { "X-Request-Id": request.id });
}

function checked(declared: AnyEndpoint, status: number, body: unknown): unknown {
  const reply = (declared as Endpoint).replies[status];
  if (reply === undefined)
    throw new Error(`${declared.name} answers ${status}, which it does not declare`);
  const result = schemaOf(reply)?.safeParse(body);
  if (result !== undefined && !result.success)
    throw new Error(
      `${declared.name} answers ${status} against its schema: ${result.error.message}`,
    );
  return body;
}
