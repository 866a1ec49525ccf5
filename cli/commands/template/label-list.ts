import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { listOf } from "../../output/spec.ts";
import { printNames, withoutCredentials } from "./names.ts";

export const operations = [forge.listLabelTemplates];
export const output = listOf(forge.listLabelTemplates);

export function define(command: Command, cli: CliContext, run = runLabelList): void {
  command.action(() => run(cli));
}

/** Prints the names of label sets. */
async function runLabelList(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(forge.listLabelTemplates, {}, withoutCredentials);
  await printNames(cli, body);
}
