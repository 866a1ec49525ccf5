import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";

export const operations = [vault.setupTotp];
export const output = resourceOf(vault.setupTotp);

export function define(command: Command, cli: CliContext, run = runTotpSetup): void {
  command.action(() => run(cli));
}

/**
 * Gets a secret for an authenticator app, on a terminal as a QR code to scan too. It waits 15 minutes for
 * `croft vault totp enable`; until then nothing changes.
 */
async function runTotpSetup(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(vault.setupTotp);
  if (cli.io.isOutputTerminal && !cli.output.isMachine) {
    const { renderUnicodeCompact } = await import("uqr");
    const code = renderUnicodeCompact(body.provisioning_uri, { border: 2 });
    // A code with broken lines cannot be read.
    if (code.indexOf("\n") <= cli.io.columns) await cli.io.write(`${code}\n\n`);
  }
  await cli.output.resource(body, [
    { header: "secret", cell: ({ secret }) => secret },
    { header: "address", cell: ({ provisioning_uri: address }) => address },
  ]);
  cli.io.note('Add it to your app, then give the code it shows: "croft vault totp enable CODE"');
}
