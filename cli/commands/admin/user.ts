import { toChoice } from "../../support/flag-values.ts";
import type { WireUser } from "../../../daemon/contract/forge/accounts/users.ts";
import { forge, type InputOf } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { type Column, time } from "../../output/cells.ts";
import { listOf, resourceOf, shape } from "../../output/spec.ts";
import { type CommandModule, type Entry, noun, verb } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List and search forge users", () => listUsers, {
    aliases: ["ls"],
  }),
  verb("create", "Create a forge user", async () => (await import("./user-edit.ts")).createUser),
  verb("view", "Show a forge user", () => viewUser),
  verb("edit", "Edit a forge user", async () => (await import("./user-edit.ts")).editUser),
  verb("rename", "Rename a forge user", () => renameUser),
  verb("delete", "Delete a forge user", () => deleteUser, { aliases: ["rm"] }),
  verb("reset-2fa", "Reset the second factor of a forge user", () => resetTwoFactor),
  noun("key", "Public keys of a forge user", () => import("./user-key.ts")),
  noun("badge", "Badges of a forge user", () => import("./user-badge.ts")),
];

/** The query that the flags describe. */
export type UserListOptions = NonNullable<InputOf<typeof forge.listUsers>["query"]>;

export const listUsers = {
  operations: [forge.listUsers],
  output: listOf(forge.listUsers),
  define(command, cli, run = runUserList): void {
    command
      .option("--search <text>", "in user name, full name and e-mail")
      .option("--sort <key>", "name, created, updated or id")
      .option("--order <order>", "asc or desc")
      .option("--visibility <visibility>", "public, limited or private")
      .option("--active <true|false>", "only active users, or only others", toTrueFalse("--active"))
      .option(
        "--admin <true|false>",
        "only site administrators, or only others",
        toTrueFalse("--admin"),
      )
      .option(
        "--restricted <true|false>",
        "only restricted users, or only others",
        toTrueFalse("--restricted"),
      )
      .option(
        "--2fa <true|false>",
        "only users with a second factor, or only others",
        toTrueFalse("--2fa"),
      )
      .option(
        "--prohibit-login <true|false>",
        "only users who may not sign in, or only others",
        toTrueFalse("--prohibit-login"),
      )
      .option("--source-id <id>", "only users of this login source")
      .option("--login-name <name>", "only the user with this name at the login source")
      .action((flags: Readonly<Record<string, string | undefined>>) => run(cli, toOptions(flags)));
  },
} satisfies CommandModule;

/** Prints the forge's users. */
async function runUserList(cli: CliContext, query: UserListOptions): Promise<void> {
  await cli.output.list(forgePages(cli.client, forge.listUsers, { query }), userColumns);
}

/** The server reads any other word as false. */
function toTrueFalse(flag: string): (value: string) => string {
  return (value) => {
    return toChoice(flag, ["true", "false"], value);
  };
}

function toOptions(flags: Readonly<Record<string, string | undefined>>): UserListOptions {
  // `order` only applies together with `sort`.
  const sort = flags["sort"] ?? (flags["order"] === undefined ? undefined : "name");
  return {
    q: flags["search"],
    sort,
    order: flags["order"],
    visibility: flags["visibility"],
    is_active: flags["active"],
    is_admin: flags["admin"],
    is_restricted: flags["restricted"],
    is_2fa_enabled: flags["2fa"],
    is_prohibit_login: flags["prohibitLogin"],
    source_id: flags["sourceId"],
    login_name: flags["loginName"],
  };
}

export const viewUser = {
  operations: [forge.getUser],
  output: resourceOf(forge.getUser),
  define(command, cli, run = runUserView): void {
    command
      .argument("<username>", "the user's name")
      .action((username: string) => run(cli, { username }));
  },
} satisfies CommandModule;

async function runUserView(
  cli: CliContext,
  { username }: { readonly username: string },
): Promise<void> {
  const { body } = await cli.client.call(forge.getUser, { params: { username } });
  await cli.output.resource(body, [
    ...userColumns,
    { header: "visibility", cell: ({ visibility }) => visibility },
    { header: "restricted", cell: ({ restricted }) => restricted },
    { header: "location", cell: ({ location }) => location },
    { header: "website", cell: ({ website }) => website },
    { header: "description", cell: ({ description }) => description },
    { header: "page", cell: ({ html_url: url }) => url },
  ]);
}

interface UserRenameOptions {
  readonly username: string;
  readonly newName: string;
}

export const renameUser = {
  operations: [forge.renameUser],
  output: shape({ renamed: "boolean", from: "string", username: "string" }),
  define(command, cli, run = runUserRename): void {
    command
      .argument("<username>", "the user's name")
      .argument("<new-name>", "the new name; the old one redirects to it")
      .action((username: string, newName: string) => run(cli, { username, newName }));
  },
} satisfies CommandModule;

async function runUserRename(
  cli: CliContext,
  { username, newName }: UserRenameOptions,
): Promise<void> {
  await cli.client.call(forge.renameUser, {
    params: { username },
    body: { new_username: newName },
  });
  await cli.output.done(
    { renamed: true, from: username, username: newName },
    `Renamed ${username} to ${newName}.`,
  );
}

interface UserDeleteOptions {
  readonly username: string;
  readonly purge: boolean;
}

export const deleteUser = {
  operations: [forge.deleteUser],
  output: shape({ deleted: "boolean", username: "string", purged: "boolean" }),
  destructive: true,
  define(command, cli, run = runUserDelete): void {
    command
      .argument("<username>", "the user's name")
      .option("--purge", "also delete the user's repositories, packages and organizations")
      .action((username: string, { purge = false }: { readonly purge?: boolean }) =>
        run(cli, { username, purge }),
      );
  },
} satisfies CommandModule;

/** Deletes a user. A purge deletes everything that the user owns, so it is confirmed by typing the name. */
async function runUserDelete(
  cli: CliContext,
  { username, purge }: UserDeleteOptions,
): Promise<void> {
  if (purge)
    await cli.prompts.confirm(`Delete the user ${username} and everything it owns?`, username);
  else await cli.prompts.confirm(`Delete the user ${username}?`);
  await cli.client.call(forge.deleteUser, { params: { username }, query: { purge } });
  await cli.output.done(
    { deleted: true, username, purged: purge },
    `Deleted the user ${username}${purge ? " and everything it owned" : ""}.`,
  );
}

export const resetTwoFactor = {
  operations: [forge.resetUserTwoFactor],
  output: shape({ reset: "boolean", username: "string" }),
  destructive: true,
  define(command, cli, run = runResetTwoFactor): void {
    command
      .argument("<username>", "the user's name")
      .action((username: string) => run(cli, { username }));
  },
} satisfies CommandModule;

/** Disables the second factor of a user who lost it: the password alone signs in again. */
async function runResetTwoFactor(
  cli: CliContext,
  { username }: { readonly username: string },
): Promise<void> {
  await cli.prompts.confirm(`Reset the second factor of ${username}?`);
  await cli.client.call(forge.resetUserTwoFactor, { params: { username } });
  await cli.output.done({ reset: true, username }, `${username} signs in without a second factor.`);
}

/** Whether the user may sign in: `prohibited` and `inactive` users may not. */
export function toUserState({ active, prohibit_login: isProhibited }: WireUser): string {
  return isProhibited ? "prohibited" : active ? "active" : "inactive";
}

/** A forge user in a table. */
export const userColumns: readonly Column<WireUser>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "username", cell: ({ username }) => username },
  { header: "full name", cell: ({ full_name: fullName }) => fullName },
  { header: "email", cell: ({ email }) => email },
  { header: "admin", cell: ({ is_admin: isAdmin }) => isAdmin },
  { header: "state", cell: toUserState },
  { header: "last login", cell: ({ last_login: lastLogin }) => time(lastLogin) },
  { header: "created", cell: ({ created }) => time(created) },
];
