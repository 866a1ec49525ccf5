import type { Command } from "commander";

/** Flags of every command that creates a repository. */
export interface NewRepositoryFlags {
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

export function addNewRepositoryFlags(command: Command): Command {
  return command
    .option("--description <text>", "what it is for")
    .option("--private", "only its owner, collaborators and administrators see it")
    .option("--as-template", "others may begin from it")
    .option("--init", "begin with a commit: README, and what the flags below add")
    .option("--readme <template>", "readme template, with --init")
    .option("--gitignore <template...>", "ignore-file templates, with --init")
    .option("--license <key>", "license template, with --init")
    .option("--default-branch <name>", "the first branch")
    .option("--labels <set>", "label set for its issues")
    .option("--trust-model <model>", "default, collaborator, committer or collaboratorcommitter")
    .option("--object-format <format>", "sha1 or sha256");
}

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
