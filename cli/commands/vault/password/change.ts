import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { toEndedText } from "../ended-text.ts";
import { readTwoSecrets } from "./two-secrets.ts";

export const operations = [vault.changePassword];
export const output = resourceOf(vault.changePassword);

/** What the command was given. */
export interface PasswordChangeOptions {
  readonly fromInput: boolean;
}

export function define(command: Command, cli: CliContext, run = runPasswordChange): void {
  command
    .option("--password-stdin", "read the present and the new password, a line each")
    .action(({ passwordStdin }: { readonly passwordStdin?: true }) =>
      run(cli, { fromInput: passwordStdin === true }),
    );
}

/** Changes the caller's password. All other sessions end. */
async function runPasswordChange(
  cli: CliContext,
  { fromInput }: PasswordChangeOptions,
): Promise<void> {
  const { given, fresh } = await readTwoSecrets(cli, {
    fromInput,
    flag: "--password-stdin",
    first: "Present password:",
    second: "New password:",
  });
  const { body } = await cli.client.call(vault.changePassword, {
    body: { current_password: given, new_password: fresh },
  });
  await cli.output.done(body, `Changed the password. ${toEndedText(body.sessions_revoked)}`);
}
