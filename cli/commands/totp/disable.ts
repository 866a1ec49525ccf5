import type { Command } from "commander";
import type { disableTwoFactor as disableTwoFactorEndpoint } from "../../../daemon/contract/forge/accounts/two-factor.ts";
import { operation } from "../../client/operation.ts";
import type { CliContext } from "../../context.ts";
import { shape } from "../../output/spec.ts";
import { getCurrentUser } from "../token/token-owner.ts";
import { addPasswordFlag, type OwnPasswordFlags, signInByPassword } from "./own-password.ts";

const disableTwoFactor = operation<typeof disableTwoFactorEndpoint>(
  "forge.user.two_factor.disable",
  "DELETE",
  "/api/v1/user/2fa",
);

export const operations = [disableTwoFactor, getCurrentUser];
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
  await cli.client.call(disableTwoFactor, {}, await signInByPassword(cli, options));
  await cli.output.done({ enabled: false }, "The password alone signs in from now on.");
}
