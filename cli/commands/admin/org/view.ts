import type { Command } from "commander";
import type { getOrganization as getOrganizationEndpoint } from "../../../../daemon/contract/forge/accounts/orgs.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { organizationColumns } from "./org-columns.ts";

const getOrganization = operation<typeof getOrganizationEndpoint>(
  "forge.orgs.get",
  "GET",
  "/api/v1/orgs/:org",
);

export const operations = [getOrganization];
export const output = resourceOf(getOrganization);

export function define(command: Command, cli: CliContext, run = runOrgView): void {
  command.argument("<name>", "the organization").action((name: string) => run(cli, { name }));
}

/** Prints one organization. */
async function runOrgView(cli: CliContext, { name }: { readonly name: string }): Promise<void> {
  const { body } = await cli.client.call(getOrganization, { params: { org: name } });
  await cli.output.resource(body, [
    ...organizationColumns,
    { header: "location", cell: ({ location }) => location },
    { header: "description", cell: ({ description }) => description },
  ]);
}
