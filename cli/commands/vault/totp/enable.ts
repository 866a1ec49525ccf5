import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { toEndedText } from "../ended-text.ts";

export const operations = [vault.enableTotp];
export const output = resourceOf(vault.enableTotp);

/** What the command was given. */
export interface TotpEnableOptions {
  /** Undefined when it is to be asked for. */
  readonly code: string | undefined;
}

export function define(command: Command, cli: CliContext, run = runTotpEnable): void {
  command
    .argument("[code]", "the six digits that the app shows")
    .action((code: string | undefined) => run(cli, { code }));
}

/** Turns the second factor on and prints the backup codes, which are never shown again. All other sessions end. */
async function runTotpEnable(cli: CliContext, { code }: TotpEnableOptions): Promise<void> {
  const given = code ?? (await cli.prompts.text("Code of the app:", "the code as an argument"));
  const { body } = await cli.client.call(vault.enableTotp, {
    body: { code: given.replace(/\s/g, "") },
  });
  await cli.output.resource(body, [
    { header: "backup codes", cell: ({ backup_codes: codes }) => codes },
  ]);
  cli.io.note(
    `The second factor is on. Keep the backup codes: each signs you in once without the app. ${toEndedText(body.sessions_revoked)}`,
  );
}
