import type { WireRepository } from "../../daemon/contract/forge/repositories/repositories.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { type IfAbsentFlag, isSameName, type Setting, ifAbsentFlag } from "./if-absent.ts";
import type { RepositoryName } from "./repository.ts";

/** Flags of every command that creates a repository. */
export interface NewRepositoryFlags extends IfAbsentFlag {
  readonly description?: string;
  readonly private?: true;
  readonly asTemplate?: true;
  readonly init?: true;
  readonly readme?: string;
  readonly gitignore?: readonly string[];
  readonly license?: string;
  readonly defaultBranch?: string;
  readonly labels?: string;
  readonly trustModel?: string;
  readonly objectFormat?: string;
}

export const newRepositoryFlags = {
  ...ifAbsentFlag,
  "-d, --description <text>": "what it is for",
  "--private": "only its owner, collaborators and administrators see it",
  "--as-template": "make it a template repository",
  "--init": "create a first commit with a README and the files of the flags below",
  "--readme <template>": "readme template, with --init",
  "--gitignore <template...>": "ignore-file templates, with --init",
  "--license <key>": "license template, with --init",
  "--default-branch <name>": "the first branch",
  "--labels <set>": "label set for its issues",
  "--trust-model <model>": "default, collaborator, committer or collaboratorcommitter",
  "--object-format <format>": "sha1 or sha256",
} as const;

/** Returns the body of a request for a new repository. */
export function toNewRepositoryBody(name: string, flags: NewRepositoryFlags) {
  return {
    name,
    description: flags.description,
    private: flags.private,
    template: flags.asTemplate,
    auto_init: flags.init,
    readme: flags.readme,
    gitignores: flags.gitignore?.join(","),
    license: flags.license,
    default_branch: flags.defaultBranch,
    issue_labels: flags.labels,
    trust_model: flags.trustModel,
    object_format_name: flags.objectFormat,
  };
}

/** Returns a repository by its current name. A former name, which redirects, is free for a new repository. */
export async function findPresentRepository(
  cli: CliContext,
  { owner, repo }: RepositoryName,
): Promise<WireRepository | undefined> {
  const { body } = await cli.client.call(forge.getRepository, { params: { owner, repo } });
  return isSameName(body.full_name, `${owner}/${repo}`) ? body : undefined;
}

/** The settings of a repository that flags also set. Files that `--init` adds are content and not compared. */
export function repositorySettings(
  flags: NewRepositoryFlags,
  existing: WireRepository,
): readonly Setting[] {
  return [
    { flag: "--description", requested: flags.description, existing: existing.description },
    { flag: "--private", requested: flags.private, existing: existing.private },
    { flag: "--as-template", requested: flags.asTemplate, existing: existing.template },
    { flag: "--default-branch", requested: flags.defaultBranch, existing: existing.default_branch },
    {
      flag: "--object-format",
      requested: flags.objectFormat,
      existing: existing.object_format_name,
    },
  ];
}
