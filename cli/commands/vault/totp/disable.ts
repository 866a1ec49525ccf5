import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { toEndedText } from "../ended-text.ts";

export const operations = [vault.disableTotp];
export const output = resourceOf(vault.disableTotp);
export const destructive = true;

export function define(command: Command, cli: CliContext, run = runTotpDisable): void {
  command.action(() => run(cli));
}

/** Turns the second factor off; the backup codes are worth nothing from then on. All other sessions end. */
async function runTotpDisable(cli: CliContext): Promise<void> {
  await cli.prompts.confirm("Turn the second factor off?");
  const { body } = await cli.client.call(vault.disableTotp);
  await cli.output.done(
    body,
    `The password alone signs in from now on. ${toEndedText(body.sessions_revoked)}`,
  );
}
