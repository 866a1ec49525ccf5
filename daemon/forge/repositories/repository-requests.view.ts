import type { createRepository } from "../../contract/forge/admin-repositories.ts";
import type { BodyOf } from "../../contract/endpoint.ts";
import type { WantedRepository } from "./create-repository.ts";

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
