import { vault } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";
import { toEndedText } from "./session.ts";

export const entries: readonly Entry[] = [
  verb("setup", "Create a secret for an authenticator app", () => setupTotp),
  verb("enable", "Enable the second factor", () => enableTotp),
  verb("disable", "Disable the second factor", () => disableTotp),
];

const setupTotp = {
  operations: [vault.setupTotp],
  output: resourceOf(vault.setupTotp),
  define(command, cli, run = runTotpSetup): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/**
 * Prints a secret for an authenticator app, on a terminal also as a QR code. The secret is valid for 15 minutes and
 * takes effect with `croft vault totp enable`.
 */
async function runTotpSetup(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(vault.setupTotp);
  if (cli.io.isOutputTerminal && !cli.output.isMachine) {
    const { renderUnicodeCompact } = await import("uqr");
    const code = renderUnicodeCompact(body.provisioning_uri, { border: 2 });
    // A QR code with wrapped lines cannot be scanned.
    if (code.indexOf("\n") <= cli.io.columns) await cli.io.write(`${code}\n\n`);
  }
  await cli.output.resource(body, [
    { header: "secret", cell: ({ secret }) => secret },
    { header: "address", cell: ({ provisioning_uri: address }) => address },
  ]);
  cli.io.note('Add it to your app, then give the code it shows: "croft vault totp enable CODE"');
}

export interface TotpEnableOptions {
  /** Undefined: prompt for it. */
  readonly code: string | undefined;
}

export const enableTotp = {
  operations: [vault.enableTotp],
  output: resourceOf(vault.enableTotp),
  define(command, cli, run = runTotpEnable): void {
    command
      .argument("[code]", "the six digits that the app shows")
      .action((code: string | undefined) => run(cli, { code }));
  },
} satisfies CommandModule;

/** Turns the second factor on and prints the backup codes, which are never shown again. All other sessions end. */
async function runTotpEnable(cli: CliContext, { code }: TotpEnableOptions): Promise<void> {
  const totpCode = code ?? (await cli.prompts.text("Code of the app:", "<code>"));
  const { body } = await cli.client.call(vault.enableTotp, {
    body: { code: totpCode.replace(/\s/g, "") },
  });
  await cli.output.resource(body, [
    { header: "backup codes", cell: ({ backup_codes: codes }) => codes },
  ]);
  cli.io.note(
    `The second factor is on. Keep the backup codes: each signs you in once without the app. ${toEndedText(body.sessions_revoked)}`,
  );
}

const disableTotp = {
  operations: [vault.disableTotp],
  output: resourceOf(vault.disableTotp),
  destructive: true,
  define(command, cli, run = runTotpDisable): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Turns the second factor off, which invalidates the backup codes. All other sessions end. */
async function runTotpDisable(cli: CliContext): Promise<void> {
  await cli.prompts.confirm("Disable the second factor?");
  const { body } = await cli.client.call(vault.disableTotp);
  await cli.output.done(
    body,
    `The password alone signs in from now on. ${toEndedText(body.sessions_revoked)}`,
  );
}
