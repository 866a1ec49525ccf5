import type { Command } from "commander";
import type { listLabelTemplates as listLabelTemplatesEndpoint } from "../../../daemon/contract/forge/templates.ts";
import { operation } from "../../client/operation.ts";
import type { CliContext } from "../../context.ts";
import { listOf } from "../../output/spec.ts";
import { printNames, withoutCredentials } from "./names.ts";

const listLabelTemplates = operation<typeof listLabelTemplatesEndpoint>(
  "forge.templates.label.list",
  "GET",
  "/api/v1/label/templates",
);

export const operations = [listLabelTemplates];
export const output = listOf(listLabelTemplates);

export function define(command: Command, cli: CliContext, run = runLabelList): void {
  command.action(() => run(cli));
}

/** Prints the names of label sets. */
async function runLabelList(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(listLabelTemplates, {}, withoutCredentials);
  await printNames(cli, body);
}
