import type { WireOrganization } from "../../../daemon/contract/forge/accounts/orgs.ts";
import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { listOf, resourceOf } from "../../output/spec.ts";
import { addIfAbsentFlag, createIfAbsent, type IfAbsentFlag } from "../../support/if-absent.ts";
import {
  findOwnedOrganization,
  organizationColumns,
  organizationSettings,
} from "../../support/organization.ts";
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

interface OrgCreateOptions extends IfAbsentFlag {
  readonly name: string;
  readonly owner: string;
  readonly fullName?: string;
  readonly description?: string;
  readonly website?: string;
  readonly location?: string;
  readonly visibility?: string;
}

export const createOrg = {
  operations: [forge.createOrganization, forge.getOrganization, forge.getOrganizationPermissions],
  output: resourceOf(forge.createOrganization, 201),
  define(command, cli, run = runOrgCreate): void {
    addIfAbsentFlag(command)
      .argument("<name>", "the organization's name")
      .requiredOption("--owner <username>", "the user who owns it")
      .option("--full-name <name>", "its full name")
      .option("--description <text>", "the description")
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
  const { name, owner, fullName, ifAbsent, ...rest } = options;
  const { value } = await createIfAbsent<WireOrganization>(cli, {
    ifAbsent,
    title: `the organization ${name}`,
    find: () => findOwnedOrganization(cli, name, owner),
    create: async () => {
      const body = { username: name, full_name: fullName, ...rest };
      const params = { username: owner };
      return (await cli.client.call(forge.createOrganization, { params, body })).body;
    },
    settings: (existing) => organizationSettings(options, existing),
    editedBy: "croft org edit",
  });
  await cli.output.resource(value, organizationColumns);
}
