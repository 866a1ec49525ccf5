import type { ServerRequest } from "../../http/handle.ts";
import type { ForgeCaller } from "../caller.ts";
import type { RepositoryPath } from "../repositories/repositories.service.ts";

/**
 * Returns the request of a service for the input of a route.
 * @param rest the address below the repository, for the redirect from a former name
 */
export function toCodeRequest<Caller extends ForgeCaller | undefined>(
  {
    params,
    caller,
    request,
  }: {
    readonly params: RepositoryPath;
    readonly caller: Caller;
    readonly request: ServerRequest;
  },
  rest: string,
) {
  const path = { owner: params.owner, repo: params.repo };
  return { path, caller, rest, address: request.address, signal: request.signal };
}
