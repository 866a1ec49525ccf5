import { vault } from "../../../client/operations.ts";
import { type Command, Option } from "commander";
import { vaultPages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import { listOf } from "../../../output/spec.ts";
import { managedUserColumns } from "./user-columns.ts";

export const operations = [vault.listUsers];
export const output = listOf(vault.listUsers, "items");

/** What the command was given. */
export interface UserListOptions {
  readonly search?: string;
  readonly role?: "user" | "admin";
  readonly active?: "true" | "false";
}

export function define(command: Command, cli: CliContext, run = runUserList): void {
  command
    .option("--search <text>", "part of the handle or e-mail address")
    .addOption(new Option("--role <role>", "only this role").choices(["user", "admin"]))
    .addOption(
      new Option("--active <true|false>", "only active or only inactive ones").choices([
        "true",
        "false",
      ]),
    )
    .action((options: UserListOptions) => run(cli, options));
}

/** Prints the users of the vault, oldest first. */
async function runUserList(cli: CliContext, options: UserListOptions): Promise<void> {
  const query = { q: options.search, role: options.role, is_active: options.active };
  await cli.output.list(vaultPages(cli.client, vault.listUsers, { query }), managedUserColumns);
}
