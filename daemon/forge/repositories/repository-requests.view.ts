import type { createRepository } from "../../contract/forge/repositories/admin-repositories.ts";
import type { BodyOf } from "../../contract/endpoint.ts";
import type { editRepository } from "../../contract/forge/repositories/repositories.ts";
import type { WantedRepository } from "./create-repository.ts";
import type { RepositoryEdits } from "./edit-repository.ts";

/** The body of a creation as the service takes it. */
export function toWantedRepository(body: BodyOf<typeof createRepository>): WantedRepository {
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

/** The body of an edit as the service takes it: absent members stay, and no name or branch can be taken away. */
export function toRepositoryEdits(body: BodyOf<typeof editRepository>): RepositoryEdits {
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
