import type { Command } from "commander";
import type { resetUserTwoFactor as resetEndpoint } from "../../../../daemon/contract/forge/accounts/two-factor.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { shape } from "../../../output/spec.ts";

const resetTwoFactor = operation<typeof resetEndpoint>(
  "forge.admin.users.two_factor.reset",
  "DELETE",
  "/api/v1/admin/users/:username/2fa",
);

export const operations = [resetTwoFactor];
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
  await cli.client.call(resetTwoFactor, { params: { username } });
  await cli.output.done({ reset: true, username }, `${username} signs in without a second factor.`);
}
