// cli/client: requests to the daemon: operations, transports, credentials, the vault session, errors from answers.
// May import: the types of daemon/contract (never its values: they load zod), errors, system.
// Start with client.ts; operation.ts says what is called, transport.ts how, authorize.ts with which credentials.
import type { AnyEndpoint, Method } from "../../daemon/contract/endpoint.ts";

/**
 * The light half of an endpoint: enough to send a request, without the schemas, so that a command starts without
 * loading them. The compiler compares the path with the endpoint's, a test name and method.
 */
export interface Operation<E extends AnyEndpoint> {
  readonly name: string;
  readonly method: Method;
  readonly path: E["path"];
  /** Only a type: carries the endpoint's inputs and answers. */
  readonly endpoint?: E;
}

/** An operation of any shape. */
export interface AnyOperation {
  readonly name: string;
  readonly method: Method;
  readonly path: string;
}

/** Names an endpoint of the contract: `operation<typeof listUsers>("forge.admin.users.list", "GET", "/api/v1/…")`. */
export function operation<E extends AnyEndpoint>(
  name: string,
  method: E["method"],
  path: E["path"],
): Operation<E> {
  return { name, method, path };
}
