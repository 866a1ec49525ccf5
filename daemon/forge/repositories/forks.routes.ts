import { forkEndpoints } from "../../contract/forge/repositories/forks.ts";
import type { Route } from "../../http/handle.ts";
import { page } from "../../http/serve.ts";
import { serve } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import type { Forks } from "./forks.service.ts";
import { toRepositoryView } from "./repository.view.ts";

/** Routes of the forks of repositories. */
export function forkRoutes({
  forks,
  urls,
}: {
  readonly forks: Forks;
  readonly urls: ForgeUrls;
}): Route[] {
  return serve(forkEndpoints, {
    listForks: async ({ opened, query, caller }) => {
      const { repositories, total } = await forks.list(opened, query, caller);
      return page(
        repositories.map((details) => toRepositoryView(details, urls)),
        total,
      );
    },
    createFork: async ({ opened, body, caller, request }) => {
      const options = { organization: body.organization ?? "", name: body.name ?? "" };
      return toRepositoryView(await forks.create(opened, options, caller, request.signal), urls);
    },
  });
}
