import type { InputOf } from "../../../client/operation.ts";
import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import { forgePages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { usageError } from "../../../errors.ts";
import { listOf } from "../../../output/spec.ts";
import { userColumns } from "./user-columns.ts";

export const operations = [forge.listUsers];
export const output = listOf(forge.listUsers);

/** The query as the flags give it. */
export type UserListOptions = NonNullable<InputOf<typeof forge.listUsers>["query"]>;

export function define(command: Command, cli: CliContext, run = runUserList): void {
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
}

/** Prints the forge's users. */
async function runUserList(cli: CliContext, query: UserListOptions): Promise<void> {
  await cli.output.list(forgePages(cli.client, forge.listUsers, { query }), userColumns);
}

/** The server takes every other word for false. */
function toTrueFalse(flag: string): (given: string) => string {
  return (given) => {
    if (given === "true" || given === "false") return given;
    throw usageError(`${flag} takes true or false, not ${JSON.stringify(given)}`);
  };
}

function toOptions(flags: Readonly<Record<string, string | undefined>>): UserListOptions {
  // `order` counts only beside a `sort`.
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
