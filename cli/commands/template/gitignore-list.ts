import type { Command } from "commander";
import type { listGitignoreTemplates as listGitignoreTemplatesEndpoint } from "../../../daemon/contract/forge/templates.ts";
import { operation } from "../../client/operation.ts";
import type { CliContext } from "../../context.ts";
import { listOf } from "../../output/spec.ts";
import { printNames, withoutCredentials } from "./names.ts";

const listGitignoreTemplates = operation<typeof listGitignoreTemplatesEndpoint>(
  "forge.templates.gitignore.list",
  "GET",
  "/api/v1/gitignore/templates",
);

export const operations = [listGitignoreTemplates];
export const output = listOf(listGitignoreTemplates);

export function define(command: Command, cli: CliContext, run = runGitignoreList): void {
  command.action(() => run(cli));
}

/** Prints the names of ignore-file templates. */
async function runGitignoreList(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(listGitignoreTemplates, {}, withoutCredentials);
  await printNames(cli, body);
}
