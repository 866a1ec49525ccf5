import type { Command } from "commander";
import type { deleteRepositoryHook as deleteRepositoryHookEndpoint } from "../../../../daemon/contract/forge/hooks/repository-hooks.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { shape } from "../../../output/spec.ts";
import { addHookArguments, type RepositoryHookName, toHookName } from "./repository-hook.ts";

const deleteHook = operation<typeof deleteRepositoryHookEndpoint>(
  "forge.repos.hooks.delete",
  "DELETE",
  "/api/v1/repos/:owner/:repo/hooks/:id",
);

export const operations = [deleteHook];
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
  await cli.client.call(deleteHook, { params: { owner, repo, id } });
  await cli.output.done(
    { deleted: true, full_name: fullName, id },
    `Deleted the hook ${id} of ${fullName}.`,
  );
}
