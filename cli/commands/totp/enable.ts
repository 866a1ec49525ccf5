import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { shape } from "../../output/spec.ts";
import { addPasswordFlag, type OwnPasswordFlags, signInByPassword } from "./own-password.ts";

export const operations = [forge.confirmTwoFactor, forge.getCurrentUser];
export const output = shape({ enabled: "boolean" });

/** What the command was given. */
export interface TotpEnableOptions extends Pick<OwnPasswordFlags, "passwordStdin"> {
  readonly code: string;
}

export function define(command: Command, cli: CliContext, run = runTotpEnable): void {
  addPasswordFlag(command)
    .argument("<code>", 'a code of the app that got the secret of "croft totp setup"')
    .action((code: string, flags: OwnPasswordFlags) => run(cli, { ...flags, code }));
}

/** Turns the second factor on. */
async function runTotpEnable(
  cli: CliContext,
  { code, ...flags }: TotpEnableOptions,
): Promise<void> {
  const signIn = await signInByPassword(cli, flags);
  await cli.client.call(forge.confirmTwoFactor, { body: { code } }, signIn);
  await cli.output.done(
    { enabled: true },
    "Signing in with the password takes a code from now on.",
  );
}
