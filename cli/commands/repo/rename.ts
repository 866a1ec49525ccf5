import type { Command } from "commander";
import type { editRepository as editRepositoryEndpoint } from "../../../daemon/contract/forge/repositories/repositories.ts";
import { operation } from "../../client/operation.ts";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { repositoryLines } from "./repo-columns.ts";
import { type RepositoryName, toRepositoryName } from "./repo-name.ts";

const editRepository = operation<typeof editRepositoryEndpoint>(
  "forge.repos.edit",
  "PATCH",
  "/api/v1/repos/:owner/:repo",
);

export const operations = [editRepository];
export const output = resourceOf(editRepository);

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
  const { body } = await cli.client.call(editRepository, {
    params: { owner, repo },
    body: { name: newName },
  });
  await cli.output.resource(body, repositoryLines);
}
