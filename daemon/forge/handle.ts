import type { AnyEndpoint, GateOf } from "../contract/endpoint.ts";
import type { AdmitInput, FormLimit, Route, RouteAnswer, RouteInput } from "../http/handle.ts";
import type { ForgeCaller } from "./caller.ts";

type CallerOf<E extends AnyEndpoint> =
  GateOf<E> extends { admits: "anyone" } ? ForgeCaller | undefined : ForgeCaller;

/** Binds a forge endpoint to its handler; the endpoint's gate determines the type of the caller. */
export function handle<E extends AnyEndpoint>(
  declared: E,
  handler: (input: RouteInput<E, CallerOf<E>>) => Promise<RouteAnswer<E>>,
  admit?: (input: AdmitInput<E, CallerOf<E>>) => Promise<FormLimit | undefined>,
): Route {
  return { endpoint: declared, handler, admit };
}
