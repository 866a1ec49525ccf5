import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { readTwoSecrets } from "./two-secrets.ts";

export const operations = [vault.confirmPasswordReset];
export const output = resourceOf(vault.confirmPasswordReset);

/** What the command was given. */
export interface PasswordConfirmOptions {
  readonly fromInput: boolean;
}

export function define(command: Command, cli: CliContext, run = runPasswordConfirm): void {
  command
    .option("--password-stdin", "read the link and the new password, a line each")
    .action(({ passwordStdin }: { readonly passwordStdin?: true }) =>
      run(cli, { fromInput: passwordStdin === true }),
    );
}

/** Sets another password with the link of a mail. It signs nobody in, and ends every session. */
async function runPasswordConfirm(
  cli: CliContext,
  { fromInput }: PasswordConfirmOptions,
): Promise<void> {
  const { given, fresh } = await readTwoSecrets(cli, {
    fromInput,
    flag: "--password-stdin",
    first: "Link from the mail:",
    second: "New password:",
  });
  const { body } = await cli.client.call(
    vault.confirmPasswordReset,
    { body: { token: toToken(given), new_password: fresh } },
    { authorization: "none" },
  );
  await cli.output.done(body, body.message);
}

/** The token of a link; what is no link is taken for the token itself. */
function toToken(given: string): string {
  const link = URL.canParse(given) ? new URL(given) : undefined;
  return link?.searchParams.get("token") ?? given;
}
