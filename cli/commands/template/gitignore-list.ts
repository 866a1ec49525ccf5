import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { listOf } from "../../output/spec.ts";
import { printNames, withoutCredentials } from "./names.ts";

export const operations = [forge.listGitignoreTemplates];
export const output = listOf(forge.listGitignoreTemplates);

export function define(command: Command, cli: CliContext, run = runGitignoreList): void {
  command.action(() => run(cli));
}

/** Prints the names of ignore-file templates. */
async function runGitignoreList(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(forge.listGitignoreTemplates, {}, withoutCredentials);
  await printNames(cli, body);
}
