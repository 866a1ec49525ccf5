import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { shape } from "../../../output/spec.ts";
import { addHookArguments, type RepositoryHookName, toHookName } from "./repository-hook.ts";

export const operations = [forge.testRepositoryHook];
export const output = shape({ asked: "boolean", full_name: "string", id: "string" });

/** What the command was given. */
export interface HookTestOptions extends RepositoryHookName {
  readonly ref?: string;
}

export function define(command: Command, cli: CliContext, run = runHookTest): void {
  addHookArguments(command)
    .option("--ref <name>", "the branch to tell of; the default branch otherwise")
    .action((repository: string, id: string, flags: { readonly ref?: string }) =>
      run(cli, { ...toHookName(repository, id), ...flags }),
    );
}

/** Has the newest commit of a branch delivered to a hook; what came of it is in the hook's deliveries. */
async function runHookTest(cli: CliContext, options: HookTestOptions): Promise<void> {
  const { owner, repo, id, ref } = options;
  await cli.client.call(forge.testRepositoryHook, { params: { owner, repo, id }, query: { ref } });
  const fullName = `${owner}/${repo}`;
  await cli.output.done(
    { asked: true, full_name: fullName, id },
    `Asked for a delivery to the hook ${id}; see: croft repo hook delivery list ${fullName} ${id}`,
  );
}
