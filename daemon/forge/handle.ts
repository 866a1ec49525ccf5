import type { AnyEndpoint, GateOf } from "../contract/endpoint.ts";
import type { Route, RouteAnswer, RouteInput } from "../http/handle.ts";
import { AppError } from "../errors.ts";
import type { ForgeCaller } from "./caller.ts";
import { isMoved, keptQuery, movedTo } from "./refusals.ts";

type CallerOf<E extends AnyEndpoint> =
  GateOf<E> extends { who: "anyone" } ? ForgeCaller | undefined : ForgeCaller;

/**
 * Joins a forge endpoint to its handler; the caller is typed by the endpoint's gate. What the handler answers with the
 * address that a repository has by now gets the query of the request.
 */
export function handle<E extends AnyEndpoint>(
  declared: E,
  handler: (input: RouteInput<E, CallerOf<E>>) => Promise<RouteAnswer<E>>,
): Route {
  if (!declared.path.includes("/:repo")) return { endpoint: declared, handler };
  return {
    endpoint: declared,
    handler: (input) =>
      handler(input).catch((error: unknown) => {
        throw withQuery(error, input.request.target);
      }),
  };
}

function withQuery(error: unknown, target: string): unknown {
  if (!(error instanceof AppError) || !isMoved(error.body)) return error;
  const location = error.headers?.["Location"] ?? "";
  return location.includes("?") ? error : movedTo(location + keptQuery(target));
}
