import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { repositoryLines } from "./repo-columns.ts";
import { type RepositoryName, toRepositoryName } from "./repo-name.ts";

export const operations = [forge.getRepository];
export const output = resourceOf(forge.getRepository);

export function define(command: Command, cli: CliContext, run = runRepoView): void {
  command
    .argument("<repository>", "the repository as OWNER/NAME")
    .action((given: string) => run(cli, toRepositoryName(given)));
}

/** Prints one repository. */
async function runRepoView(cli: CliContext, { owner, repo }: RepositoryName): Promise<void> {
  const { body } = await cli.client.call(forge.getRepository, { params: { owner, repo } });
  await cli.output.resource(body, repositoryLines);
}
