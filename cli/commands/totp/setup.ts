import type { Command } from "commander";
import type { startTwoFactor as startTwoFactorEndpoint } from "../../../daemon/contract/forge/accounts/two-factor.ts";
import { operation } from "../../client/operation.ts";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { getCurrentUser } from "../token/token-owner.ts";
import { addPasswordFlag, type OwnPasswordFlags, signInByPassword } from "./own-password.ts";

const startTwoFactor = operation<typeof startTwoFactorEndpoint>(
  "forge.user.two_factor.start",
  "POST",
  "/api/v1/user/2fa/setup",
);

export const operations = [startTwoFactor, getCurrentUser];
export const output = resourceOf(startTwoFactor);

export function define(command: Command, cli: CliContext, run = runTotpSetup): void {
  addPasswordFlag(command).action((flags: OwnPasswordFlags) => run(cli, flags));
}

/** Gets a secret for an authenticator app. Nothing changes until `croft totp enable` gets a code of it. */
async function runTotpSetup(cli: CliContext, flags: OwnPasswordFlags): Promise<void> {
  const { body } = await cli.client.call(startTwoFactor, {}, await signInByPassword(cli, flags));
  await cli.output.resource(body, [
    { header: "secret", cell: ({ secret }) => secret },
    { header: "address", cell: ({ otpauth_url: address }) => address },
  ]);
}
