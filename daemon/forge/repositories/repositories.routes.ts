import { createRepository } from "../../contract/forge/repositories/admin-repositories.ts";
import {
  deleteRepository,
  editRepository,
  getRepository,
  listOwnRepositories,
} from "../../contract/forge/repositories/repositories.ts";
import {
  adoptRepository,
  deleteUnadopted,
  listUnadopted,
} from "../../contract/forge/repositories/unadopted.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import { toRepositoryEdits, toWantedRepository } from "./repository-requests.view.ts";
import type { Repositories } from "./repositories.service.ts";
import { toRepositoryView } from "./repository.view.ts";
import type { Unadopted } from "./unadopted.service.ts";

/** Routes of repositories and of those that lie on disk without a record. */
export function repositoryRoutes({
  repositories,
  unadopted,
  urls,
}: {
  readonly repositories: Repositories;
  readonly unadopted: Unadopted;
  readonly urls: ForgeUrls;
}): Route[] {
  return [
    handle(createRepository, async ({ caller, params, body }) => ({
      status: 201,
      body: toRepositoryView(
        await repositories.create(params.username, toWantedRepository(body), caller.user),
        urls,
      ),
    })),
    handle(getRepository, async ({ caller, params }) => ({
      status: 200,
      body: toRepositoryView(await repositories.get(params.owner, params.repo, caller), urls),
    })),
    handle(editRepository, async ({ caller, params, body }) => ({
      status: 200,
      body: toRepositoryView(
        await repositories.edit(params.owner, params.repo, toRepositoryEdits(body), caller),
        urls,
      ),
    })),
    handle(deleteRepository, async ({ caller, params }) => {
      await repositories.remove(params.owner, params.repo, caller);
      return { status: 204 };
    }),
    handle(listOwnRepositories, async ({ caller, query }) => {
      const { repositories: page, total } = await repositories.listOwn(caller, query);
      return { status: 200, body: page.map((each) => toRepositoryView(each, urls)), total };
    }),
    handle(listUnadopted, async ({ query }) => {
      const { names, total } = await unadopted.list(query.query, query);
      return { status: 200, body: [...names], total };
    }),
    handle(adoptRepository, async ({ caller, params }) => {
      await unadopted.adopt(params.owner, params.repo, caller.user);
      return { status: 204 };
    }),
    handle(deleteUnadopted, async ({ params }) => {
      await unadopted.remove(params.owner, params.repo);
      return { status: 204 };
    }),
  ];
}
