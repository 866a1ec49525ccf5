import type { BodyOf } from "../../contract/endpoint.ts";
import { newRepositoryEndpoints } from "../../contract/forge/repositories/new-repositories.ts";
import { repositoryListEndpoints } from "../../contract/forge/repositories/lists.ts";
import { repositoryEndpoints } from "../../contract/forge/repositories/repositories.ts";
import { unadoptedEndpoints } from "../../contract/forge/repositories/unadopted.ts";
import { transferEndpoints } from "../../contract/forge/repositories/transfers.ts";
import type { Route } from "../../http/handle.ts";
import { answer, page } from "../../http/serve.ts";
import type { ForgeCaller } from "../caller.ts";
import { serve } from "../handle.ts";
import type { GrantedOrganization } from "../opened.ts";
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
    ...serve(newRepositoryEndpoints, {
      createRepository: async ({ caller, params, body }) =>
        toRepositoryView(
          await repositories.create(params.username, toCreateOptions(body), caller.user),
          urls,
        ),
      createOwnRepository: async ({ caller, body }) =>
        toRepositoryView(await repositories.createOwn(toCreateOptions(body), caller), urls),
      createOrganizationRepository: createInOrganization,
      createOrganizationRepositoryFormerly: createInOrganization,
      generateRepository: async ({ opened, caller, body, request }) =>
        toRepositoryView(
          await generate(opened, toGenerateOptions(body), caller, request.signal),
          urls,
        ),
    }),
    ...serve(repositoryEndpoints, {
      getRepository: async ({ opened }) => toRepositoryView(await repositories.get(opened), urls),
      getRepositoryById: async ({ caller, params }) =>
        toRepositoryView(await repositories.getById(params.id, caller), urls),
      editRepository: async ({ opened, caller, body }) =>
        toRepositoryView(await repositories.edit(opened, toRepositoryEdits(body), caller), urls),
      deleteRepository: ({ opened, caller }) => repositories.remove(opened, caller),
    }),
    ...serve(repositoryListEndpoints, {
      listOwnRepositories: async ({ caller, query }) => toPage(await lists.listOwn(caller, query)),
      listUserRepositories: async ({ caller, params, query }) =>
        toPage(await lists.listOf(params.username, query, caller)),
      listOrganizationRepositories: async ({ opened, caller, query }) =>
        toPage(await lists.listOfOrganization(opened, query, caller)),
      searchRepositories: async ({ caller, query }) => {
        const search = toRepositorySearch(query);
        const { repositories: found, total } =
          search === undefined
            ? { repositories: [], total: 0 }
            : await lists.search(search, query, caller);
        const data = found.map((details) => toRepositoryView(details, urls));
        return answer({ ok: true, data }, { total });
      },
    }),
    ...serve(transferEndpoints, {
      transferRepository: async ({ opened, caller, body }) => {
        const transfer = { newOwner: body.new_owner, teamIds: body.team_ids ?? [] };
        const { details, isPending } = await transfers.start(opened, caller, transfer);
        return { status: isPending ? 201 : 202, body: toRepositoryView(details, urls) } as const;
      },
      acceptTransfer: async ({ opened, caller }) =>
        toRepositoryView(await transfers.accept(opened, caller), urls),
      rejectTransfer: async ({ opened, caller }) =>
        toRepositoryView(await transfers.reject(opened, caller), urls),
    }),
    ...serve(unadoptedEndpoints, {
      listUnadopted: async ({ query }) => {
        const { names, total } = await unadopted.list(query.query, query);
        return page([...names], total);
      },
      adoptRepository: ({ caller, params }) =>
        unadopted.adopt(params.owner, params.repo, caller.user),
      deleteUnadopted: ({ params }) => unadopted.remove(params.owner, params.repo),
    }),
  ];

  async function createInOrganization({
    opened,
    caller,
    body,
  }: {
    readonly opened: GrantedOrganization;
    readonly caller: ForgeCaller;
    readonly body: BodyOf<typeof newRepositoryEndpoints.createOrganizationRepository>;
  }) {
    const made = repositories.createInOrganization(opened, toCreateOptions(body), caller);
    return toRepositoryView(await made, urls);
  }

  function toPage({ repositories: found, total }: RepositoryPage) {
    return page(
      found.map((details) => toRepositoryView(details, urls)),
      total,
    );
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
