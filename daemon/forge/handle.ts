import type { AnyEndpoint, GateOf } from "../contract/endpoint.ts";
import type { AdmitInput, FormLimit, Route, RouteInput } from "../http/handle.ts";
import { type HandlerResult, type Serving, toRoutes } from "../http/serve.ts";
import type { ForgeCaller } from "./caller.ts";
import type { OpenedOf } from "./opened.ts";

type CallerOf<E extends AnyEndpoint> =
  GateOf<E> extends { admits: "anyone" } ? ForgeCaller | undefined : ForgeCaller;

type Input<E extends AnyEndpoint> = RouteInput<E, CallerOf<E>, OpenedOf<E>>;
type Admit<E extends AnyEndpoint> = (
  input: AdmitInput<E, CallerOf<E>, OpenedOf<E>>,
) => Promise<FormLimit | undefined>;

/**
 * Serves a resource of the forge. The gate of each endpoint determines the type of the caller, and its permission what
 * the handler gets as `opened`.
 */
export function serve<Endpoints extends Readonly<Record<string, AnyEndpoint>>>(
  resource: Endpoints,
  handlers: {
    readonly [K in keyof Endpoints]: Serving<
      (input: Input<Endpoints[K]>) => Promise<HandlerResult<Endpoints[K]>>,
      Admit<Endpoints[K]>
    >;
  },
): Route[] {
  return toRoutes(resource, handlers as Parameters<typeof toRoutes>[1]);
}

/** Serves some operations of a resource, as `serve` does; another room serves the others. */
export function serveSome<
  Endpoints extends Readonly<Record<string, AnyEndpoint>>,
  Names extends keyof Endpoints,
>(
  resource: Endpoints,
  handlers: {
    readonly [K in Names]: Serving<
      (input: Input<Endpoints[K]>) => Promise<HandlerResult<Endpoints[K]>>,
      Admit<Endpoints[K]>
    >;
  },
): Route[] {
  return toRoutes(resource, handlers as unknown as Parameters<typeof toRoutes>[1]);
}
