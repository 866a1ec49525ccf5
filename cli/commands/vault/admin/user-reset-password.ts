import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { findUserId } from "./find-user.ts";

export const operations = [vault.resetUserPassword, vault.listUsers];
export const output = resourceOf(vault.resetUserPassword, 202);

/** What the command was given. */
export interface UserResetPasswordOptions {
  readonly user: string;
}

export function define(command: Command, cli: CliContext, run = runUserResetPassword): void {
  command
    .argument("<user>", "the user's handle or id")
    .action((user: string) => run(cli, { user }));
}

/** Ends a user's sessions and mails a link: without another password they do not come in again. */
async function runUserResetPassword(
  cli: CliContext,
  { user }: UserResetPasswordOptions,
): Promise<void> {
  const id = await findUserId(cli, user);
  const { body } = await cli.client.call(vault.resetUserPassword, { params: { id } });
  await cli.output.done(body, body.message);
}
