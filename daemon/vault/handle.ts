import type { AnyEndpoint, GateOf } from "../contract/endpoint.ts";
import type { AdmitInput, FormLimit, Route, RouteAnswer, RouteInput } from "../http/handle.ts";
import type { VaultCaller } from "./caller.ts";

type CallerOf<E extends AnyEndpoint> =
  GateOf<E> extends { admits: "anyone" | "vault_upload_address" }
    ? VaultCaller | undefined
    : VaultCaller;

/** Joins a vault endpoint to its handler; the caller is typed by the endpoint's gate. */
export function handle<E extends AnyEndpoint>(
  declared: E,
  handler: (input: RouteInput<E, CallerOf<E>>) => Promise<RouteAnswer<E>>,
  admit?: (input: AdmitInput<E, CallerOf<E>>) => Promise<FormLimit | undefined>,
): Route {
  return { endpoint: declared, handler, admit };
}
