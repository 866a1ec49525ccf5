import { forge } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import {
  repositoryLines,
  type RepositoryName,
  toRepositoryName,
} from "../../support/repository.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("create", "Create a repository for a user", () => createRepo),
];

export interface RepoCreateOptions extends RepositoryName {
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

export const createRepo = {
  operations: [forge.createRepository],
  output: resourceOf(forge.createRepository, 201),
  define(command, cli, run = runRepoCreate): void {
    command
      .argument("<repository>", "the repository as OWNER/NAME; the owner is a user or organization")
      .option("--description <text>", "what it is for")
      .option("--private", "only its owner and administrators see it")
      .option("--as-template", "others may begin from it")
      .option("--init", "begin with a commit: README, and what the flags below add")
      .option("--readme <template>", "readme template, with --init")
      .option("--gitignore <template...>", "ignore-file templates, with --init")
      .option("--license <key>", "license template, with --init")
      .option("--default-branch <name>", "the first branch")
      .option("--labels <set>", "label set for its issues")
      .option("--trust-model <model>", "default, collaborator, committer or collaboratorcommitter")
      .option("--object-format <format>", "sha1 or sha256")
      .action((given: string, flags: Omit<RepoCreateOptions, keyof RepositoryName>) =>
        run(cli, { ...toRepositoryName(given), ...flags }),
      );
  },
} satisfies CommandModule;

/** Creates a repository for another user. */
async function runRepoCreate(cli: CliContext, options: RepoCreateOptions): Promise<void> {
  const { owner, repo, description, license, readme } = options;
  const { body } = await cli.client.call(forge.createRepository, {
    params: { username: owner },
    body: {
      name: repo,
      description,
      private: options.private,
      template: options.asTemplate,
      auto_init: options.init,
      readme,
      gitignores: options.gitignore?.join(","),
      license,
      default_branch: options.defaultBranch,
      issue_labels: options.labels,
      trust_model: options.trustModel,
      object_format_name: options.objectFormat,
    },
  });
  await cli.output.resource(body, repositoryLines);
}
