import { toChoice } from "../../support/flag-values.ts";
import { forge, type InputOf } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import { listOf, resourceOf, shape } from "../../output/spec.ts";
import { type Entry, noun } from "../../tree/entry.ts";
import { userColumns } from "../../support/users.ts";
import { command, commandDetails } from "../../tree/command.ts";

const listUsers = commandDetails({
  flags: {
    "--search <text>": "in user name, full name and e-mail",
    "--sort <key>": "name, created, updated or id",
    "--order <order>": "asc or desc",
    "--visibility <visibility>": "public, limited or private",
    "--active <true|false>": {
      help: "only active users, or only others",
      parse: toTrueFalse("--active"),
    },
    "--admin <true|false>": {
      help: "only site administrators, or only others",
      parse: toTrueFalse("--admin"),
    },
    "--restricted <true|false>": {
      help: "only restricted users, or only others",
      parse: toTrueFalse("--restricted"),
    },
    "--2fa <true|false>": {
      help: "only users with a second factor, or only others",
      parse: toTrueFalse("--2fa"),
    },
    "--prohibit-login <true|false>": {
      help: "only users who may not sign in, or only others",
      parse: toTrueFalse("--prohibit-login"),
    },
    "--source-id <id>": "only users of this login source",
    "--login-name <name>": "only the user with this name at the login source",
  },
  calls: [forge.listUsers],
  output: listOf(forge.listUsers),
  examples: [
    ["List the administrators", "croft admin user list --admin true"],
    ["Write all users to a file", "croft admin user list --all --format csv > users.csv"],
  ],
  /** Prints the forge's users. */
  async run(cli, flags) {
    const query = toOptions(flags);

    await cli.output.list(forgePages(cli.client, forge.listUsers, { query }), userColumns);
  },
});

export const entries: readonly Entry[] = [
  command("list", "List and search forge users", async () => listUsers, {
    aliases: ["ls"],
  }),
  command("create", "Create a forge user", async () => (await import("./user-edit.ts")).createUser),
  command("view", "Show a forge user", {
    args: { "<username>": "the user's name" },
    calls: [forge.getUser],
    output: resourceOf(forge.getUser),
    examples: [
      ["Show a user", "croft admin user view mira"],
      ["Print when the user signed in last", "croft admin user view mira --jq .last_login"],
    ],
    async run(cli, { username }) {
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
    },
  }),
  command("edit", "Edit a forge user", async () => (await import("./user-edit.ts")).editUser),
  command("rename", "Rename a forge user", {
    args: {
      "<username>": "the user's name",
      "<new-name>": "the new name; the old one redirects to it",
    },
    calls: [forge.renameUser],
    output: shape({ renamed: "boolean", from: "string", username: "string" }),
    examples: [
      ["Rename a user", "croft admin user rename mira mira-l"],
      ["Show the request only", "croft admin user rename mira mira-l --dry-run"],
    ],
    async run(cli, { username, newName }) {
      await cli.client.call(forge.renameUser, {
        params: { username },
        body: { new_username: newName },
      });
      await cli.output.done(
        { renamed: true, from: username, username: newName },
        `Renamed ${username} to ${newName}.`,
      );
    },
  }),
  command("delete", "Delete a forge user", {
    aliases: ["rm"],
    args: { "<username>": "the user's name" },
    flags: { "--purge": "also delete the user's repositories, packages and organizations" },
    calls: [forge.deleteUser],
    output: shape({ deleted: "boolean", username: "string", purged: "boolean" }),
    destructive: true,
    examples: [
      ["Delete a user who owns nothing", "croft admin user delete mira --yes"],
      [
        "Delete a user and everything that the user owns",
        "croft admin user delete mira --purge --confirm mira",
      ],
    ],
    /** Deletes a user. A purge deletes everything that the user owns, so it is confirmed by typing the name. */
    async run(cli, { username, purge = false }) {
      if (purge)
        await cli.prompts.confirm(`Delete the user ${username} and everything it owns?`, username);
      else await cli.prompts.confirm(`Delete the user ${username}?`);
      await cli.client.call(forge.deleteUser, { params: { username }, query: { purge } });
      await cli.output.done(
        { deleted: true, username, purged: purge },
        `Deleted the user ${username}${purge ? " and everything it owned" : ""}.`,
      );
    },
  }),
  command("reset-2fa", "Reset the second factor of a forge user", {
    args: { "<username>": "the user's name" },
    calls: [forge.resetUserTwoFactor],
    output: shape({ reset: "boolean", username: "string" }),
    destructive: true,
    examples: [
      ["Turn the second factor of a user off", "croft admin user reset-2fa mira --yes"],
      ["Show the request only", "croft admin user reset-2fa mira --dry-run"],
    ],
    /** Disables the second factor of a user who lost it: the password alone signs in again. */
    async run(cli, { username }) {
      await cli.prompts.confirm(`Reset the second factor of ${username}?`);
      await cli.client.call(forge.resetUserTwoFactor, { params: { username } });
      await cli.output.done(
        { reset: true, username },
        `${username} signs in without a second factor.`,
      );
    },
  }),
  noun("key", "Public keys of a forge user", () => import("./user-key.ts")),
  noun("badge", "Badges of a forge user", () => import("./user-badge.ts")),
];

/** The query that the flags describe. */
export type UserListOptions = NonNullable<InputOf<typeof forge.listUsers>["query"]>;

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
