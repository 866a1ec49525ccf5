import { toBasic } from "../client/authorize.ts";
import type { CallOptions } from "../client/client.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { resourceOf, shape } from "../output/spec.ts";
import { readSecret } from "../support/secrets.ts";
import { findOwner } from "../support/token-owner.ts";
import type { Entry } from "../tree/entry.ts";
import { command, type FlagValues } from "../tree/command.ts";

const passwordFlag = { "--password-stdin": "read your password from standard input" } as const;

export const entries: readonly Entry[] = [
  command("status", "Show whether the second factor is on", {
    calls: [forge.getTwoFactor],
    output: resourceOf(forge.getTwoFactor),
    examples: [
      ["Show whether the second factor is on", "croft totp status"],
      ["Print true or false", "croft totp status --jq .enabled"],
    ],
    /** Prints whether the second factor is on. */
    async run(cli) {
      const { body } = await cli.client.call(forge.getTwoFactor);
      await cli.output.resource(body, [{ header: "enabled", cell: ({ enabled }) => enabled }]);
    },
  }),
  command("setup", "Create a secret for an authenticator app", {
    flags: passwordFlag,
    calls: [forge.startTwoFactor, forge.getCurrentUser],
    output: resourceOf(forge.startTwoFactor),
    examples: [
      [
        "Show a secret for your authenticator app",
        "croft totp setup --password-stdin < password.txt",
      ],
      [
        "Print the address for a QR code",
        "croft totp setup --password-stdin --jq .otpauth_url < password.txt",
      ],
    ],
    /** Prints a secret for an authenticator app. `croft totp enable` with a code of it enables the factor. */
    async run(cli, flags) {
      const { body } = await cli.client.call(
        forge.startTwoFactor,
        {},
        await signInByPassword(cli, flags),
      );
      await cli.output.resource(body, [
        { header: "secret", cell: ({ secret }) => secret },
        { header: "address", cell: ({ otpauth_url: address }) => address },
      ]);
    },
  }),
  command("enable", "Enable the second factor", {
    args: { "<code>": 'a code of the app that got the secret of "croft totp setup"' },
    flags: passwordFlag,
    calls: [forge.confirmTwoFactor, forge.getCurrentUser],
    output: shape({ enabled: "boolean" }),
    examples: [
      ["Enable the second factor", "croft totp enable 123456 --password-stdin < password.txt"],
      [
        "Show the request only",
        "croft totp enable 123456 --password-stdin --dry-run < password.txt",
      ],
    ],
    /** Turns the second factor on. */
    async run(cli, { code, ...flags }) {
      const signIn = await signInByPassword(cli, flags);
      await cli.client.call(forge.confirmTwoFactor, { body: { code } }, signIn);
      await cli.output.done(
        { enabled: true },
        "Signing in with the password takes a code from now on. There are no backup codes: access tokens work without a " +
          'code, and an administrator disables a factor that is lost with "croft admin user reset-2fa".',
      );
    },
  }),
  command("disable", "Disable the second factor", {
    args: { "<code>": "a code of the authenticator app" },
    flags: passwordFlag,
    calls: [forge.disableTwoFactor, forge.getCurrentUser],
    output: shape({ enabled: "boolean" }),
    destructive: true,
    prompted: ["--password-stdin", "--yes"],
    examples: [
      [
        "Disable the second factor",
        "croft totp disable 123456 --password-stdin --yes < password.txt",
      ],
      [
        "Show the request only",
        "croft totp disable 123456 --password-stdin --dry-run < password.txt",
      ],
    ],
    /** Turns the second factor off. */
    async run(cli, options) {
      await cli.prompts.confirm("Disable the second factor?");
      await cli.client.call(forge.disableTwoFactor, {}, await signInByPassword(cli, options));
      await cli.output.done({ enabled: false }, "The password alone signs in from now on.");
    },
  }),
];

/** Signs a call in with the caller's own password, because these routes refuse tokens. `code` is one of the second factor. */
async function signInByPassword(
  cli: CliContext,
  { passwordStdin, code }: FlagValues<typeof passwordFlag> & { readonly code?: string },
): Promise<CallOptions> {
  // A dry run sends nothing, so it needs no confirmation.
  if (cli.flags.dryRun) return {};
  const { username } = await findOwner(cli, {});
  const password = await readSecret(cli, {
    fromInput: passwordStdin === true,
    question: `Password of ${username}:`,
    flag: "--password-stdin",
  });
  return {
    authorization: toBasic(username, password),
    ...(code === undefined ? {} : { headers: { "X-Gitea-OTP": code } }),
  };
}
