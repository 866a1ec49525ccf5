import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { usageError } from "../../errors.ts";
import { resourceOf } from "../../output/spec.ts";
import { readTrueOrFalse } from "../admin/user/true-or-false.ts";
import { repositoryLines } from "./repo-columns.ts";
import { type RepositoryName, toRepositoryName } from "./repo-name.ts";

export const operations = [forge.editRepository];
export const output = resourceOf(forge.editRepository);

/** What the command was given. Members that are undefined stay. */
export interface RepoEditOptions extends RepositoryName {
  readonly description?: string;
  readonly website?: string;
  readonly private?: string;
  readonly asTemplate?: string;
  readonly defaultBranch?: string;
  readonly archived?: string;
}

export function define(command: Command, cli: CliContext, run = runRepoEdit): void {
  command
    .argument("<repository>", "the repository as OWNER/NAME")
    .option("--description <text>", "what it is for; empty to clear it")
    .option("--website <url>", "its website; empty to clear it")
    .option("--private <true|false>", "whether only its owner and administrators see it")
    .option("--as-template <true|false>", "whether others may begin from it")
    .option("--default-branch <name>", "the branch that clones begin with")
    .option("--archived <true|false>", "whether it takes no more pushes, issues and comments")
    .action((given: string, flags: Omit<RepoEditOptions, keyof RepositoryName>) => {
      if (Object.values(flags).every((value) => value === undefined))
        throw usageError("nothing to change", "give at least one flag of those that --help lists");
      return run(cli, { ...toRepositoryName(given), ...flags });
    });
}

/** Changes a repository and prints it. */
async function runRepoEdit(cli: CliContext, options: RepoEditOptions): Promise<void> {
  const { owner, repo, description, website, defaultBranch } = options;
  const { body } = await cli.client.call(forge.editRepository, {
    params: { owner, repo },
    body: {
      description,
      website,
      private: readTrueOrFalse("--private", options.private),
      template: readTrueOrFalse("--as-template", options.asTemplate),
      default_branch: defaultBranch,
      archived: readTrueOrFalse("--archived", options.archived),
    },
  });
  await cli.output.resource(body, repositoryLines);
}
