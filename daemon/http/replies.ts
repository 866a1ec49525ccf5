import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { isDiskFull, isOutOfFiles } from "../../storage/system-errors.ts";
import { StorageError } from "../../storage/engine/database.ts";
import { type Endpoint, schemaOf } from "../contract/endpoint.ts";
import { AppError, type ErrorCode } from "../errors.ts";
import type { Validators } from "./conditional.ts";
import type { AnswerHeaders } from "./handle.ts";

/** The status of each code, in both APIs. */
export const statusOfCode: Readonly<Record<ErrorCode, number>> = {
  invalid_argument: 400,
  invalid_credentials: 401,
  unauthenticated: 401,
  reauth_required: 401,
  forbidden: 403,
  archived: 423,
  not_found: 404,
  moved: 307,
  timed_out: 408,
  conflict: 409,
  precondition_failed: 412,
  not_mergeable: 405,
  too_large: 413,
  unsupported_type: 415,
  unprocessable: 422,
  rate_limited: 429,
  provider_failed: 502,
  unavailable: 503,
  storage_full: 507,
};

const RETRY_AFTER_SECONDS = 1;

/** Returns an error as a refusal: a full disk, a busy database, a system without file descriptors; undefined for a bug. */
export function toRefusal(error: unknown): AppError | undefined {
  if (error instanceof AppError) return error;
  if (isDiskFull(error))
    return new AppError("storage_full", "The server's disk is full.", { cause: error });
  const isBusy =
    error instanceof StorageError && ["busy", "closed", "detached"].includes(error.code);
  if (isBusy || isOutOfFiles(error))
    return new AppError("unavailable", "The server is busy. Try again in a moment.", {
      cause: error,
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    });
  return undefined;
}

/** Returns the headers that follow from a refusal's data in every API. */
export function refusalHeaders({ data }: AppError): Record<string, string> {
  if (data.retryAfterSeconds === undefined) return {};
  const seconds = String(data.retryAfterSeconds);
  if (data.rateLimit === undefined) return { "Retry-After": seconds };
  return {
    "Retry-After": seconds,
    "RateLimit-Limit": String(data.rateLimit),
    "RateLimit-Remaining": "0",
    "RateLimit-Reset": seconds,
  };
}

/** Returns the headers that identify a version of a response. */
export function validatorHeaders({ etag, lastModified }: Validators): Record<string, string> {
  return {
    ...(etag === undefined ? {} : { ETag: etag }),
    ...(lastModified === undefined ? {} : { "Last-Modified": lastModified.toUTCString() }),
  };
}

/** Headers as Node takes them at the least cost: names and values alternating. */
export type HeaderList = string[];

/** Merges headers; the second part's value wins. */
export function toHeaderList(first: AnswerHeaders, second: AnswerHeaders): HeaderList {
  const list: HeaderList = [];
  for (const name in first) if (!(name in second)) push(list, name, first[name] ?? "");
  for (const name in second) push(list, name, second[name] ?? "");
  return list;
}

function push(list: HeaderList, name: string, value: string | readonly string[]): void {
  if (typeof value === "string") list.push(name, value);
  else for (const item of value) list.push(name, item);
}

/** Writes a whole response. A text `body` is sent as it is, anything else as JSON. */
export function writeAnswer(
  response: ServerResponse,
  status: number,
  headers: AnswerHeaders,
  body: unknown,
  jsonContentType: string,
): void {
  // The client disconnected, or the response had started before the failure.
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

/** One page of a list, as the paging headers describe it. */
export interface PageDetails {
  /** The absolute address of the list, without query. */
  readonly address: string;
  readonly query: URLSearchParams;
  readonly page: number;
  readonly limit: number;
  readonly total: number;
}

/** `Link`, `X-Total-Count` and their exposure, as forge lists carry them. */
export function pagingHeaders(style: "link_and_total" | "total", page: PageDetails): AnswerHeaders {
  const link = style === "total" ? undefined : linkHeader(page);
  return {
    "X-Total-Count": String(page.total),
    ...(link === undefined ? {} : { Link: link }),
    "Access-Control-Expose-Headers": link === undefined ? "X-Total-Count" : "Link, X-Total-Count",
  };
}

function linkHeader({ address, query, page, limit, total }: PageDetails): string | undefined {
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

/** Returns the body of a reply. Throws when the endpoint does not declare the status, or the body breaks its schema. */
export function checkReply(declared: Endpoint, status: number, body: unknown): unknown {
  const reply = declared.replies[status];
  if (reply === undefined)
    throw new Error(`${declared.name} answers ${status}, which it does not declare`);
  const result = schemaOf(reply)?.safeParse(body);
  if (result !== undefined && !result.success)
    throw new Error(
      `${declared.name} answers ${status} against its schema: ${result.error.message}`,
    );
  return body;
}
