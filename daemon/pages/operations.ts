import type { AnyEndpoint, AnswerOf, Endpoint } from "../contract/endpoint.ts";
import { AppError } from "../errors.ts";
import type { Api, BytesAnswer, Route, ServerRequest } from "../http/handle.ts";

/** The input of an operation. Values are text, as in a query. */
export interface OperationInput {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
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

/**
 * Returns a function that calls the handlers of the API behind its gates. A page shows exactly what the API returns to
 * the same caller, so authorization exists in one place.
 */
export function createOperations<Caller>(
  api: Pick<Api<Caller>, "authorize">,
  routes: readonly Route[],
): (request: ServerRequest, caller: Caller | undefined) => CallOperation {
  const byName = new Map(routes.map((route) => [route.endpoint.name, route]));
  return (request, caller) =>
    async (declared, { params = {}, query = {}, body } = {}) => {
      const route = byName.get(declared.name);
      if (route === undefined) throw new Error(`no route is called ${declared.name}`);
      const raw = Object.fromEntries(
        Object.entries(params).map(([name, value]) => [name, encodeURIComponent(value)]),
      );
      const opened = await api.authorize(caller, declared as Endpoint, request, raw);
      const answer = await route.handler({
        caller,
        opened,
        params: parse(declared.params, params),
        query: parse(declared.query, query),
        body: parse(declared.body, body),
        request,
      });
      return answer as OperationAnswer<typeof declared>;
    };
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

function parse(schema: unknown, value: unknown): unknown {
  if (schema === undefined || !isSchema(schema)) return undefined;
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new AppError("unprocessable", "a value of the page is invalid");
  return parsed.data;
}

interface Schema {
  safeParse(
    value: unknown,
  ): { readonly success: true; readonly data: unknown } | { readonly success: false };
}

const isSchema = (schema: unknown): schema is Schema =>
  typeof schema === "object" && schema !== null && "safeParse" in schema;
