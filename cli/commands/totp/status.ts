import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";

export const operations = [forge.getTwoFactor];
export const output = resourceOf(forge.getTwoFactor);

export function define(command: Command, cli: CliContext, run = runTotpStatus): void {
  command.action(() => run(cli));
}

/** Prints whether signing in with the password takes a code. */
async function runTotpStatus(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(forge.getTwoFactor);
  await cli.output.resource(body, [{ header: "enabled", cell: ({ enabled }) => enabled }]);
}
