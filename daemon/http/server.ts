import type { IncomingMessage, ServerResponse } from "node:http";
import type { AppError } from "../errors.ts";
import type { Api, RenderedError, ServerRequest } from "./handle.ts";
import { type HostRefusal, rewriteAbsoluteTarget } from "./host-check.ts";
import { refusalHeaders, statusOfCode, toRefusal, writeAnswer } from "./replies.ts";
import { closeAfterUnreadBody } from "./request-body.ts";

/** One API with the handler of its routes. */
export interface MountedApi {
  readonly handle: PartHandler;
  // oxlint-disable-next-line typescript/no-explicit-any -- the caller type does not matter to the transport
  readonly api: Api<any>;
}

/** A page outside the APIs: health, metrics, documents. */
export type PlainRoute = (request: ServerRequest, response: ServerResponse) => Promise<void> | void;

export interface HandlerOptions<Name extends string> {
  /** A function opens an API at its first request. */
  readonly apis: Readonly<Record<Name, MountedApi | (() => MountedApi | Promise<MountedApi>)>>;
  /** Returns which of the APIs a path belongs to. */
  readonly apiOf: (path: string) => Name | undefined;
  /** Exact path to page; GET and HEAD only. A page takes precedence over an API. */
  readonly pages: ReadonlyMap<string, PlainRoute>;
  /** Returns the handler of a protocol without endpoints. It owns its path. */
  readonly handlerOf?: (path: string, message: IncomingMessage) => PartHandler | undefined;
  readonly checkHost: (request: IncomingMessage) => HostRefusal | undefined;
  readonly toServerRequest: (message: IncomingMessage, response: ServerResponse) => ServerRequest;
  readonly onRequest: (message: IncomingMessage, response: ServerResponse) => void;
  /** `request` is undefined when the failure has no response. */
  readonly onBug: (error: unknown, request: ServerRequest | undefined) => void;
}

export type NodeHandler = (message: IncomingMessage, response: ServerResponse) => void;

/**
 * Serves the requests of one part. A refusal that it throws before it answers, as when the part cannot be opened, becomes
 * the response; another throw or rejection is a bug, and the connection is then closed.
 */
export type PartHandler = (
  message: IncomingMessage,
  response: ServerResponse,
) => Promise<unknown> | void;

/**
 * Creates the handler of all requests: it checks host and origin and passes the request to the page or the API of its
 * path. One app per API and this switch, not one app mounted into another: h3 loses a mounted app's error bodies.
 */
export function createNodeHandler<Name extends string>(options: HandlerOptions<Name>): NodeHandler {
  const route = createRouter(options);
  return (message, response) => {
    const fail = (error: unknown) => {
      const refusal = toRefusal(error);
      if (refusal !== undefined && !response.headersSent) return refuseUnopened(response, refusal);
      response.destroy();
      options.onBug(error, undefined);
    };
    try {
      route(message, response)?.catch(fail);
    } catch (error) {
      fail(error);
    }
  };
}

function createRouter<Name extends string>(options: HandlerOptions<Name>): PartHandler {
  return (message, response) => {
    rewriteAbsoluteTarget(message);
    options.onRequest(message, response);
    const target = message.url ?? "/";
    const queryAt = target.indexOf("?");
    const pathname = queryAt === -1 ? target : target.slice(0, queryAt);
    const name = options.pages.has(pathname) ? undefined : options.apiOf(pathname);
    const entry = name === undefined ? undefined : options.apis[name];
    const mounted =
      typeof entry === "function" ? entry() : (entry satisfies MountedApi | undefined);
    const serve = (opened: MountedApi | undefined) =>
      serveOn(opened, message, response, target, pathname);
    return mounted instanceof Promise ? mounted.then(serve) : serve(mounted);
  };

  function serveOn(
    mounted: MountedApi | undefined,
    message: IncomingMessage,
    response: ServerResponse,
    target: string,
    pathname: string,
  ): ReturnType<PartHandler> {
    const api = mounted?.api;
    const refusal = options.checkHost(message);
    if (refusal !== undefined) {
      return refuse(response, refusal, api);
    }
    const protocol = options.handlerOf?.(pathname, message);
    if (protocol !== undefined) return protocol(message, response);
    if (mounted === undefined || api === undefined)
      return servePage(options, message, response, pathname);
    if (isMalformed(pathname)) {
      return refuse(response, { status: 400, message: `unable to unescape path ${pathname}` }, api);
    }
    if (hasDotSegment(pathname)) {
      const request = options.toServerRequest(message, response);
      return refuseEarly(response, api.notFound(request), api);
    }
    // A backslash is an ordinary character of a name; the router would take it for a slash.
    const literal = pathname.replaceAll("\\", "%5C");
    const path = api.normalizePath?.(literal) ?? literal;
    if (path !== pathname) message.url = path + target.slice(pathname.length);
    return mounted.handle(message, response);
  }
}

async function servePage(
  options: Pick<HandlerOptions<string>, "pages" | "toServerRequest" | "onBug">,
  message: IncomingMessage,
  response: ServerResponse,
  pathname: string,
): Promise<void> {
  const request = options.toServerRequest(message, response);
  const page = options.pages.get(pathname);
  closeAfterUnreadBody(message, response);
  try {
    if (page === undefined) writeAnswer(response, 404, TEXT, "404 page not found\n", "");
    else if (message.method === "GET" || message.method === "HEAD") await page(request, response);
    else
      writeAnswer(response, 405, { ...TEXT, Allow: "GET, HEAD" }, "405 method not allowed\n", "");
  } catch (error) {
    options.onBug(error, request);
    const headers = { ...TEXT, "X-Request-Id": request.id };
    writeAnswer(response, 500, headers, "Internal server error\n", "");
  }
}

const TEXT = {
  "Content-Type": "text/plain; charset=utf-8",
  "X-Content-Type-Options": "nosniff",
} as const;

function refuse(
  response: ServerResponse,
  { status, message }: { readonly status: 400 | 403 | 421; readonly message: string },
  api: MountedApi["api"] | undefined,
): void {
  const rendered = api?.renderEarlyRefusal(status, message);
  refuseEarly(response, rendered ?? { status, headers: {}, body: { detail: message } }, api);
}

/** Sends the refusal of a part that cannot be opened now. The form of its refusals is not loaded: the body fits all. */
function refuseUnopened(response: ServerResponse, refusal: AppError): void {
  const { code, message } = refusal;
  const body = { message, detail: message };
  const headers = refusalHeaders(refusal);
  refuseEarly(response, { status: statusOfCode[code], headers, body }, undefined);
}

/** Sends a refusal that is decided before any router sees the request. */
function refuseEarly(
  response: ServerResponse,
  { status, headers, body }: RenderedError,
  api: MountedApi["api"] | undefined,
): void {
  const all = {
    "X-Content-Type-Options": "nosniff",
    ...api?.headers,
    ...headers,
    Connection: "close",
  };
  writeAnswer(response, status, all, body, api?.jsonContentType ?? "application/json");
}

/**
 * Returns whether a path has a segment `.` or `..`, encoded or not. The router would resolve it: the name of an item or
 * a hook would become the connection or the repository that it belongs to.
 */
function hasDotSegment(pathname: string): boolean {
  return /\/(?:\.|%2e){1,2}(?:\/|$)/i.test(pathname);
}

/** Returns whether a path has invalid percent-encoding. */
function isMalformed(pathname: string): boolean {
  if (!pathname.includes("%")) return false;
  try {
    decodeURIComponent(pathname);
    return false;
  } catch {
    return true;
  }
}

/** Wraps the handler: answers requests with 503 and `Retry-After` until `open` is called. */
export function createDoor(handler: NodeHandler): {
  readonly handler: NodeHandler;
  readonly open: () => void;
} {
  let isOpen = false;
  return {
    handler: (message, response) => {
      if (isOpen) return handler(message, response);
      const headers = { "Retry-After": "1", "Content-Type": "text/plain", Connection: "close" };
      response.writeHead(503, headers).end("croft is starting\n");
    },
    open: () => {
      isOpen = true;
    },
  };
}
