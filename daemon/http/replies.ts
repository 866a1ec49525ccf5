import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { isDiskFull } from "../../storage/disk-full.ts";
import { StorageError } from "../../storage/engine/database.ts";
import { AppError, type ErrorCode } from "../errors.ts";
import type { AnswerHeaders, RenderedError } from "./handle.ts";

/** Code to status, for both APIs; a refusal with its own body keeps the status of its code. */
export const statusOfCode: Readonly<Record<ErrorCode, number>> = {
  invalid_argument: 400,
  invalid_credentials: 401,
  unauthenticated: 401,
  reauth_required: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  too_large: 413,
  unprocessable: 422,
  rate_limited: 429,
  provider_failed: 502,
  unavailable: 503,
  storage_full: 507,
};

/** The refusal that a failed statement, or a disk without room, amounts to; undefined when it is a bug. */
export function toRefusal(error: unknown): AppError | undefined {
  if (error instanceof AppError) return error;
  if (isDiskFull(error) || (error instanceof StorageError && error.code === "full"))
    return new AppError("storage_full", "The server's disk is full.", { cause: error });
  if (!(error instanceof StorageError)) return undefined;
  if (error.code === "busy" || error.code === "closed")
    return new AppError("unavailable", "The server is busy. Try again in a moment.", {
      cause: error,
      headers: { "Retry-After": "1" },
    });
  return undefined;
}

/** Headers as Node takes them at the least cost: names and values in turn. */
export type HeaderList = string[];

/** The headers of both parts; where both have a name, the second one's value counts. */
export function toHeaderList(first: AnswerHeaders, second: AnswerHeaders): HeaderList {
  const list: HeaderList = [];
  for (const name in first) if (!(name in second)) push(list, name, first[name] ?? "");
  for (const name in second) push(list, name, second[name] ?? "");
  return list;
}

function push(list: HeaderList, name: string, value: string | readonly string[]): void {
  if (typeof value === "string") list.push(name, value);
  else for (const each of value) list.push(name, each);
}

/** Writes a whole answer at once. `body` is sent as it stands when it is text, else as JSON. */
export function writeAnswer(
  response: ServerResponse,
  status: number,
  headers: AnswerHeaders,
  body: unknown,
  jsonContentType: string,
): void {
  // The client is gone, or the answer was begun before the failure: nothing can be said any more.
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  if (body === undefined) {
    if (status !== 204 && status !== 304) response.setHeader("Content-Length", 0);
    response.writeHead(status, headers as Record<string, string | string[]>).end();
    return;
  }
  // Text, not bytes: Node sends text together with the head in one write, and takes one object of headers as it is.
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const all: OutgoingHttpHeaders = { "Content-Length": Buffer.byteLength(text) };
  if (!hasContentType(headers)) all["Content-Type"] = jsonContentType;
  response.writeHead(status, Object.assign(all, headers));
  response.end(response.req.method === "HEAD" ? undefined : text);
}

function hasContentType(headers: AnswerHeaders): boolean {
  return "Content-Type" in headers || "content-type" in headers;
}

/** A rendered error with the headers of the refusal that it came from. */
export function withHeaders(
  rendered: RenderedError,
  more: AnswerHeaders | undefined,
): RenderedError {
  return more === undefined ? rendered : { ...rendered, headers: { ...rendered.headers, ...more } };
}

/** What the paging headers are made from: the request's address without its page, and where in the list it stands. */
export interface PageFacts {
  /** The absolute address of the list, without query. */
  readonly address: string;
  readonly query: URLSearchParams;
  readonly page: number;
  readonly limit: number;
  readonly total: number;
}

/** `Link`, `X-Total-Count` and their exposure, as forge lists carry them (forge behaviour, 4.2). */
export function pagingHeaders(style: "link_and_total" | "total", facts: PageFacts): AnswerHeaders {
  const link = style === "total" ? undefined : linkHeader(facts);
  return {
    "X-Total-Count": String(facts.total),
    ...(link === undefined ? {} : { Link: link }),
    "Access-Control-Expose-Headers": link === undefined ? "X-Total-Count" : "Link, X-Total-Count",
  };
}

function linkHeader({ address, query, page, limit, total }: PageFacts): string | undefined {
  const pages = Math.ceil(total / limit);
  // A page past the end counts as the last one.
  const current = Math.min(page, Math.max(pages, 1));
  const to = (target: number, relation: string) => {
    const sorted = new URLSearchParams(query);
    sorted.set("page", String(target));
    sorted.sort();
    return `<${address}?${sorted.toString()}>; rel="${relation}"`;
  };
  const links = [
    ...(current < pages ? [to(current + 1, "next"), to(pages, "last")] : []),
    ...(current > 1 ? [to(1, "first"), to(current - 1, "prev")] : []),
  ];
  return links.length === 0 ? undefined : links.join(",");
}
