import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import { forgePages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { listOf } from "../../../output/spec.ts";
import { organizationColumns } from "./org-columns.ts";

export const operations = [forge.listOrganizations];
export const output = listOf(forge.listOrganizations);

export function define(command: Command, cli: CliContext, run = runOrgList): void {
  command.action(() => run(cli));
}

/** Prints all organizations, by name. */
async function runOrgList(cli: CliContext): Promise<void> {
  await cli.output.list(forgePages(cli.client, forge.listOrganizations, {}), organizationColumns);
}
