import { vault } from "../../../client/operations.ts";
import { type Command, Option } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { managedUserColumns } from "./user-columns.ts";

export const operations = [vault.createUser];
export const output = resourceOf(vault.createUser, 201);

/** What the command was given. */
export interface UserCreateOptions {
  readonly handle: string;
  readonly email: string;
  readonly role?: "user" | "admin";
}

export function define(command: Command, cli: CliContext, run = runUserCreate): void {
  command
    .requiredOption("--handle <handle>", "the user's name in the vault")
    .requiredOption("--email <address>", "where the link to choose a password goes")
    .addOption(new Option("--role <role>", "user when absent").choices(["user", "admin"]))
    .action((options: UserCreateOptions) => run(cli, options));
}

/** Makes an account without a password; its owner chooses one by the mailed link. */
async function runUserCreate(cli: CliContext, options: UserCreateOptions): Promise<void> {
  const { body } = await cli.client.call(vault.createUser, { body: options });
  await cli.output.resource(body, managedUserColumns);
}
