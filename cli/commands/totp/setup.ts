import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { addPasswordFlag, type OwnPasswordFlags, signInByPassword } from "./own-password.ts";

export const operations = [forge.startTwoFactor, forge.getCurrentUser];
export const output = resourceOf(forge.startTwoFactor);

export function define(command: Command, cli: CliContext, run = runTotpSetup): void {
  addPasswordFlag(command).action((flags: OwnPasswordFlags) => run(cli, flags));
}

/** Gets a secret for an authenticator app. Nothing changes until `croft totp enable` gets a code of it. */
async function runTotpSetup(cli: CliContext, flags: OwnPasswordFlags): Promise<void> {
  const { body } = await cli.client.call(
    forge.startTwoFactor,
    {},
    await signInByPassword(cli, flags),
  );
  await cli.output.resource(body, [
    { header: "secret", cell: ({ secret }) => secret },
    { header: "address", cell: ({ otpauth_url: address }) => address },
  ]);
}
