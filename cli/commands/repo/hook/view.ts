import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { hookColumns } from "../../admin/hook/hook-columns.ts";
import { addHookArguments, type RepositoryHookName, toHookName } from "./repository-hook.ts";

export const operations = [forge.getRepositoryHook];
export const output = resourceOf(forge.getRepositoryHook);

export function define(command: Command, cli: CliContext, run = runHookView): void {
  addHookArguments(command).action((repository: string, id: string) =>
    run(cli, toHookName(repository, id)),
  );
}

/** Prints a hook of a repository. */
async function runHookView(cli: CliContext, params: RepositoryHookName): Promise<void> {
  const { body } = await cli.client.call(forge.getRepositoryHook, { params: { ...params } });
  await cli.output.resource(body, hookColumns);
}
