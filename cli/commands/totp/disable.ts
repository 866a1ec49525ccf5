import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { shape } from "../../output/spec.ts";
import { addPasswordFlag, type OwnPasswordFlags, signInByPassword } from "./own-password.ts";

export const operations = [forge.disableTwoFactor, forge.getCurrentUser];
export const output = shape({ enabled: "boolean" });
export const destructive = true;

/** What the command was given. */
export interface TotpDisableOptions extends OwnPasswordFlags {
  readonly code: string;
}

export function define(command: Command, cli: CliContext, run = runTotpDisable): void {
  addPasswordFlag(command)
    .argument("<code>", "a code of the authenticator app")
    .action((code: string, flags: OwnPasswordFlags) => run(cli, { ...flags, code }));
}

/** Turns the second factor off. */
async function runTotpDisable(cli: CliContext, options: TotpDisableOptions): Promise<void> {
  await cli.prompts.confirm("Turn the second factor off?");
  await cli.client.call(forge.disableTwoFactor, {}, await signInByPassword(cli, options));
  await cli.output.done({ enabled: false }, "The password alone signs in from now on.");
}
