import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";

export const operations = [vault.requestPasswordReset];
export const output = resourceOf(vault.requestPasswordReset, 202);

/** What the command was given. */
export interface PasswordResetOptions {
  readonly email: string;
}

export function define(command: Command, cli: CliContext, run = runPasswordReset): void {
  command
    .requiredOption("--email <address>", "the account's e-mail address")
    .action((options: PasswordResetOptions) => run(cli, options));
}

/** Asks for a link by mail. The answer is the same whether or not the address has an account. */
async function runPasswordReset(cli: CliContext, { email }: PasswordResetOptions): Promise<void> {
  const { body } = await cli.client.call(
    vault.requestPasswordReset,
    { body: { email } },
    { authorization: "none" },
  );
  await cli.output.done(body, `${body.message} "croft vault password confirm" takes it.`);
}
