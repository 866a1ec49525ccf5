import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { repositoryLines } from "./repo-columns.ts";
import { type RepositoryName, toRepositoryName } from "./repo-name.ts";

export const operations = [forge.editRepository];
export const output = resourceOf(forge.editRepository);

/** What the command was given. */
export interface RepoRenameOptions extends RepositoryName {
  readonly newName: string;
}

export function define(command: Command, cli: CliContext, run = runRepoRename): void {
  command
    .argument("<repository>", "the repository as OWNER/NAME")
    .argument("<new-name>", "the name from now on; the old one leads to it")
    .action((given: string, newName: string) => run(cli, { ...toRepositoryName(given), newName }));
}

/** Renames a repository and prints it. */
async function runRepoRename(
  cli: CliContext,
  { owner, repo, newName }: RepoRenameOptions,
): Promise<void> {
  const { body } = await cli.client.call(forge.editRepository, {
    params: { owner, repo },
    body: { name: newName },
  });
  await cli.output.resource(body, repositoryLines);
}
