import { vault } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { readNewSecret } from "../secret-input.ts";
import { accountColumns } from "./account-columns.ts";

export const operations = [vault.register];
export const output = resourceOf(vault.register, 201);

/** What the command was given. */
export interface RegisterOptions {
  readonly handle: string;
  readonly email: string;
  readonly passwordFromInput: boolean;
}

interface Flags {
  readonly handle: string;
  readonly email: string;
  readonly passwordStdin?: true;
}

export function define(command: Command, cli: CliContext, run = runRegister): void {
  command
    .requiredOption("--handle <handle>", "your name in the vault")
    .requiredOption("--email <address>", "your e-mail address")
    .option("--password-stdin", "read the password from standard input")
    .action(({ passwordStdin, ...rest }: Flags) =>
      run(cli, { ...rest, passwordFromInput: passwordStdin === true }),
    );
}

/** Registers an account in the vault. It does not sign in. */
async function runRegister(cli: CliContext, options: RegisterOptions): Promise<void> {
  const { handle, email, passwordFromInput } = options;
  const password = await readNewSecret(cli, {
    fromInput: passwordFromInput,
    question: "Password:",
    flag: "--password-stdin",
  });
  const { body } = await cli.client.call(
    vault.register,
    { body: { handle, email, password } },
    { authorization: "none" },
  );
  await cli.output.resource(body, accountColumns);
}
