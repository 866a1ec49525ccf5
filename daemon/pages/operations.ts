import type { AnyEndpoint, AnswerOf, Endpoint } from "../contract/endpoint.ts";
import type { IncomingHttpHeaders } from "node:http";
import type { z } from "zod";
import { describeIssue } from "../contract/issue-text.ts";
import { AppError } from "../errors.ts";
import type { RateLimiter } from "../http/bind.ts";
import type { Api, BytesAnswer, Route, ServerRequest } from "../http/handle.ts";

/** The input of an operation. Values are text, as in a query. */
export interface OperationInput {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Headers, in lower case, that replace those of the page's request; undefined leaves one out. */
  readonly headers?: IncomingHttpHeaders;
}

/** The response of an operation, with the count of all matches of a list. */
export type OperationAnswer<E extends AnyEndpoint> = SuccessOf<AnswerOf<E>> & {
  readonly total?: number;
  readonly headers?: Readonly<Record<string, string>>;
};

type SuccessOf<A> = A extends { status: 200 | 201 | 202 | 204 | 205 | 302 } ? A : never;

/** Calls an operation of the API on behalf of one request. Throws the refusals of the operation. */
export type CallOperation = <E extends AnyEndpoint>(
  declared: E,
  input?: OperationInput,
) => Promise<OperationAnswer<E>>;

/** Counts a call against the limit of its operation. Throws `rate_limited`. */
export type CountCall = (
  declared: Pick<Endpoint, "name" | "limit">,
  request: ServerRequest,
) => Promise<void>;

/**
 * Counts calls of operations that are limited by address, together with those of the API's clients. Limits by account
 * do not apply: pages have their own.
 */
export function createAddressCount(
  limiter: Pick<RateLimiter, "consume" | "addressKey">,
): CountCall {
  return async ({ name, limit }, { address }) => {
    if (limit?.key !== "address") return;
    const counted = await limiter.consume(`${name}:a:${limiter.addressKey(address)}`, limit);
    if (counted.allowed) return;
    const seconds = counted.resetSeconds;
    throw new AppError("rate_limited", `Too many requests. Try again in ${seconds} seconds.`, {
      retryAfterSeconds: seconds,
    });
  };
}

/**
 * Returns a function that calls the handlers of the API behind its gates. A page shows exactly what the API returns to
 * the same caller, so authorization exists in one place.
 */
export function createOperations<Caller>(
  api: Pick<Api<Caller>, "authorize">,
  routes: readonly Route[],
  count?: CountCall,
): (request: ServerRequest, caller: Caller | undefined) => CallOperation {
  const byName = new Map(routes.map((route) => [route.endpoint.name, route]));
  return (request, caller) =>
    async (declared, { params = {}, query = {}, body, headers } = {}) => {
      const route = byName.get(declared.name);
      if (route === undefined) throw new Error(`no route is called ${declared.name}`);
      await count?.(route.endpoint as Endpoint, request);
      const raw = Object.fromEntries(
        Object.entries(params).map(([name, value]) => [name, encodeURIComponent(value)]),
      );
      const opened = await api.authorize(caller, declared as Endpoint, request, raw);
      const answer = await route.handler({
        caller,
        opened,
        params: parse(declared.params, params, "not_found"),
        query: parse(declared.query, query),
        body: isSchema(declared.body) ? parse(declared.body, body) : body,
        request: headers === undefined ? request : withHeaders(request, headers),
      });
      return answer as OperationAnswer<typeof declared>;
    };
}

/** Returns a request with some headers replaced. */
export function withHeaders(
  { id, startedAt, method, target, address, query, signal, body, headers }: ServerRequest,
  replaced: IncomingHttpHeaders,
): ServerRequest {
  const own = { ...headers, ...replaced };
  return { id, startedAt, method, target, address, query, signal, body, headers: own };
}

/** Reads the beginning of an operation's bytes as UTF-8. */
export async function readText(
  call: CallOperation,
  declared: AnyEndpoint,
  input: OperationInput,
  bytesMax: number,
): Promise<{ readonly text: string; readonly isWhole: boolean }> {
  const { bytes: source } = (await call(declared, input)) as unknown as BytesAnswer;
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    const stream = await source.open();
    // Leaving the loop early destroys the stream, which stops git.
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.byteLength;
      if (size > bytesMax) break;
    }
  } finally {
    source.release?.();
  }
  const text = Buffer.concat(chunks).subarray(0, bytesMax).toString("utf8");
  return { text, isWhole: size <= bytesMax };
}

function parse(
  schema: unknown,
  value: unknown,
  /** An address whose values are invalid has no page. */
  code: "not_found" | "unprocessable" = "unprocessable",
): unknown {
  if (schema === undefined || !isSchema(schema)) return undefined;
  const parsed = schema.safeParse(value, { error: describeIssue });
  if (parsed.success) return parsed.data;
  const reasons = parsed.error.issues.map(({ message }) => message);
  throw new AppError(code, [...new Set(reasons)].join(". "));
}

type Schema = Pick<z.ZodType, "safeParse">;

const isSchema = (schema: unknown): schema is Schema =>
  typeof schema === "object" && schema !== null && "safeParse" in schema;
