import type { Command } from "commander";
import type { getRepositoryHook as getRepositoryHookEndpoint } from "../../../../daemon/contract/forge/hooks/repository-hooks.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { hookColumns } from "../../admin/hook/hook-columns.ts";
import { addHookArguments, type RepositoryHookName, toHookName } from "./repository-hook.ts";

const getHook = operation<typeof getRepositoryHookEndpoint>(
  "forge.repos.hooks.get",
  "GET",
  "/api/v1/repos/:owner/:repo/hooks/:id",
);

export const operations = [getHook];
export const output = resourceOf(getHook);

export function define(command: Command, cli: CliContext, run = runHookView): void {
  addHookArguments(command).action((repository: string, id: string) =>
    run(cli, toHookName(repository, id)),
  );
}

/** Prints a hook of a repository. */
async function runHookView(cli: CliContext, params: RepositoryHookName): Promise<void> {
  const { body } = await cli.client.call(getHook, { params: { ...params } });
  await cli.output.resource(body, hookColumns);
}
