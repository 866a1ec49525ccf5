import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import { forgePages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { listOf } from "../../../output/spec.ts";
import { hookColumns } from "../../admin/hook/hook-columns.ts";
import { type RepositoryName, toRepositoryName } from "../repo-name.ts";

export const operations = [forge.listRepositoryHooks];
export const output = listOf(forge.listRepositoryHooks);

export function define(command: Command, cli: CliContext, run = runHookList): void {
  command
    .argument("<repository>", "the repository as OWNER/NAME")
    .action((given: string) => run(cli, toRepositoryName(given)));
}

/** Prints the hooks of a repository. */
async function runHookList(cli: CliContext, { owner, repo }: RepositoryName): Promise<void> {
  await cli.output.list(
    forgePages(cli.client, forge.listRepositoryHooks, { params: { owner, repo } }),
    hookColumns,
  );
}
