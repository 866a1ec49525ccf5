import type { WireOrganization } from "../../daemon/contract/forge/accounts/orgs.ts";
import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import { usageError } from "../errors.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import {
  findOwnedOrganization,
  organizationColumns,
  organizationLines,
  organizationSettings,
  organizationFlags,
} from "../support/organization.ts";
import { createIfAbsent, ifAbsentFlag } from "../support/if-absent.ts";
import { readTrueOrFalse } from "../support/flag-values.ts";
import { type Entry, noun } from "../tree/entry.ts";
import { readPicture } from "../support/input.ts";
import { command, commandDetails } from "../tree/command.ts";

const nameArgument = { "<name>": "the organization" } as const;

export const viewOrg = commandDetails({
  args: nameArgument,
  calls: [forge.getOrganization],
  output: resourceOf(forge.getOrganization),
  examples: [
    ["Show an organization", "croft admin org view acme"],
    ["Print its visibility", "croft admin org view acme --jq .visibility"],
    ["Show an organization", "croft org view acme"],
    ["Print its description", "croft org view acme --jq .description"],
  ],
  async run(cli, { name }) {
    const { body } = await cli.client.call(forge.getOrganization, { params: { org: name } });
    await cli.output.resource(body, organizationLines);
  },
});

export const entries: readonly Entry[] = [
  command("list", "List the organizations that you are a member of", {
    aliases: ["ls"],
    flags: { "--all-visible": "list every organization that you may see" },
    calls: [forge.listOwnOrganizations, forge.listVisibleOrganizations],
    output: listOf(forge.listOwnOrganizations),
    examples: [
      ["List your organizations", "croft org list"],
      ["List every organization that you may see", "croft org list --all-visible --all"],
    ],
    /** Prints the caller's organizations, or all visible ones, by name. */
    async run(cli, { allVisible = false }) {
      const pages = allVisible
        ? forgePages(cli.client, forge.listVisibleOrganizations, {})
        : forgePages(cli.client, forge.listOwnOrganizations, {});
      await cli.output.list(pages, organizationColumns);
    },
  }),
  command("view", "Show an organization", async () => viewOrg),
  command("create", "Create an organization that you own", {
    args: { "<name>": "its name" },
    flags: { ...organizationFlags, ...ifAbsentFlag },
    calls: [
      forge.createOwnOrganization,
      forge.getOrganization,
      forge.getOrganizationPermissions,
      forge.getCurrentUser,
    ],
    output: resourceOf(forge.createOwnOrganization, 201),
    examples: [
      ["Create an organization", "croft org create acme"],
      [
        "Create a private one",
        'croft org create acme --visibility private --full-name "Acme Works"',
      ],
      ["In a script that may run again", "croft org create acme --if-absent"],
    ],
    /** Creates an organization that the caller owns. */
    async run(cli, options) {
      const { name, fullName, ifAbsent, ...rest } = options;
      const { value } = await createIfAbsent<WireOrganization>(cli, {
        ifAbsent,
        title: `the organization ${name}`,
        find: async () => {
          const { body: caller } = await cli.client.call(forge.getCurrentUser);
          return findOwnedOrganization(cli, name, caller.login);
        },
        create: async () => {
          const body = { username: name, full_name: fullName, ...rest };
          return (await cli.client.call(forge.createOwnOrganization, { body })).body;
        },
        settings: (existing) => organizationSettings(options, existing),
        editedBy: "croft org edit",
      });
      await cli.output.resource(value, organizationLines);
    },
  }),
  command("edit", "Edit an organization", {
    args: nameArgument,
    flags: {
      ...organizationFlags,
      "--admins-change-teams <true|false>":
        "whether administrators of a repository give it to teams",
    },
    calls: [forge.editOrganization],
    output: resourceOf(forge.editOrganization),
    examples: [
      ["Change the description", 'croft org edit acme --description "Tools for everyone"'],
      ["Show it to its members only", "croft org edit acme --visibility private"],
    ],
    /** Changes an organization; absent fields keep their values. */
    async run(cli, { name, ...flags }) {
      if (Object.keys(flags).length === 0)
        throw usageError("nothing to change", "give at least one flag of those that --help lists");
      const { fullName, adminsChangeTeams, ...rest } = flags;
      const { body } = await cli.client.call(forge.editOrganization, {
        params: { org: name },
        body: {
          ...rest,
          full_name: fullName,
          repo_admin_change_team_access: readTrueOrFalse(
            "--admins-change-teams",
            adminsChangeTeams,
          ),
        },
      });
      await cli.output.resource(body, organizationLines);
    },
  }),
  command("rename", "Rename an organization", {
    args: { ...nameArgument, "<new-name>": "its new name" },
    calls: [forge.renameOrganization],
    output: shape({ renamed: "boolean", name: "string" }),
    examples: [
      ["Rename an organization", "croft org rename acme acme-works"],
      ["Show the request only", "croft org rename acme acme-works --dry-run"],
    ],
    /** Renames an organization; the former name redirects. */
    async run(cli, { name, newName }) {
      await cli.client.call(forge.renameOrganization, {
        params: { org: name },
        body: { new_name: newName },
      });
      await cli.output.done({ renamed: true, name: newName }, `Renamed ${name} to ${newName}.`);
    },
  }),
  command("delete", "Delete an organization", {
    aliases: ["rm"],
    args: nameArgument,
    calls: [forge.deleteOrganization],
    output: shape({ deleted: "boolean", name: "string" }),
    destructive: true,
    examples: [
      ["Delete an organization", "croft org delete acme --yes"],
      ["Show the request only", "croft org delete acme --dry-run"],
    ],
    /** Deletes an organization without repositories and packages. */
    async run(cli, { name }) {
      await cli.prompts.confirm(`Delete the organization ${name} with its teams?`);
      await cli.client.call(forge.deleteOrganization, { params: { org: name } });
      await cli.output.done({ deleted: true, name }, `Deleted the organization ${name}.`);
    },
  }),
  command("permission", "Show the permissions of a user in an organization", {
    args: { ...nameArgument, "<username>": "the user" },
    calls: [forge.getOrganizationPermissions],
    output: resourceOf(forge.getOrganizationPermissions),
    examples: [
      ["Show what a user may do", "croft org permission acme mira"],
      ["Print whether the user is an owner", "croft org permission acme mira --jq .is_owner"],
    ],
    /** Prints the permissions of a user in an organization. */
    async run(cli, { name, username }) {
      const { body } = await cli.client.call(forge.getOrganizationPermissions, {
        params: { username, org: name },
      });
      await cli.output.resource(body, [
        { header: "read", cell: ({ can_read: canRead }) => canRead },
        { header: "write", cell: ({ can_write: canWrite }) => canWrite },
        { header: "admin", cell: ({ is_admin: isAdmin }) => isAdmin },
        { header: "owner", cell: ({ is_owner: isOwner }) => isOwner },
        { header: "creates repositories", cell: ({ can_create_repository: creates }) => creates },
      ]);
    },
  }),
  noun("avatar", "Manage the picture of an organization", async () => ({ entries: avatarEntries })),
  noun("hook", "Hooks of all repositories of an organization", async () => ({
    entries: (await import("./hook/hook.ts")).organizationEntries,
  })),
  noun("member", "Manage the members of an organization", () => import("./org-member.ts")),
];

const avatarEntries: readonly Entry[] = [
  command("set", "Upload the picture of an organization", {
    args: { ...nameArgument, "<file>": "a PNG, JPEG, GIF or WebP image" },
    calls: [forge.setOrganizationAvatar],
    output: shape({ set: "boolean", name: "string" }),
    examples: [
      ["Upload a picture", "croft org avatar set acme face.png"],
      ["Show the request only", "croft org avatar set acme face.png --dry-run"],
    ],
    /** Uploads the picture of an organization. */
    async run(cli, { name, file }) {
      const image = await readPicture(cli, file);
      await cli.client.call(forge.setOrganizationAvatar, {
        params: { org: name },
        body: { image },
      });
      await cli.output.done({ set: true, name }, `Uploaded the picture of ${name}.`);
    },
  }),
  command("delete", "Delete the picture and use the generated one", {
    aliases: ["rm"],
    args: nameArgument,
    calls: [forge.deleteOrganizationAvatar],
    output: shape({ deleted: "boolean", name: "string" }),
    destructive: true,
    examples: [
      ["Go back to the drawn picture", "croft org avatar delete acme --yes"],
      ["Show the request only", "croft org avatar delete acme --dry-run"],
    ],
    /** Deletes the uploaded picture of an organization. */
    async run(cli, { name }) {
      await cli.prompts.confirm(`Delete the picture of ${name}?`);
      await cli.client.call(forge.deleteOrganizationAvatar, { params: { org: name } });
      await cli.output.done({ deleted: true, name }, `Deleted the picture of ${name}.`);
    },
  }),
];
