// cli/client: sends requests to the daemon: operations, transports, credentials, the vault session, errors of
// responses. Start with client.ts; operations.ts lists the operations, transport.ts sends, authorize.ts adds the
// credentials.
import type {
  forge as forgeEndpoints,
  vault as vaultEndpoints,
} from "../../daemon/contract/all.ts";
import table from "./operations.json" with { type: "json" };
import type {
  AnyEndpoint,
  InputOf as EndpointInput,
  Method,
} from "../../daemon/contract/endpoint.ts";

/** The operations of endpoints, under the same names. */
type Operations<Endpoints> = {
  readonly [K in keyof Endpoints]: Endpoints[K] extends AnyEndpoint
    ? Operation<Endpoints[K]>
    : never;
};

// `test/cli/operations.test.ts -u` writes the table from the endpoints. These are types here, because their schemas take
// longer to load than a whole command does: 50 ms for zod and another 65 ms for the contract of the forge's users, from
// sources. The build turns the table into an object literal, which costs nothing; parsing lines into it took 4 ms of 65.

/** The operations of the forge, as the contract declares them. */
export const forge = table.forge as unknown as Operations<typeof forgeEndpoints>;

/** The operations of the vault, as the contract declares them. */
export const vault = table.vault as unknown as Operations<typeof vaultEndpoints>;

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
