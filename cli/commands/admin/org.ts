import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { listOf, resourceOf } from "../../output/spec.ts";
import { organizationColumns } from "../../support/organization.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List organizations", () => listOrganizations, { aliases: ["ls"] }),
  verb("view", "Show an organization", async () => (await import("../org.ts")).viewOrg),
  verb("create", "Create an organization", () => createOrg),
];

const listOrganizations = {
  operations: [forge.listOrganizations],
  output: listOf(forge.listOrganizations),
  define(command, cli, run = runOrgList): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Prints all organizations, by name. */
async function runOrgList(cli: CliContext): Promise<void> {
  await cli.output.list(forgePages(cli.client, forge.listOrganizations, {}), organizationColumns);
}

interface OrgCreateOptions {
  readonly name: string;
  readonly owner: string;
  readonly fullName?: string;
  readonly description?: string;
  readonly website?: string;
  readonly location?: string;
  readonly visibility?: string;
}

export const createOrg = {
  operations: [forge.createOrganization],
  output: resourceOf(forge.createOrganization, 201),
  define(command, cli, run = runOrgCreate): void {
    command
      .argument("<name>", "the organization's name")
      .requiredOption("--owner <username>", "the user who owns it")
      .option("--full-name <name>", "its full name")
      .option("--description <text>", "what it is for")
      .option("--website <url>", "its website")
      .option("--location <text>", "where it is")
      .option("--visibility <visibility>", "public, limited or private")
      .action((name: string, flags: Omit<OrgCreateOptions, "name">) =>
        run(cli, { name, ...flags }),
      );
  },
} satisfies CommandModule;

/** Creates an organization that a user owns. */
async function runOrgCreate(cli: CliContext, options: OrgCreateOptions): Promise<void> {
  const { name, owner, fullName, ...rest } = options;
  const { body } = await cli.client.call(forge.createOrganization, {
    params: { username: owner },
    body: { username: name, full_name: fullName, ...rest },
  });
  await cli.output.resource(body, organizationColumns);
}
