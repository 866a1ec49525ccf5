import type { Command } from "commander";
import type { register as registerEndpoint } from "../../../daemon/contract/vault/auth.ts";
import { operation } from "../../client/operation.ts";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { readNewSecret } from "../secret-input.ts";
import { accountColumns } from "./account-columns.ts";

const register = operation<typeof registerEndpoint>(
  "vault.auth.account.register",
  "POST",
  "/api/auth/register",
);

export const operations = [register];
export const output = resourceOf(register, 201);

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
    register,
    { body: { handle, email, password } },
    { authorization: "none" },
  );
  await cli.output.resource(body, accountColumns);
}
