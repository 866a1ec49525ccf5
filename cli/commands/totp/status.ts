import type { Command } from "commander";
import type { getTwoFactor as getTwoFactorEndpoint } from "../../../daemon/contract/forge/accounts/two-factor.ts";
import { operation } from "../../client/operation.ts";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";

const getTwoFactor = operation<typeof getTwoFactorEndpoint>(
  "forge.user.two_factor.get",
  "GET",
  "/api/v1/user/2fa",
);

export const operations = [getTwoFactor];
export const output = resourceOf(getTwoFactor);

export function define(command: Command, cli: CliContext, run = runTotpStatus): void {
  command.action(() => run(cli));
}

/** Prints whether signing in with the password takes a code. */
async function runTotpStatus(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(getTwoFactor);
  await cli.output.resource(body, [{ header: "enabled", cell: ({ enabled }) => enabled }]);
}
