import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { shape } from "../../../output/spec.ts";

export const operations = [forge.resetUserTwoFactor];
export const output = shape({ reset: "boolean", username: "string" });
export const destructive = true;

export function define(command: Command, cli: CliContext, run = runResetTwoFactor): void {
  command
    .argument("<username>", "the user's name")
    .action((username: string) => run(cli, { username }));
}

/** Takes the second factor from a user who lost it: the password alone signs in again. */
async function runResetTwoFactor(
  cli: CliContext,
  { username }: { readonly username: string },
): Promise<void> {
  await cli.prompts.confirm(`Take the second factor from ${username}?`);
  await cli.client.call(forge.resetUserTwoFactor, { params: { username } });
  await cli.output.done({ reset: true, username }, `${username} signs in without a second factor.`);
}
