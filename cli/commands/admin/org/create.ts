import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { organizationColumns } from "./org-columns.ts";

export const operations = [forge.createOrganization];
export const output = resourceOf(forge.createOrganization, 201);

/** What the command was given. */
export interface OrgCreateOptions {
  readonly name: string;
  readonly owner: string;
  readonly fullName?: string;
  readonly description?: string;
  readonly website?: string;
  readonly location?: string;
  readonly visibility?: string;
}

export function define(command: Command, cli: CliContext, run = runOrgCreate): void {
  command
    .argument("<name>", "the organization's name")
    .requiredOption("--owner <username>", "the user who owns it")
    .option("--full-name <name>", "its full name")
    .option("--description <text>", "what it is for")
    .option("--website <url>", "its website")
    .option("--location <text>", "where it is")
    .option("--visibility <visibility>", "public, limited or private")
    .action((name: string, flags: Omit<OrgCreateOptions, "name">) => run(cli, { name, ...flags }));
}

/** Creates an organization that a user owns. */
async function runOrgCreate(cli: CliContext, options: OrgCreateOptions): Promise<void> {
  const { name, owner, fullName, ...rest } = options;
  const { body } = await cli.client.call(forge.createOrganization, {
    params: { username: owner },
    body: { username: name, full_name: fullName, ...rest },
  });
  await cli.output.resource(body, organizationColumns);
}
