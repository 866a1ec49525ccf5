import type { Command } from "commander";
import type { disableTotp as disableTotpEndpoint } from "../../../../daemon/contract/vault/auth.ts";
import { operation } from "../../../client/operation.ts";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { toEndedText } from "../ended-text.ts";

const disableTotp = operation<typeof disableTotpEndpoint>(
  "vault.auth.totp.disable",
  "DELETE",
  "/api/auth/totp",
);

export const operations = [disableTotp];
export const output = resourceOf(disableTotp);
export const destructive = true;

export function define(command: Command, cli: CliContext, run = runTotpDisable): void {
  command.action(() => run(cli));
}

/** Turns the second factor off; the backup codes are worth nothing from then on. All other sessions end. */
async function runTotpDisable(cli: CliContext): Promise<void> {
  await cli.prompts.confirm("Turn the second factor off?");
  const { body } = await cli.client.call(disableTotp);
  await cli.output.done(
    body,
    `The password alone signs in from now on. ${toEndedText(body.sessions_revoked)}`,
  );
}
