import type { Command } from "commander";
import type { listRepositoryHooks as listRepositoryHooksEndpoint } from "../../../../daemon/contract/forge/hooks/repository-hooks.ts";
import { operation } from "../../../client/operation.ts";
import { forgePages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { listOf } from "../../../output/spec.ts";
import { hookColumns } from "../../admin/hook/hook-columns.ts";
import { type RepositoryName, toRepositoryName } from "../repo-name.ts";

const listHooks = operation<typeof listRepositoryHooksEndpoint>(
  "forge.repos.hooks.list",
  "GET",
  "/api/v1/repos/:owner/:repo/hooks",
);

export const operations = [listHooks];
export const output = listOf(listHooks);

export function define(command: Command, cli: CliContext, run = runHookList): void {
  command
    .argument("<repository>", "the repository as OWNER/NAME")
    .action((given: string) => run(cli, toRepositoryName(given)));
}

/** Prints the hooks of a repository. */
async function runHookList(cli: CliContext, { owner, repo }: RepositoryName): Promise<void> {
  await cli.output.list(
    forgePages(cli.client, listHooks, { params: { owner, repo } }),
    hookColumns,
  );
}
