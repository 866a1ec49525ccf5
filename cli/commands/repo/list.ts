import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { listOf } from "../../output/spec.ts";
import { repositoryColumns } from "./repo-columns.ts";

export const operations = [forge.listOwnRepositories];
export const output = listOf(forge.listOwnRepositories);

export function define(command: Command, cli: CliContext, run = runRepoList): void {
  command.action(() => run(cli));
}

/** Prints the repositories that the caller owns or reaches through an organization, by name. */
async function runRepoList(cli: CliContext): Promise<void> {
  await cli.output.list(forgePages(cli.client, forge.listOwnRepositories, {}), repositoryColumns);
}
