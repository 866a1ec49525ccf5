import type { Command } from "commander";
import type { listOwnRepositories as listOwnRepositoriesEndpoint } from "../../../daemon/contract/forge/repositories/repositories.ts";
import { operation } from "../../client/operation.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { listOf } from "../../output/spec.ts";
import { repositoryColumns } from "./repo-columns.ts";

const listOwnRepositories = operation<typeof listOwnRepositoriesEndpoint>(
  "forge.user.repos.list",
  "GET",
  "/api/v1/user/repos",
);

export const operations = [listOwnRepositories];
export const output = listOf(listOwnRepositories);

export function define(command: Command, cli: CliContext, run = runRepoList): void {
  command.action(() => run(cli));
}

/** Prints the repositories that the caller owns or reaches through an organization, by name. */
async function runRepoList(cli: CliContext): Promise<void> {
  await cli.output.list(forgePages(cli.client, listOwnRepositories, {}), repositoryColumns);
}
