import type { z } from "zod";
import { schemaOf, type AnyEndpoint, type Endpoint } from "../../daemon/contract/endpoint.ts";
import { AppError } from "../../daemon/errors.ts";
import { refusalHeaders, statusOfCode } from "../../daemon/http/replies.ts";
import type { Route, ServerRequest } from "../../daemon/http/handle.ts";
import type { VaultCaller } from "../../daemon/vault/caller.ts";

/** The response of a route, refusals included. */
export interface RouteReply {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  readonly body: any;
  readonly headers: Readonly<Record<string, unknown>>;
}

/**
 * Calls the handler of one endpoint without HTTP: parses the input and checks the response with the declared schemas.
 * Returns bytes unchanged (`body.bytes`).
 */
export async function callRoute(
  routes: readonly Route[],
  endpoint: AnyEndpoint,
  caller: VaultCaller,
  input: { readonly params?: object; readonly query?: object; readonly body?: unknown } = {},
): Promise<RouteReply> {
  const declared = endpoint as Endpoint;
  const route = routes.find((one) => one.endpoint.name === declared.name);
  if (route === undefined) throw new Error(`no route for ${declared.name}`);
  const parse = (schema: z.ZodType | undefined, value: unknown) => schema?.parse(value);
  const isSchema = declared.body !== undefined && !("kind" in declared.body);
  try {
    const answer = await route.handler({
      caller,
      opened: undefined,
      params: parse(declared.params, input.params ?? {}),
      query: parse(declared.query, input.query ?? {}),
      body: isSchema ? parse(declared.body as z.ZodType, input.body) : input.body,
      request: { headers: {} } as ServerRequest,
    });
    if ("bytes" in answer) return { status: 200, body: answer, headers: answer.headers ?? {} };
    const reply = declared.replies[answer.status];
    if (reply === undefined)
      throw new Error(`${declared.name} answers ${answer.status} undeclared`);
    const body: unknown = schemaOf(reply)?.parse(answer.body) ?? answer.body;
    return { status: answer.status, body, headers: answer.headers ?? {} };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const body = { detail: error.data.failures ?? error.message };
    return { status: statusOfCode[error.code], body, headers: refusalHeaders(error) };
  }
}
