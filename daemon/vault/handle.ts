import type { AnyEndpoint, GateOf } from "../contract/endpoint.ts";
import type { AdmitInput, FormLimit, Route, RouteAnswer, RouteInput } from "../http/handle.ts";
import { type HandlerResult, type Serving, toRoutes } from "../http/serve.ts";
import type { VaultCaller } from "./caller.ts";

type CallerOf<E extends AnyEndpoint> =
  GateOf<E> extends { admits: "anyone" | "vault_upload_address" }
    ? VaultCaller | undefined
    : VaultCaller;

type Admit<E extends AnyEndpoint> = (
  input: AdmitInput<E, CallerOf<E>>,
) => Promise<FormLimit | undefined>;

/** Serves a resource of the vault; the caller is typed by the gate of each endpoint. */
export function serve<Endpoints extends Readonly<Record<string, AnyEndpoint>>>(
  resource: Endpoints,
  handlers: {
    readonly [K in keyof Endpoints]: Serving<
      (
        input: RouteInput<Endpoints[K], CallerOf<Endpoints[K]>>,
      ) => Promise<HandlerResult<Endpoints[K]>>,
      Admit<Endpoints[K]>
    >;
  },
): Route[] {
  return toRoutes(resource, handlers as Parameters<typeof toRoutes>[1]);
}

/** Joins a vault endpoint to its handler; the caller is typed by the endpoint's gate. */
export function handle<E extends AnyEndpoint>(
  declared: E,
  handler: (input: RouteInput<E, CallerOf<E>>) => Promise<RouteAnswer<E>>,
  admit?: Admit<E>,
): Route {
  return { endpoint: declared, handler, admit };
}
