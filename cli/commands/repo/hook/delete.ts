import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { shape } from "../../../output/spec.ts";
import { addHookArguments, type RepositoryHookName, toHookName } from "./repository-hook.ts";

export const operations = [forge.deleteRepositoryHook];
export const output = shape({ deleted: "boolean", full_name: "string", id: "string" });
export const destructive = true;

export function define(command: Command, cli: CliContext, run = runHookDelete): void {
  addHookArguments(command).action((repository: string, id: string) =>
    run(cli, toHookName(repository, id)),
  );
}

/** Deletes a hook of a repository with its deliveries. */
async function runHookDelete(cli: CliContext, params: RepositoryHookName): Promise<void> {
  const { owner, repo, id } = params;
  const fullName = `${owner}/${repo}`;
  await cli.prompts.confirm(`Delete the hook ${id} of ${fullName} and its deliveries?`);
  await cli.client.call(forge.deleteRepositoryHook, { params: { owner, repo, id } });
  await cli.output.done(
    { deleted: true, full_name: fullName, id },
    `Deleted the hook ${id} of ${fullName}.`,
  );
}
