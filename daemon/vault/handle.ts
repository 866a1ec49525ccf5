import type { AnyEndpoint, GateOf } from "../contract/endpoint.ts";
import type { AdmitInput, FormLimit, Route, RouteInput } from "../http/handle.ts";
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

/** Serves some operations of a resource, as `serve` does; another room serves the others. */
export function serveSome<
  Endpoints extends Readonly<Record<string, AnyEndpoint>>,
  Names extends keyof Endpoints,
>(
  resource: Endpoints,
  handlers: {
    readonly [K in Names]: Serving<
      (
        input: RouteInput<Endpoints[K], CallerOf<Endpoints[K]>>,
      ) => Promise<HandlerResult<Endpoints[K]>>,
      Admit<Endpoints[K]>
    >;
  },
): Route[] {
  return toRoutes(resource, handlers as unknown as Parameters<typeof toRoutes>[1]);
}
