import type { WireOrganization } from "../../daemon/contract/forge/accounts/orgs.ts";
import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import { listOf, resourceOf, shape } from "../output/spec.ts";
import {
  addOrganizationFlags,
  findOwnedOrganization,
  organizationColumns,
  type OrganizationFlags,
  organizationLines,
  organizationSettings,
} from "../support/organization.ts";
import { addIfAbsentFlag, createIfAbsent, type IfAbsentFlag } from "../support/if-absent.ts";
import { readTrueOrFalse } from "../support/flag-values.ts";
import { type CommandModule, type Entry, noun, verb } from "../tree/entry.ts";
import { readPicture } from "../support/input.ts";

export const entries: readonly Entry[] = [
  verb("list", "List the organizations that you are a member of", () => listOrganizations, {
    aliases: ["ls"],
  }),
  verb("view", "Show an organization", () => viewOrg),
  verb("create", "Create an organization that you own", () => createOrg),
  verb("edit", "Edit an organization", () => editOrg),
  verb("rename", "Rename an organization", () => renameOrg),
  verb("delete", "Delete an organization", () => deleteOrg, { aliases: ["rm"] }),
  verb("permission", "Show the permissions of a user in an organization", () => showPermission),
  noun("avatar", "Manage the picture of an organization", async () => ({ entries: avatarEntries })),
  noun("hook", "Hooks of all repositories of an organization", async () => ({
    entries: (await import("./hook/hook.ts")).organizationEntries,
  })),
  noun("member", "Manage the members of an organization", () => import("./org-member.ts")),
];

const nameArgument = ["<name>", "the organization"] as const;

const listOrganizations = {
  operations: [forge.listOwnOrganizations, forge.listVisibleOrganizations],
  output: listOf(forge.listOwnOrganizations),
  define(command, cli, run = runOrgList): void {
    command
      .option("--all-visible", "list every organization that you may see")
      .action(({ allVisible }: { readonly allVisible?: true }) => run(cli, allVisible === true));
  },
} satisfies CommandModule;

/** Prints the caller's organizations, or all visible ones, by name. */
async function runOrgList(cli: CliContext, allVisible: boolean): Promise<void> {
  const pages = allVisible
    ? forgePages(cli.client, forge.listVisibleOrganizations, {})
    : forgePages(cli.client, forge.listOwnOrganizations, {});
  await cli.output.list(pages, organizationColumns);
}

export const viewOrg = {
  operations: [forge.getOrganization],
  output: resourceOf(forge.getOrganization),
  define(command, cli, run = runOrgView): void {
    command.argument(...nameArgument).action((name: string) => run(cli, { name }));
  },
} satisfies CommandModule;

async function runOrgView(cli: CliContext, { name }: { readonly name: string }): Promise<void> {
  const { body } = await cli.client.call(forge.getOrganization, { params: { org: name } });
  await cli.output.resource(body, organizationLines);
}

export interface OrgCreateOptions extends OrganizationFlags, IfAbsentFlag {
  readonly name: string;
}

export const createOrg = {
  operations: [
    forge.createOwnOrganization,
    forge.getOrganization,
    forge.getOrganizationPermissions,
    forge.getCurrentUser,
  ],
  output: resourceOf(forge.createOwnOrganization, 201),
  define(command, cli, run = runOrgCreate): void {
    addIfAbsentFlag(addOrganizationFlags(command.argument("<name>", "its name"))).action(
      (name: string, flags: OrganizationFlags & IfAbsentFlag) => run(cli, { name, ...flags }),
    );
  },
} satisfies CommandModule;

/** Creates an organization that the caller owns. */
async function runOrgCreate(cli: CliContext, options: OrgCreateOptions): Promise<void> {
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
}

export interface OrgEditOptions extends OrganizationFlags {
  readonly name: string;
  readonly adminsChangeTeams?: string;
}

export const editOrg = {
  operations: [forge.editOrganization],
  output: resourceOf(forge.editOrganization),
  define(command, cli, run = runOrgEdit): void {
    addOrganizationFlags(command.argument(...nameArgument))
      .option(
        "--admins-change-teams <true|false>",
        "whether administrators of a repository give it to teams",
      )
      .action((name: string, flags: Omit<OrgEditOptions, "name">) => {
        if (Object.keys(flags).length === 0)
          throw usageError(
            "nothing to change",
            "give at least one flag of those that --help lists",
          );
        return run(cli, { name, ...flags });
      });
  },
} satisfies CommandModule;

/** Changes an organization; absent fields keep their values. */
async function runOrgEdit(cli: CliContext, options: OrgEditOptions): Promise<void> {
  const { name, fullName, adminsChangeTeams, ...rest } = options;
  const { body } = await cli.client.call(forge.editOrganization, {
    params: { org: name },
    body: {
      ...rest,
      full_name: fullName,
      repo_admin_change_team_access: readTrueOrFalse("--admins-change-teams", adminsChangeTeams),
    },
  });
  await cli.output.resource(body, organizationLines);
}

const renameOrg = {
  operations: [forge.renameOrganization],
  output: shape({ renamed: "boolean", name: "string" }),
  define(command, cli, run = runOrgRename): void {
    command
      .argument(...nameArgument)
      .argument("<new-name>", "its new name")
      .action((name: string, newName: string) => run(cli, name, newName));
  },
} satisfies CommandModule;

/** Renames an organization; the former name redirects. */
async function runOrgRename(cli: CliContext, name: string, newName: string): Promise<void> {
  await cli.client.call(forge.renameOrganization, {
    params: { org: name },
    body: { new_name: newName },
  });
  await cli.output.done({ renamed: true, name: newName }, `Renamed ${name} to ${newName}.`);
}

const deleteOrg = {
  operations: [forge.deleteOrganization],
  output: shape({ deleted: "boolean", name: "string" }),
  destructive: true,
  define(command, cli, run = runOrgDelete): void {
    command.argument(...nameArgument).action((name: string) => run(cli, name));
  },
} satisfies CommandModule;

/** Deletes an organization without repositories and packages. */
async function runOrgDelete(cli: CliContext, name: string): Promise<void> {
  await cli.prompts.confirm(`Delete the organization ${name} with its teams?`);
  await cli.client.call(forge.deleteOrganization, { params: { org: name } });
  await cli.output.done({ deleted: true, name }, `Deleted the organization ${name}.`);
}

const showPermission = {
  operations: [forge.getOrganizationPermissions],
  output: resourceOf(forge.getOrganizationPermissions),
  define(command, cli, run = runPermission): void {
    command
      .argument(...nameArgument)
      .argument("<username>", "the user")
      .action((name: string, username: string) => run(cli, name, username));
  },
} satisfies CommandModule;

/** Prints the permissions of a user in an organization. */
async function runPermission(cli: CliContext, name: string, username: string): Promise<void> {
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
}

const avatarEntries: readonly Entry[] = [
  verb("set", "Upload the picture of an organization", () => setAvatar),
  verb("delete", "Delete the picture and use the generated one", () => deleteAvatar, {
    aliases: ["rm"],
  }),
];

const setAvatar = {
  operations: [forge.setOrganizationAvatar],
  output: shape({ set: "boolean", name: "string" }),
  define(command, cli, run = runAvatarSet): void {
    command
      .argument(...nameArgument)
      .argument("<file>", "a PNG, JPEG, GIF or WebP image")
      .action((name: string, file: string) => run(cli, name, file));
  },
} satisfies CommandModule;

/** Uploads the picture of an organization. */
async function runAvatarSet(cli: CliContext, name: string, file: string): Promise<void> {
  const image = await readPicture(cli, file);
  await cli.client.call(forge.setOrganizationAvatar, { params: { org: name }, body: { image } });
  await cli.output.done({ set: true, name }, `Uploaded the picture of ${name}.`);
}

const deleteAvatar = {
  operations: [forge.deleteOrganizationAvatar],
  output: shape({ deleted: "boolean", name: "string" }),
  destructive: true,
  define(command, cli, run = runAvatarDelete): void {
    command.argument(...nameArgument).action((name: string) => run(cli, name));
  },
} satisfies CommandModule;

/** Deletes the uploaded picture of an organization. */
async function runAvatarDelete(cli: CliContext, name: string): Promise<void> {
  await cli.prompts.confirm(`Delete the picture of ${name}?`);
  await cli.client.call(forge.deleteOrganizationAvatar, { params: { org: name } });
  await cli.output.done({ deleted: true, name }, `Deleted the picture of ${name}.`);
}
