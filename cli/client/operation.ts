// cli/client: sends requests to the daemon: operations, transports, credentials, the vault session, errors of
// responses. Start with client.ts; operations.ts lists the operations, transport.ts sends, authorize.ts adds the
// credentials.
import type {
  AnyEndpoint,
  InputOf as EndpointInput,
  Method,
} from "../../daemon/contract/endpoint.ts";

/** The part of an endpoint value that sending a request takes, without the schemas, whose loading takes long. */
export interface Operation<E extends AnyEndpoint> {
  readonly name: string;
  readonly method: Method;
  readonly path: E["path"];
  /** Exists in types only: carries the endpoint's inputs and responses. */
  readonly endpoint?: E;
}

/** An operation of any shape. */
export interface AnyOperation {
  readonly name: string;
  readonly method: Method;
  readonly path: string;
}

/** Params, query and body of an operation: `InputOf<typeof forge.listUsers>`. */
export type InputOf<O> = O extends Operation<infer E> ? EndpointInput<E> : never;
