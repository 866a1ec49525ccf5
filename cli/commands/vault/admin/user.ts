import type { z } from "zod";
import type { localFolders, managedUser } from "../../../../daemon/contract/vault/admin.ts";
import { vault } from "../../../client/operations.ts";
import { vaultPages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { CliError } from "../../../errors.ts";
import { type Column, time } from "../../../output/cells.ts";
import { findFirst } from "../../../output/pages.ts";
import { listOf, resourceOf, shape } from "../../../output/spec.ts";
import { createIfAbsent, isSameName, ifAbsentFlag } from "../../../support/if-absent.ts";
import { commandDetails } from "../../../tree/command.ts";

export const listVaultUsers = commandDetails({
  flags: {
    "--search <text>": "part of the handle or e-mail address",
    "--role <role>": { help: "only this role", choices: ["user", "admin"] },
    "--active <true|false>": {
      help: "only active or only inactive ones",
      choices: ["true", "false"],
    },
  },
  calls: [vault.listUsers],
  output: listOf(vault.listUsers, "items"),
  examples: [
    ["List users", "croft vault admin user list"],
    ["List the active administrators", "croft vault admin user list --role admin --active true"],
  ],
  /** Prints the users of the vault, oldest first. */
  async run(cli, options) {
    const query = { q: options.search, role: options.role, is_active: options.active };
    await cli.output.list(vaultPages(cli.client, vault.listUsers, { query }), managedUserColumns);
  },
});

export const createUser = commandDetails({
  flags: {
    ...ifAbsentFlag,
    "--handle <handle>": { help: "the user's name in the vault", required: true },
    "--email <address>": { help: "where the link to choose a password goes", required: true },
    "--role <role>": { help: "user when absent", choices: ["user", "admin"] },
  },
  calls: [vault.createUser, vault.listUsers],
  output: resourceOf(vault.createUser, 201),
  examples: [
    ["Create a user", "croft vault admin user create --handle otto --email otto@example.org"],
    [
      "Create an administrator",
      "croft vault admin user create --handle otto --email otto@example.org --role admin",
    ],
    [
      "In a script that may run again",
      "croft vault admin user create --handle otto --email otto@example.org --if-absent --jq .id",
    ],
  ],
  /** Creates an account without a password; its owner sets one with the mailed link. */
  async run(cli, { ifAbsent, ...body }) {
    const { handle, email, role } = body;
    const { value } = await createIfAbsent<ManagedUser>(cli, {
      ifAbsent,
      title: `the vault user ${handle}`,
      find: () => findUser(cli, handle),
      create: async () => (await cli.client.call(vault.createUser, { body })).body,
      settings: (existing) => [
        { flag: "--email", requested: email.toLowerCase(), existing: existing.email.toLowerCase() },
        { flag: "--role", requested: role, existing: existing.role },
      ],
    });
    await cli.output.resource(value, managedUserColumns);
  },
});

export const activateUser = commandDetails({
  args: { "<user>": "the user's handle or id" },
  calls: [vault.setUserStatus, vault.listUsers],
  output: resourceOf(vault.setUserStatus),
  examples: [
    ["Activate a user", "croft vault admin user activate mira"],
    ["Show the request only", "croft vault admin user activate mira --dry-run"],
  ],
  /** Allows a user to sign in again. Earlier sessions stay revoked. */
  async run(cli, { user }) {
    await setStatus(cli, user, true);
  },
});

export const deactivateUser = commandDetails({
  args: { "<user>": "the user's handle or id" },
  calls: [vault.setUserStatus, vault.listUsers],
  output: resourceOf(vault.setUserStatus),
  examples: [
    ["Deactivate a user; sessions end", "croft vault admin user deactivate mira"],
    ["Show the request only", "croft vault admin user deactivate mira --dry-run"],
  ],
  /** Deactivates an account: its next request is refused, on every device. Deletes nothing. */
  async run(cli, { user }) {
    await setStatus(cli, user, false);
  },
});

/** Activates or deactivates a user and prints the account. */
async function setStatus(cli: CliContext, user: string, isActive: boolean): Promise<void> {
  const id = await findUserId(cli, user);
  const { body } = await cli.client.call(vault.setUserStatus, {
    params: { id },
    body: { is_active: isActive },
  });
  await cli.output.resource(body, managedUserColumns);
}

export const passwordUserReset = commandDetails({
  args: { "<user>": "the user's handle or id" },
  calls: [vault.resetUserPassword, vault.listUsers],
  output: resourceOf(vault.resetUserPassword, 202),
  examples: [
    ["Mail a user a link to choose a new password", "croft vault admin user reset-password mira"],
    ["Show the request only", "croft vault admin user reset-password mira --dry-run"],
  ],
  /** Revokes a user's sessions and mails a link. The user must set a new password to sign in again. */
  async run(cli, { user }) {
    const id = await findUserId(cli, user);
    const { body } = await cli.client.call(vault.resetUserPassword, { params: { id } });
    await cli.output.done(body, body.message);
  },
});

export const deleteUser = commandDetails({
  args: { "<user>": "the user's handle or id" },
  calls: [vault.deleteUser, vault.listUsers],
  output: shape({ deleted: "boolean", id: "string" }),
  destructive: true,
  examples: [
    ["Delete a user with all documents", "croft vault admin user delete mira --yes"],
    ["Show the request only", "croft vault admin user delete mira --dry-run"],
  ],
  /** Deletes a user with sessions, connections and cached bytes. Files of connected storages and audit records stay. */
  async run(cli, { user }) {
    const id = await findUserId(cli, user);
    await cli.prompts.confirm(`Delete the vault user ${user} and remove all of their connections?`);
    await cli.client.call(vault.deleteUser, { params: { id } });
    await cli.output.done({ deleted: true, id }, `Deleted the vault user ${user}.`);
  },
});

export const listUserLocalFolders = commandDetails({
  args: { "<user>": "the user's handle or id" },
  calls: [vault.viewUserLocalFolders, vault.listUsers],
  output: resourceOf(vault.viewUserLocalFolders),
  examples: [
    ["List the folders that a user may connect", "croft vault admin user local-folder list mira"],
    ["Print their paths as JSON", "croft vault admin user local-folder list mira --json"],
  ],
  /** Prints the folders of the server that were granted to a user. */
  async run(cli, { user }) {
    const id = await findUserId(cli, user);
    const { body } = await cli.client.call(vault.viewUserLocalFolders, { params: { id } });
    await cli.output.resource(body, localFolderColumns);
  },
});

export const setUserLocalFolders = commandDetails({
  args: {
    "<user>": "the user's handle or id",
    "[folders...]": "folders of the server below local_roots; without any, all are revoked",
  },
  calls: [vault.setUserLocalFolders, vault.listUsers],
  output: resourceOf(vault.setUserLocalFolders),
  examples: [
    [
      "Let a user connect two folders",
      "croft vault admin user local-folder set mira /srv/papers /srv/photos",
    ],
    ["Take all folders back", "croft vault admin user local-folder set mira"],
  ],
  /** Replaces the folders of the server that are granted to a user, and prints them. */
  async run(cli, { user, folders }) {
    const id = await findUserId(cli, user);
    const { body } = await cli.client.call(vault.setUserLocalFolders, {
      params: { id },
      body: { folders: [...folders] },
    });
    await cli.output.resource(body, localFolderColumns);
  },
});

/** The id of a user who is named by id or by handle, in any case. @throws CliError `not_found` */
export async function findUserId(cli: CliContext, word: string): Promise<string> {
  if (/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(word)) return word.toLowerCase();
  const user = await findUser(cli, word);
  if (user !== undefined) return user.id;
  throw new CliError("not_found", `there is no vault user ${JSON.stringify(word)}`, {
    service: "vault",
    hint: '"croft vault admin user list" shows them',
  });
}

/** Returns a user by the handle, which the server compares without case. */
async function findUser(cli: CliContext, handle: string): Promise<ManagedUser | undefined> {
  const source = vaultPages(cli.client, vault.listUsers, { query: { q: handle } });
  return findFirst(source, (user) => isSameName(user.handle, handle));
}

/** A vault user as administrators see it. */
type ManagedUser = z.output<typeof managedUser>;

const managedUserColumns: readonly Column<ManagedUser>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "handle", cell: ({ handle }) => handle },
  { header: "email", cell: ({ email }) => email },
  { header: "role", cell: ({ role }) => role },
  { header: "active", cell: ({ is_active: isActive }) => isActive },
  { header: "must change", cell: ({ password_must_change: mustChange }) => mustChange },
  { header: "second factor", cell: ({ totp_enabled: totpEnabled }) => totpEnabled },
  { header: "created", cell: ({ created_at: createdAt }) => time(createdAt) },
];

const localFolderColumns: readonly Column<z.output<typeof localFolders>>[] = [
  { header: "folders", cell: ({ folders }) => folders },
];
