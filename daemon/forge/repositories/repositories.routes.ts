import type { BodyOf } from "../../contract/endpoint.ts";
import { newRepositoryEndpoints } from "../../contract/forge/repositories/new-repositories.ts";
import { repositoryListEndpoints } from "../../contract/forge/repositories/lists.ts";
import { repositoryEndpoints } from "../../contract/forge/repositories/repositories.ts";
import { unadoptedEndpoints } from "../../contract/forge/repositories/unadopted.ts";
import { transferEndpoints } from "../../contract/forge/repositories/transfers.ts";
import type { Route } from "../../http/handle.ts";
import { handle } from "../handle.ts";
import type { ForgeUrls } from "../urls.ts";
import type { CreateRepositoryOptions } from "./create-repository.ts";
import type { RepositoryEdits } from "./edit-repository.ts";
import type { RepositoryLists, RepositoryPage } from "./repository-lists.service.ts";
import { toRepositorySearch } from "./repository-search.view.ts";
import type { Repositories } from "./repositories.service.ts";
import { toRepositoryView } from "./repository.view.ts";
import type { GenerateOptions, GenerateRepository } from "./templates/generate.service.ts";
import type { Transfers } from "./transfers.service.ts";
import type { Unadopted } from "./unadopted.service.ts";

/** Routes of repositories, of their transfers, and of repositories on disk without a row. */
export function repositoryRoutes({
  repositories,
  lists,
  transfers,
  unadopted,
  generate,
  urls,
}: {
  readonly repositories: Repositories;
  readonly generate: GenerateRepository;
  readonly lists: RepositoryLists;
  readonly transfers: Transfers;
  readonly unadopted: Unadopted;
  readonly urls: ForgeUrls;
}): Route[] {
  return [
    handle(newRepositoryEndpoints.createRepository, async ({ caller, params, body }) => ({
      status: 201,
      body: toRepositoryView(
        await repositories.create(params.username, toCreateOptions(body), caller.user),
        urls,
      ),
    })),
    handle(newRepositoryEndpoints.createOwnRepository, async ({ caller, body }) => ({
      status: 201,
      body: toRepositoryView(await repositories.createOwn(toCreateOptions(body), caller), urls),
    })),
    ...[
      newRepositoryEndpoints.createOrganizationRepository,
      newRepositoryEndpoints.createOrganizationRepositoryFormerly,
    ].map((declared) =>
      handle(declared, async ({ opened, caller, body }) => ({
        status: 201,
        body: toRepositoryView(
          await repositories.createInOrganization(opened, toCreateOptions(body), caller),
          urls,
        ),
      })),
    ),
    handle(
      newRepositoryEndpoints.generateRepository,
      async ({ opened, caller, body, request }) => ({
        status: 201,
        body: toRepositoryView(
          await generate(opened, toGenerateOptions(body), caller, request.signal),
          urls,
        ),
      }),
    ),
    handle(repositoryEndpoints.getRepository, async ({ caller, params }) => ({
      status: 200,
      body: toRepositoryView(await repositories.get(params.owner, params.repo, caller), urls),
    })),
    handle(repositoryEndpoints.getRepositoryById, async ({ caller, params }) => ({
      status: 200,
      body: toRepositoryView(await repositories.getById(params.id, caller), urls),
    })),
    handle(repositoryEndpoints.editRepository, async ({ caller, params, body }) => ({
      status: 200,
      body: toRepositoryView(
        await repositories.edit(params.owner, params.repo, toRepositoryEdits(body), caller),
        urls,
      ),
    })),
    handle(repositoryEndpoints.deleteRepository, async ({ caller, params }) => {
      await repositories.remove(params.owner, params.repo, caller);
      return { status: 204 };
    }),
    handle(repositoryListEndpoints.listOwnRepositories, async ({ caller, query }) =>
      toPage(await lists.listOwn(caller, query)),
    ),
    handle(repositoryListEndpoints.listUserRepositories, async ({ caller, params, query }) =>
      toPage(await lists.listOf(params.username, query, caller)),
    ),
    handle(
      repositoryListEndpoints.listOrganizationRepositories,
      async ({ opened, caller, query }) =>
        toPage(await lists.listOfOrganization(opened, query, caller)),
    ),
    handle(repositoryListEndpoints.searchRepositories, async ({ caller, query }) => {
      const search = toRepositorySearch(query);
      const { body, total } = toPage(
        search === undefined
          ? { repositories: [], total: 0 }
          : await lists.search(search, query, caller),
      );
      return { status: 200, body: { ok: true, data: body }, total };
    }),
    handle(transferEndpoints.transferRepository, async ({ caller, params, body }) => {
      const transfer = { newOwner: body.new_owner, teamIds: body.team_ids ?? [] };
      const { details, isPending } = await transfers.start(params, caller, transfer);
      return { status: isPending ? 201 : 202, body: toRepositoryView(details, urls) };
    }),
    handle(transferEndpoints.acceptTransfer, async ({ caller, params }) => ({
      status: 202,
      body: toRepositoryView(await transfers.accept(params, caller), urls),
    })),
    handle(transferEndpoints.rejectTransfer, async ({ caller, params }) => ({
      status: 200,
      body: toRepositoryView(await transfers.reject(params, caller), urls),
    })),
    handle(unadoptedEndpoints.listUnadopted, async ({ query }) => {
      const { names, total } = await unadopted.list(query.query, query);
      return { status: 200, body: [...names], total };
    }),
    handle(unadoptedEndpoints.adoptRepository, async ({ caller, params }) => {
      await unadopted.adopt(params.owner, params.repo, caller.user);
      return { status: 204 };
    }),
    handle(unadoptedEndpoints.deleteUnadopted, async ({ params }) => {
      await unadopted.remove(params.owner, params.repo);
      return { status: 204 };
    }),
  ];

  function toPage({ repositories: page, total }: RepositoryPage) {
    return {
      status: 200 as const,
      body: page.map((details) => toRepositoryView(details, urls)),
      total,
    };
  }
}

/** Converts the body of a creation; absent members get their defaults. */
function toCreateOptions(
  body: BodyOf<typeof newRepositoryEndpoints.createRepository>,
): CreateRepositoryOptions {
  return {
    name: body.name,
    description: body.description ?? "",
    isPrivate: body.private ?? false,
    isTemplate: body.template ?? false,
    issueLabels: body.issue_labels ?? "",
    autoInit: body.auto_init ?? false,
    gitignores: body.gitignores ?? "",
    license: body.license ?? "",
    readme: body.readme ?? "",
    defaultBranch: body.default_branch ?? "",
    trustModel: body.trust_model ?? "",
    objectFormat: body.object_format_name ?? "",
  };
}

/** Converts the body of a generation; absent members get their defaults. */
function toGenerateOptions(
  body: BodyOf<typeof newRepositoryEndpoints.generateRepository>,
): GenerateOptions {
  return {
    owner: body.owner ?? "",
    name: body.name,
    description: body.description ?? "",
    isPrivate: body.private ?? false,
    defaultBranch: body.default_branch ?? "",
    takes: {
      content: body.git_content ?? false,
      topics: body.topics ?? false,
      labels: body.labels ?? false,
      webhooks: body.webhooks ?? false,
      protectedBranch: body.protected_branch ?? false,
      gitHooks: body.git_hooks ?? false,
      avatar: body.avatar ?? false,
    },
  };
}

/** Converts the body of an edit. Absent members, an empty name and an empty branch change nothing. */
function toRepositoryEdits(
  body: BodyOf<typeof repositoryEndpoints.editRepository>,
): RepositoryEdits {
  return {
    name: body.name || undefined,
    description: body.description ?? undefined,
    website: body.website ?? undefined,
    isPrivate: body.private ?? undefined,
    isTemplate: body.template ?? undefined,
    defaultBranch: body.default_branch || undefined,
    isArchived: body.archived ?? undefined,
    mirrorInterval: body.mirror_interval || undefined,
    settings: body,
  };
}
