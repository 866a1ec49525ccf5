import type { Command } from "commander";
import type { getRepository as getRepositoryEndpoint } from "../../../daemon/contract/forge/repositories/repositories.ts";
import { operation } from "../../client/operation.ts";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { repositoryLines } from "./repo-columns.ts";
import { type RepositoryName, toRepositoryName } from "./repo-name.ts";

const getRepository = operation<typeof getRepositoryEndpoint>(
  "forge.repos.get",
  "GET",
  "/api/v1/repos/:owner/:repo",
);

export const operations = [getRepository];
export const output = resourceOf(getRepository);

export function define(command: Command, cli: CliContext, run = runRepoView): void {
  command
    .argument("<repository>", "the repository as OWNER/NAME")
    .action((given: string) => run(cli, toRepositoryName(given)));
}

/** Prints one repository. */
async function runRepoView(cli: CliContext, { owner, repo }: RepositoryName): Promise<void> {
  const { body } = await cli.client.call(getRepository, { params: { owner, repo } });
  await cli.output.resource(body, repositoryLines);
}
