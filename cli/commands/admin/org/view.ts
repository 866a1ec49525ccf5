import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { organizationColumns } from "./org-columns.ts";

export const operations = [forge.getOrganization];
export const output = resourceOf(forge.getOrganization);

export function define(command: Command, cli: CliContext, run = runOrgView): void {
  command.argument("<name>", "the organization").action((name: string) => run(cli, { name }));
}

/** Prints one organization. */
async function runOrgView(cli: CliContext, { name }: { readonly name: string }): Promise<void> {
  const { body } = await cli.client.call(forge.getOrganization, { params: { org: name } });
  await cli.output.resource(body, [
    ...organizationColumns,
    { header: "location", cell: ({ location }) => location },
    { header: "description", cell: ({ description }) => description },
  ]);
}
