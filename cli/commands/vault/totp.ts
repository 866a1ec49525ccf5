import { vault } from "../../client/operations.ts";
import { resourceOf } from "../../output/spec.ts";
import type { Entry } from "../../tree/entry.ts";
import { toEndedText } from "./session.ts";
import { command } from "../../tree/command.ts";

export const entries: readonly Entry[] = [
  command("setup", "Create a secret for an authenticator app", {
    calls: [vault.setupTotp],
    output: resourceOf(vault.setupTotp),
    examples: [
      ["Show a secret for your authenticator app", "croft vault totp setup"],
      ["Print it as JSON", "croft vault totp setup --json"],
    ],
    /**
     * Prints a secret for an authenticator app, on a terminal also as a QR code. The secret is valid for 15 minutes and
     * takes effect with `croft vault totp enable`.
     */
    async run(cli) {
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
      cli.io.note(
        'Add it to your app, then give the code it shows: "croft vault totp enable CODE"',
      );
    },
  }),
  command("enable", "Enable the second factor", {
    args: { "[code]": "the six digits that the app shows" },
    calls: [vault.enableTotp],
    output: resourceOf(vault.enableTotp),
    examples: [
      ["Enable the second factor", "croft vault totp enable 123456"],
      ["Show the request only", "croft vault totp enable 123456 --dry-run"],
    ],
    /** Turns the second factor on and prints the backup codes, which are never shown again. All other sessions end. */
    async run(cli, { code }) {
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
    },
  }),
  command("disable", "Disable the second factor", {
    calls: [vault.disableTotp],
    output: resourceOf(vault.disableTotp),
    destructive: true,
    examples: [
      ["Disable the second factor", "croft vault totp disable --yes"],
      ["Show the request only", "croft vault totp disable --dry-run"],
    ],
    /** Turns the second factor off, which invalidates the backup codes. All other sessions end. */
    async run(cli) {
      await cli.prompts.confirm("Disable the second factor?");
      const { body } = await cli.client.call(vault.disableTotp);
      await cli.output.done(
        body,
        `The password alone signs in from now on. ${toEndedText(body.sessions_revoked)}`,
      );
    },
  }),
];
