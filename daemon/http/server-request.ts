import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import type { ServerRequest } from "./handle.ts";

const ID_LENGTH = 20;

/** Creates the factory of request values; `addressOf` applies the proxy rule. */
export function createServerRequest(
  addressOf: (message: IncomingMessage) => string,
): (message: IncomingMessage, response: ServerResponse) => ServerRequest {
  return (message, response) => new NodeServerRequest(message, response, addressOf);
}

/**
 * A class and not an object literal with accessors, each of which would get a hidden class of its own and burden the
 * garbage collector. Values that few requests need are computed on first use.
 */
class NodeServerRequest implements ServerRequest {
  readonly startedAt = performance.now();
  readonly method: string;
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
  readonly #message: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #addressOf: (message: IncomingMessage) => string;
  #id: string | undefined = undefined;
  #address: string | undefined = undefined;
  #query: URLSearchParams | undefined = undefined;
  #controller: AbortController | undefined = undefined;

  constructor(
    message: IncomingMessage,
    response: ServerResponse,
    addressOf: (message: IncomingMessage) => string,
  ) {
    this.method = message.method ?? "GET";
    this.target = message.url ?? "/";
    this.headers = message.headers;
    this.body = message;
    this.#message = message;
    this.#response = response;
    this.#addressOf = addressOf;
  }

  get id(): string {
    return (this.#id ??= randomUUID().replaceAll("-", "").slice(0, ID_LENGTH));
  }

  get address(): string {
    return (this.#address ??= this.#addressOf(this.#message));
  }

  get query(): URLSearchParams {
    return (this.#query ??= new URLSearchParams(queryText(this.target)));
  }

  get signal(): AbortSignal {
    return (this.#controller ??= abortWith(this.#response)).signal;
  }
}

/** Returns a controller that aborts when the client disconnects before it has the whole response. */
function abortWith(response: ServerResponse): AbortController {
  const controller = new AbortController();
  if (response.destroyed && !response.writableFinished) controller.abort();
  response.once("close", () => {
    if (!response.writableFinished) controller.abort();
  });
  return controller;
}

function queryText(target: string): string {
  const mark = target.indexOf("?");
  return mark === -1 ? "" : target.slice(mark + 1);
}
