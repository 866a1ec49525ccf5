import { Option } from "commander";
import type { z } from "zod";
import type { localFolders, managedUser } from "../../../../daemon/contract/vault/admin.ts";
import { vault } from "../../../client/operations.ts";
import { vaultPages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { CliError } from "../../../errors.ts";
import { type Column, time } from "../../../output/cells.ts";
import { findFirst } from "../../../output/pages.ts";
import { listOf, resourceOf, shape } from "../../../output/spec.ts";
import {
  addIfAbsentFlag,
  createIfAbsent,
  type IfAbsentFlag,
  isSameName,
} from "../../../support/if-absent.ts";
import type { CommandModule } from "../../../tree/entry.ts";

export interface UserListOptions {
  readonly search?: string;
  readonly role?: "user" | "admin";
  readonly active?: "true" | "false";
}

export const listVaultUsers = {
  operations: [vault.listUsers],
  output: listOf(vault.listUsers, "items"),
  define(command, cli, run = runUserList): void {
    command
      .option("--search <text>", "part of the handle or e-mail address")
      .addOption(new Option("--role <role>", "only this role").choices(["user", "admin"]))
      .addOption(
        new Option("--active <true|false>", "only active or only inactive ones").choices([
          "true",
          "false",
        ]),
      )
      .action((flags: UserListOptions) => run(cli, flags));
  },
} satisfies CommandModule;

/** Prints the users of the vault, oldest first. */
async function runUserList(cli: CliContext, options: UserListOptions): Promise<void> {
  const query = { q: options.search, role: options.role, is_active: options.active };
  await cli.output.list(vaultPages(cli.client, vault.listUsers, { query }), managedUserColumns);
}

export interface UserCreateOptions extends IfAbsentFlag {
  readonly handle: string;
  readonly email: string;
  readonly role?: "user" | "admin";
}

export const createUser = {
  operations: [vault.createUser, vault.listUsers],
  output: resourceOf(vault.createUser, 201),
  define(command, cli, run = runUserCreate): void {
    addIfAbsentFlag(command)
      .requiredOption("--handle <handle>", "the user's name in the vault")
      .requiredOption("--email <address>", "where the link to choose a password goes")
      .addOption(new Option("--role <role>", "user when absent").choices(["user", "admin"]))
      .action((flags: UserCreateOptions) => run(cli, flags));
  },
} satisfies CommandModule;

/** Creates an account without a password; its owner sets one with the mailed link. */
async function runUserCreate(
  cli: CliContext,
  { ifAbsent, ...body }: UserCreateOptions,
): Promise<void> {
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
}

interface UserActivateOptions {
  readonly user: string;
}

export const activateUser = {
  operations: [vault.setUserStatus, vault.listUsers],
  output: resourceOf(vault.setUserStatus),
  define(command, cli, run = runUserActivate): void {
    command
      .argument("<user>", "the user's handle or id")
      .action((user: string) => run(cli, { user }));
  },
} satisfies CommandModule;

/** Allows a user to sign in again. Earlier sessions stay revoked. */
async function runUserActivate(cli: CliContext, { user }: UserActivateOptions): Promise<void> {
  await setStatus(cli, user, true);
}

interface UserDeactivateOptions {
  readonly user: string;
}

export const deactivateUser = {
  operations: [vault.setUserStatus, vault.listUsers],
  output: resourceOf(vault.setUserStatus),
  define(command, cli, run = runUserDeactivate): void {
    command
      .argument("<user>", "the user's handle or id")
      .action((user: string) => run(cli, { user }));
  },
} satisfies CommandModule;

/** Deactivates an account: its next request is refused, on every device. Deletes nothing. */
async function runUserDeactivate(cli: CliContext, { user }: UserDeactivateOptions): Promise<void> {
  await setStatus(cli, user, false);
}

/** Activates or deactivates a user and prints the account. */
async function setStatus(cli: CliContext, user: string, isActive: boolean): Promise<void> {
  const id = await findUserId(cli, user);
  const { body } = await cli.client.call(vault.setUserStatus, {
    params: { id },
    body: { is_active: isActive },
  });
  await cli.output.resource(body, managedUserColumns);
}

interface UserResetPasswordOptions {
  readonly user: string;
}

export const passwordUserReset = {
  operations: [vault.resetUserPassword, vault.listUsers],
  output: resourceOf(vault.resetUserPassword, 202),
  define(command, cli, run = runUserResetPassword): void {
    command
      .argument("<user>", "the user's handle or id")
      .action((user: string) => run(cli, { user }));
  },
} satisfies CommandModule;

/** Revokes a user's sessions and mails a link. The user must set a new password to sign in again. */
async function runUserResetPassword(
  cli: CliContext,
  { user }: UserResetPasswordOptions,
): Promise<void> {
  const id = await findUserId(cli, user);
  const { body } = await cli.client.call(vault.resetUserPassword, { params: { id } });
  await cli.output.done(body, body.message);
}

interface UserDeleteOptions {
  readonly user: string;
}

export const deleteUser = {
  operations: [vault.deleteUser, vault.listUsers],
  output: shape({ deleted: "boolean", id: "string" }),
  destructive: true,
  define(command, cli, run = runUserDelete): void {
    command
      .argument("<user>", "the user's handle or id")
      .action((user: string) => run(cli, { user }));
  },
} satisfies CommandModule;

/** Deletes a user with sessions, connections and cached bytes. Files of connected storages and audit records stay. */
async function runUserDelete(cli: CliContext, { user }: UserDeleteOptions): Promise<void> {
  const id = await findUserId(cli, user);
  await cli.prompts.confirm(`Delete the vault user ${user} and remove all of their connections?`);
  await cli.client.call(vault.deleteUser, { params: { id } });
  await cli.output.done({ deleted: true, id }, `Deleted the vault user ${user}.`);
}

export interface LocalFolderListOptions {
  readonly user: string;
}

export const listUserLocalFolders = {
  operations: [vault.viewUserLocalFolders, vault.listUsers],
  output: resourceOf(vault.viewUserLocalFolders),
  define(command, cli, run = runLocalFolderList): void {
    command
      .argument("<user>", "the user's handle or id")
      .action((user: string) => run(cli, { user }));
  },
} satisfies CommandModule;

/** Prints the folders of the server that were granted to a user. */
async function runLocalFolderList(
  cli: CliContext,
  { user }: LocalFolderListOptions,
): Promise<void> {
  const id = await findUserId(cli, user);
  const { body } = await cli.client.call(vault.viewUserLocalFolders, { params: { id } });
  await cli.output.resource(body, localFolderColumns);
}

export interface LocalFolderSetOptions {
  readonly user: string;
  readonly folders: readonly string[];
}

export const setUserLocalFolders = {
  operations: [vault.setUserLocalFolders, vault.listUsers],
  output: resourceOf(vault.setUserLocalFolders),
  define(command, cli, run = runLocalFolderSet): void {
    command
      .argument("<user>", "the user's handle or id")
      .argument(
        "[folders...]",
        "folders of the server below local_roots; without any, all are revoked",
      )
      .action((user: string, folders: string[]) => run(cli, { user, folders }));
  },
} satisfies CommandModule;

/** Replaces the folders of the server that are granted to a user, and prints them. */
async function runLocalFolderSet(
  cli: CliContext,
  { user, folders }: LocalFolderSetOptions,
): Promise<void> {
  const id = await findUserId(cli, user);
  const { body } = await cli.client.call(vault.setUserLocalFolders, {
    params: { id },
    body: { folders: [...folders] },
  });
  await cli.output.resource(body, localFolderColumns);
}

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
