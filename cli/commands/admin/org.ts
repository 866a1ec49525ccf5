import type { WireOrganization } from "../../../daemon/contract/forge/accounts/orgs.ts";
import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import { listOf, resourceOf } from "../../output/spec.ts";
import { createIfAbsent, ifAbsentFlag } from "../../support/if-absent.ts";
import {
  findOwnedOrganization,
  organizationColumns,
  organizationSettings,
} from "../../support/organization.ts";
import type { Entry } from "../../tree/entry.ts";
import { command } from "../../tree/command.ts";

export const entries: readonly Entry[] = [
  command("list", "List organizations", {
    aliases: ["ls"],
    calls: [forge.listOrganizations],
    output: listOf(forge.listOrganizations),
    examples: [
      ["List organizations", "croft admin org list"],
      ["Print the names of all of them", "croft admin org list --all --jq '.[].name'"],
    ],
    /** Prints all organizations, by name. */
    async run(cli) {
      await cli.output.list(
        forgePages(cli.client, forge.listOrganizations, {}),
        organizationColumns,
      );
    },
  }),
  command("view", "Show an organization", async () => (await import("../org.ts")).viewOrg),
  command("create", "Create an organization", {
    args: { "<name>": "the organization's name" },
    flags: {
      ...ifAbsentFlag,
      "--owner <username>": { help: "the user who owns it", required: true },
      "--full-name <name>": "its full name",
      "--description <text>": "the description",
      "--website <url>": "its website",
      "--location <text>": "where it is",
      "--visibility <visibility>": "public, limited or private",
    },
    calls: [forge.createOrganization, forge.getOrganization, forge.getOrganizationPermissions],
    output: resourceOf(forge.createOrganization, 201),
    examples: [
      ["Create an organization for a user", "croft admin org create acme --owner mira"],
      [
        "Create a private one",
        'croft admin org create acme --owner mira --visibility private --full-name "Acme Works"',
      ],
      ["In a script that may run again", "croft admin org create acme --owner mira --if-absent"],
    ],
    /** Creates an organization that a user owns. */
    async run(cli, options) {
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
    },
  }),
];
