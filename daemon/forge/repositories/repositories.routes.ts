import type { BodyOf } from "../../contract/endpoint.ts";
import {
  createOrganizationRepository,
  createOrganizationRepositoryFormerly,
  createOwnRepository,
  createRepository,
  generateRepository,
} from "../../contract/forge/repositories/new-repositories.ts";
import {
  listOrganizationRepositories,
  listOwnRepositories,
  listUserRepositories,
  searchRepositories,
} from "../../contract/forge/repositories/lists.ts";
import {
  deleteRepository,
  editRepository,
  getRepository,
  getRepositoryById,
} from "../../contract/forge/repositories/repositories.ts";
import {
  adoptRepository,
  deleteUnadopted,
  listUnadopted,
} from "../../contract/forge/repositories/unadopted.ts";
import {
  acceptTransfer,
  rejectTransfer,
  transferRepository,
} from "../../contract/forge/repositories/transfers.ts";
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
    handle(createRepository, async ({ caller, params, body }) => ({
      status: 201,
      body: toRepositoryView(
        await repositories.create(params.username, toCreateOptions(body), caller.user),
        urls,
      ),
    })),
    handle(createOwnRepository, async ({ caller, body }) => ({
      status: 201,
      body: toRepositoryView(await repositories.createOwn(toCreateOptions(body), caller), urls),
    })),
    ...[createOrganizationRepository, createOrganizationRepositoryFormerly].map((declared) =>
      handle(declared, async ({ caller, params, body }) => ({
        status: 201,
        body: toRepositoryView(
          await repositories.createInOrganization(params.org, toCreateOptions(body), caller),
          urls,
        ),
      })),
    ),
    handle(generateRepository, async ({ caller, params, body, request }) => ({
      status: 201,
      body: toRepositoryView(
        await generate(params, toGenerateOptions(body), caller, request.signal),
        urls,
      ),
    })),
    handle(getRepository, async ({ caller, params }) => ({
      status: 200,
      body: toRepositoryView(await repositories.get(params.owner, params.repo, caller), urls),
    })),
    handle(getRepositoryById, async ({ caller, params }) => ({
      status: 200,
      body: toRepositoryView(await repositories.getById(params.id, caller), urls),
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
    handle(listOwnRepositories, async ({ caller, query }) =>
      toPage(await lists.listOwn(caller, query)),
    ),
    handle(listUserRepositories, async ({ caller, params, query }) =>
      toPage(await lists.listOf(params.username, query, caller)),
    ),
    handle(listOrganizationRepositories, async ({ caller, params, query }) =>
      toPage(await lists.listOfOrganization(params.org, query, caller)),
    ),
    handle(searchRepositories, async ({ caller, query }) => {
      const search = toRepositorySearch(query);
      const { body, total } = toPage(
        search === undefined
          ? { repositories: [], total: 0 }
          : await lists.search(search, query, caller),
      );
      return { status: 200, body: { ok: true, data: body }, total };
    }),
    handle(transferRepository, async ({ caller, params, body }) => {
      const transfer = { newOwner: body.new_owner, teamIds: body.team_ids ?? [] };
      const { details, isPending } = await transfers.start(params, caller, transfer);
      return { status: isPending ? 201 : 202, body: toRepositoryView(details, urls) };
    }),
    handle(acceptTransfer, async ({ caller, params }) => ({
      status: 202,
      body: toRepositoryView(await transfers.accept(params, caller), urls),
    })),
    handle(rejectTransfer, async ({ caller, params }) => ({
      status: 200,
      body: toRepositoryView(await transfers.reject(params, caller), urls),
    })),
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

  function toPage({ repositories: page, total }: RepositoryPage) {
    return {
      status: 200 as const,
      body: page.map((details) => toRepositoryView(details, urls)),
      total,
    };
  }
}

/** Converts the body of a creation; absent members get their defaults. */
function toCreateOptions(body: BodyOf<typeof createRepository>): CreateRepositoryOptions {
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
function toGenerateOptions(body: BodyOf<typeof generateRepository>): GenerateOptions {
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
function toRepositoryEdits(body: BodyOf<typeof editRepository>): RepositoryEdits {
  return {
    name: body.name || undefined,
    description: body.description ?? undefined,
    website: body.website ?? undefined,
    isPrivate: body.private ?? undefined,
    isTemplate: body.template ?? undefined,
    defaultBranch: body.default_branch || undefined,
    isArchived: body.archived ?? undefined,
    settings: body,
  };
}
