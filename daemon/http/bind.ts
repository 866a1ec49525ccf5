import type { IncomingMessage, ServerResponse } from "node:http";
import { H3, type H3Event, toNodeHandler } from "h3";
import type { PartHandler } from "./server.ts";
import { addRoute, createRouter, findRoute } from "rou3";
import type { BodySpec, Endpoint, Method } from "../contract/endpoint.ts";
import { AppError } from "../errors.ts";
import { type BodyBudgets, type BodyMemory, createSpoolBudget } from "./body-memory.ts";
import { createByteSender } from "./bytes.ts";
import { isNotModified } from "./conditional.ts";
import { isDisconnect } from "./disconnect.ts";
import type {
  AnyAnswer,
  Api,
  AnswerHeaders,
  MultipartForm,
  ReadBody,
  RenderedError,
  Route,
  ServerRequest,
} from "./handle.ts";
import { closingFile } from "./multipart.ts";
import { checkReply, pagingHeaders, toRefusal, validatorHeaders, writeAnswer } from "./replies.ts";
import {
  closeAfterUnreadBody,
  cutRevokedBody,
  readWholeBody,
  revokedMeanwhile,
} from "./request-body.ts";
import { createResponseBatch } from "./response-batch.ts";
import { createInputReader, toQueryObject } from "./request-input.ts";

/** Counts requests per key and route; see `limits.ts`. */
export interface RateLimiter {
  /** False when nothing is counted: responses then carry no `RateLimit` headers. */
  readonly counts: boolean;
  consume(
    key: string,
    limit: { readonly max: number; readonly seconds: number },
  ): Promise<{
    readonly allowed: boolean;
    readonly remaining: number;
    readonly resetSeconds: number;
  }>;
  /** Returns the key of an address: an IPv6 network counts as one caller. */
  addressKey(address: string): string;
}

/** The result of one request, for the log and the metrics. */
export interface RequestReport {
  readonly request: ServerRequest;
  readonly route: string;
  /** As sent; 499 when the client disconnected before a response could be sent. */
  readonly status: number;
  /** The bug behind a 500, or the cause of a refusal. */
  readonly error: unknown;
  /** Level of the line in the access log, where it does not follow from method and status; `none` writes no line. */
  readonly level?: "info" | "debug" | "none";
}

/** Dependencies and limits of the binder. */
export interface BinderOptions {
  readonly limiter: RateLimiter;
  readonly bodies: BodyBudgets;
  /** Base of the links in paging headers, without a trailing slash. */
  readonly publicUrl: () => string;
  /** Largest body of an anonymous caller, and of every operation that declares no limit. */
  readonly maxJsonBytes: number;
  readonly maxUploadBytes: number;
  /** Holds the file of a form while fields that follow it are read. */
  readonly temporaryDirectory: string;
  /** Runs `work` with the disk space that is kept for signing in and deleting; rejects with `failure` when the reserve is spent. */
  readonly spendReserve?: <T>(failure: unknown, work: () => Promise<T>) => Promise<T>;
  /** For tests: parse every JSON response with its declared schema and fail on a difference. */
  readonly checkReplies: boolean;
  /** Makes the request value that services see. */
  readonly toServerRequest: (message: IncomingMessage, response: ServerResponse) => ServerRequest;
  readonly report: (result: RequestReport) => void;
}

/** h3's mark for a handler that wrote Node's response itself. */
const HANDLED = Symbol.for("h3.handled");

/** The status that logs and metrics show for a client that disconnected; nginx introduced the number. */
const CLIENT_CLOSED_REQUEST = 499;

const NO_PARAMS: Readonly<Record<string, string>> = {};

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;

/** One request on its way through the binder. */
interface Exchange {
  readonly route: Route;
  readonly declared: Endpoint;
  readonly request: ServerRequest;
  readonly message: IncomingMessage;
  readonly rawParams: Readonly<Record<string, string>>;
  /** Headers of every response, refusals included, such as those of rate limits. */
  readonly headers: Record<string, string>;
  /** Memory and temporary files of the bodies that were read. */
  readonly memory: BodyMemory[];
  /** The body that was read whole: a second attempt gets the same bytes. */
  body: Promise<Buffer> | undefined;
  /** Whether the limit has counted the request. */
  isCounted: boolean;
}

/**
 * Makes the handler of an API's routes, an h3 app. Every request takes the same steps: limit by address, authentication, limit by
 * account, gate with the resource in the path, validation, handler, response. A wrong method is 405 and an
 * unknown address 404, both from the endpoint table and rendered by the API.
 */
export function bindRoutes<Caller>(
  api: Api<Caller>,
  routes: readonly Route[],
  options: BinderOptions,
): PartHandler {
  const app = new H3({ silent: true });
  const joinBatch = createResponseBatch();
  const sendBytes = createByteSender(api.headers);
  const input = createInputReader(api, options);
  const spoolBudget = createSpoolBudget(options.maxUploadBytes);
  const table = createRouter<{ readonly method: Method; readonly path: string }>();
  for (const route of routes) {
    const { method, path } = route.endpoint;
    addRoute(table, method, path, { method, path });
    app.on(method, path, (event) => run(event, route));
    // The catch-all below would win over h3's own fallback from HEAD to GET.
    if (method === "GET") app.on("HEAD", path, (event) => run(event, route));
  }
  app.all("/**", (event) => refuseUnknown(event));
  return toNodeHandler(app) as PartHandler;

  async function run(event: H3Event, route: Route): Promise<symbol> {
    const { req: message, res } = nodePair(event);
    const exchange: Exchange = {
      route,
      declared: route.endpoint as Endpoint,
      request: options.toServerRequest(message, res),
      message,
      rawParams: event.context.params ?? NO_PARAMS,
      headers: {},
      memory: [],
      body: undefined,
      isCounted: false,
    };
    const { request, declared } = exchange;
    let status: number;
    let cause: unknown;
    try {
      const answer = await (declared.method === "DELETE" || declared.mayUseReserve === true
        ? withReserve(() => answerOf(exchange))
        : answerOf(exchange));
      await prepare(exchange, answer, res);
      const sent = send(exchange, answer, res);
      status = typeof sent === "number" ? sent : await sent;
    } catch (error) {
      if (isDisconnect(error, message, res)) {
        res.destroy();
        status = CLIENT_CLOSED_REQUEST;
      } else {
        cause = error;
        addOwnHeaders(exchange);
        status = sendError(error, res, exchange);
      }
    } finally {
      for (const reservation of exchange.memory) reservation.release();
    }
    options.report({ request, route: declared.name, status, error: cause });
    return HANDLED;
  }

  /** Retries `work` with the reserve on a full disk, which its owner frees by signing in and deleting. */
  async function withReserve<T>(work: () => Promise<T> | T): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const { spendReserve } = options;
      if (toRefusal(error)?.code !== "storage_full" || spendReserve === undefined) throw error;
      return spendReserve(error, async () => work());
    }
  }

  /** Waits for the batch and sets the headers of every response. Releases the bytes of a response that cannot be sent. */
  async function prepare(
    exchange: Exchange,
    answer: AnyAnswer,
    res: ServerResponse,
  ): Promise<void> {
    try {
      addOwnHeaders(exchange);
      await joinBatch();
      closeAfterUnreadBody(exchange.message, res);
      if ("bytes" in answer)
        for (const name in exchange.headers) res.setHeader(name, exchange.headers[name] ?? "");
    } catch (error) {
      if ("bytes" in answer) answer.bytes.release?.();
      throw error;
    }
  }

  /** Computed last: some headers depend on the body. */
  function addOwnHeaders({ request, headers }: Exchange): void {
    const more = api.headersFor?.(request);
    if (more !== undefined) Object.assign(headers, more);
  }

  async function answerOf(exchange: Exchange): Promise<AnyAnswer> {
    const { route, declared, request, message, rawParams } = exchange;
    const { limit, gate } = declared;
    const addressKey = () => `a:${options.limiter.addressKey(request.address)}`;
    if (limit?.key === "address") await consume(exchange, addressKey());
    const readAnonymously = toReader(exchange, undefined);
    let caller: Caller | undefined;
    let wrong: { readonly error: unknown } | undefined;
    try {
      // Only the sign-in may use the reserve, later writes of the request may not.
      caller = await withReserve(() => api.authenticate(request, gate, readAnonymously));
    } catch (error) {
      wrong = { error };
    }
    // Asked at once: the body may end during the questions to the database that follow.
    const isHeldBack = caller !== undefined && !message.complete;
    // Wrong credentials count too: against the address that they come from.
    if (limit?.key === "account" || limit?.key === "anonymous") {
      const account = wrong === undefined ? api.accountKey(caller) : undefined;
      if (account === undefined) await consume(exchange, addressKey());
      else if (limit.key === "account") await consume(exchange, `u:${account}`);
    }
    if (wrong !== undefined) throw wrong.error;
    const authorizing = api.authorize(caller, declared, request, rawParams);
    let opened = authorizing === undefined ? undefined : await authorizing;
    const account = api.accountKey(caller);
    const readBody = toReader(exchange, account);
    const params = input.params(declared, rawParams, request);
    const query = declared.query && (await input.query(declared, request, readBody));
    const formLimit = await route.admit?.({ caller, opened, params, query, request });
    const spooled = spoolBudget(account ?? addressKey());
    exchange.memory.push(spooled);
    const form = { limit: formLimit, spooled };
    if (isHeldBack && declared.body !== undefined && !isReadWhole(declared.body))
      await cutRevokedBody(message, () => isStillSignedIn(caller, request));
    const body = declared.body && (await input.body(declared, request, message, readBody, form));
    if (isHeldBack && isReadWhole(declared.body)) {
      if (api.authenticatesAfterBody === true) {
        caller = await api.authenticate(request, gate, readAnonymously);
        opened = await api.authorize(caller, declared, request, rawParams);
      } else {
        if (!(await isStillSignedIn(caller, request))) throw revokedMeanwhile();
        if (declared.on !== undefined)
          opened = await api.authorize(caller, declared, request, rawParams);
      }
    }
    const answer = () => route.handler({ caller, opened, params, query, body, request });
    const isForm =
      declared.body !== undefined && "kind" in declared.body && declared.body.kind === "multipart";
    return isForm ? closingFile(body as MultipartForm<unknown>, answer) : answer();
  }

  async function isStillSignedIn(
    caller: Caller | undefined,
    request: ServerRequest,
  ): Promise<boolean> {
    if (caller === undefined || api.isStillSignedIn === undefined) return true;
    return api.isStillSignedIn(caller, request);
  }

  /** Makes the function that reads the body within the budget of a signed-in account, or of the address. */
  function toReader(exchange: Exchange, account: string | undefined): ReadBody {
    return () => (exchange.body ??= read());

    function read(): Promise<Buffer> {
      const { declared, request, message } = exchange;
      const memory =
        account === undefined
          ? options.bodies.anonymous(options.limiter.addressKey(request.address))
          : options.bodies.signedIn(account);
      exchange.memory.push(memory);
      const declaredMax = declared.maxBodyBytes ?? options.maxJsonBytes;
      const maxBytes =
        account === undefined ? Math.min(declaredMax, options.maxJsonBytes) : declaredMax;
      return readWholeBody(message, { maxBytes, memory });
    }
  }

  async function consume(exchange: Exchange, key: string): Promise<void> {
    const { declared, headers } = exchange;
    if (declared.limit === undefined || !options.limiter.counts || exchange.isCounted) return;
    const { max } = declared.limit;
    const counted = await options.limiter.consume(`${declared.name}:${key}`, declared.limit);
    exchange.isCounted = true;
    headers["RateLimit-Limit"] = String(max);
    headers["RateLimit-Remaining"] = String(counted.remaining);
    headers["RateLimit-Reset"] = String(counted.resetSeconds);
    if (counted.allowed) return;
    const seconds = counted.resetSeconds;
    throw new AppError("rate_limited", `Too many requests. Try again in ${seconds} seconds.`, {
      retryAfterSeconds: seconds,
    });
  }

  /** Returns the status at once unless bytes are streamed. */
  function send(
    { declared, request, headers: extra }: Exchange,
    answer: AnyAnswer,
    res: ServerResponse,
  ): Promise<number> | number {
    if ("bytes" in answer) return sendBytes(request, res, answer);
    const headers: Record<string, string | readonly string[]> = { ...api.headers };
    Object.assign(headers, extra, answer.headers);
    if (answer.status >= 400) headers["X-Request-Id"] = request.id;
    if (answer.validators !== undefined) {
      Object.assign(headers, validatorHeaders(answer.validators));
      if (isNotModified(request, answer.validators)) {
        writeAnswer(res, 304, headers, undefined, api.jsonContentType);
        return 304;
      }
    }
    if (declared.paging !== undefined && answer.total !== undefined) {
      const details = toPageDetails(declared, request, answer.total);
      Object.assign(headers, pagingHeaders(declared.paging, details));
    }
    const body = options.checkReplies
      ? checkReply(declared, answer.status, answer.body)
      : answer.body;
    writeAnswer(res, answer.status, headers, body, api.jsonContentType);
    return answer.status;
  }

  function toPageDetails(declared: Endpoint, request: ServerRequest, total: number) {
    const query = declared.query?.safeParse(toQueryObject(request.query)).data as
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

  function sendError(error: unknown, res: ServerResponse, exchange: Exchange): number {
    const { request, headers } = exchange;
    const refusal = toRefusal(error);
    const rendered =
      refusal === undefined ? api.internalError() : api.renderError(refusal, request);
    sendRendered(res, rendered, { ...headers, "X-Request-Id": request.id });
    return rendered.status;
  }

  function sendRendered(
    res: ServerResponse,
    { status, headers, body }: RenderedError,
    extra: AnswerHeaders = {},
  ): void {
    closeAfterUnreadBody(res.req, res);
    const all = { ...api.headers, ...extra, ...headers };
    writeAnswer(res, status, all, body, api.jsonContentType);
  }

  async function refuseUnknown(event: H3Event): Promise<symbol> {
    const { req, res } = nodePair(event);
    const request = options.toServerRequest(req, res);
    const allowed = allowedMethods(event.url.pathname);
    const rendered = allowed.length === 0 ? api.notFound(request) : api.methodNotAllowed(allowed);
    sendRendered(res, rendered);
    options.report({ request, route: "unknown", status: rendered.status, error: undefined });
    return HANDLED;
  }

  /**
   * Returns the methods of the routes at `path`. A route whose last value takes several segments only counts if no
   * other route matches: `…/items/a/rename` is the operation `rename`, not an item `a/rename`.
   */
  function allowedMethods(path: string): string[] {
    const found = METHODS.map((method) => {
      const route = findRoute(table, method === "HEAD" ? "GET" : method, path)?.data;
      return { method, isCatchAll: route !== undefined && endsInCatchAll(route.path), route };
    }).filter(({ route }) => route !== undefined);
    const exact = found.filter(({ isCatchAll }) => !isCatchAll);
    return (exact.length > 0 ? exact : found).map(({ method }) => method);
  }
}

function endsInCatchAll(path: string): boolean {
  return /\/\*\*:\w+$/.test(path);
}

function nodePair(event: H3Event): { req: IncomingMessage; res: ServerResponse } {
  const node = event.runtime?.node;
  if (node?.res === undefined) throw new Error("the daemon serves Node's HTTP only");
  return { req: node.req as IncomingMessage, res: node.res as ServerResponse };
}

/** Returns whether the handler starts after the body; it gets streams and forms while they arrive. */
function isReadWhole(spec: BodySpec | undefined): boolean {
  return spec !== undefined && (!("kind" in spec) || spec.kind === "whole_bytes");
}
