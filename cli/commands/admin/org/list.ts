import type { Command } from "commander";
import type { listOrganizations as listOrganizationsEndpoint } from "../../../../daemon/contract/forge/accounts/orgs.ts";
import { operation } from "../../../client/operation.ts";
import { forgePages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { listOf } from "../../../output/spec.ts";
import { organizationColumns } from "./org-columns.ts";

const listOrganizations = operation<typeof listOrganizationsEndpoint>(
  "forge.admin.orgs.list",
  "GET",
  "/api/v1/admin/orgs",
);

export const operations = [listOrganizations];
export const output = listOf(listOrganizations);

export function define(command: Command, cli: CliContext, run = runOrgList): void {
  command.action(() => run(cli));
}

/** Prints all organizations, by name. */
async function runOrgList(cli: CliContext): Promise<void> {
  await cli.output.list(forgePages(cli.client, listOrganizations, {}), organizationColumns);
}
