import type { Command } from "commander";
import { toBasic } from "../client/authorize.ts";
import type { CallOptions } from "../client/client.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { resourceOf, shape } from "../output/spec.ts";
import { readSecret } from "../support/secrets.ts";
import { findOwner } from "../support/token-owner.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("status", "Show whether the second factor is on", () => statusTotp),
  verb("setup", "Create a secret for an authenticator app", () => setupTotp),
  verb("enable", "Enable the second factor", () => enableTotp),
  verb("disable", "Disable the second factor", () => disableTotp),
];

const statusTotp = {
  operations: [forge.getTwoFactor],
  output: resourceOf(forge.getTwoFactor),
  define(command, cli, run = runTotpStatus): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Prints whether the second factor is on. */
async function runTotpStatus(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(forge.getTwoFactor);
  await cli.output.resource(body, [{ header: "enabled", cell: ({ enabled }) => enabled }]);
}

export const setupTotp = {
  operations: [forge.startTwoFactor, forge.getCurrentUser],
  output: resourceOf(forge.startTwoFactor),
  define(command, cli, run = runTotpSetup): void {
    addPasswordFlag(command).action((flags: OwnPasswordFlags) => run(cli, flags));
  },
} satisfies CommandModule;

/** Prints a secret for an authenticator app. `croft totp enable` with a code of it enables the factor. */
async function runTotpSetup(cli: CliContext, flags: OwnPasswordFlags): Promise<void> {
  const { body } = await cli.client.call(
    forge.startTwoFactor,
    {},
    await signInByPassword(cli, flags),
  );
  await cli.output.resource(body, [
    { header: "secret", cell: ({ secret }) => secret },
    { header: "address", cell: ({ otpauth_url: address }) => address },
  ]);
}

interface TotpEnableOptions extends Pick<OwnPasswordFlags, "passwordStdin"> {
  readonly code: string;
}

export const enableTotp = {
  operations: [forge.confirmTwoFactor, forge.getCurrentUser],
  output: shape({ enabled: "boolean" }),
  define(command, cli, run = runTotpEnable): void {
    addPasswordFlag(command)
      .argument("<code>", 'a code of the app that got the secret of "croft totp setup"')
      .action((code: string, flags: OwnPasswordFlags) => run(cli, { ...flags, code }));
  },
} satisfies CommandModule;

/** Turns the second factor on. */
async function runTotpEnable(
  cli: CliContext,
  { code, ...flags }: TotpEnableOptions,
): Promise<void> {
  const signIn = await signInByPassword(cli, flags);
  await cli.client.call(forge.confirmTwoFactor, { body: { code } }, signIn);
  await cli.output.done(
    { enabled: true },
    "Signing in with the password takes a code from now on. There are no backup codes: access tokens work without a " +
      'code, and an administrator disables a factor that is lost with "croft admin user reset-2fa".',
  );
}

interface TotpDisableOptions extends OwnPasswordFlags {
  readonly code: string;
}

export const disableTotp = {
  operations: [forge.disableTwoFactor, forge.getCurrentUser],
  output: shape({ enabled: "boolean" }),
  destructive: true,
  prompted: ["--password-stdin", "--yes"],
  define(command, cli, run = runTotpDisable): void {
    addPasswordFlag(command)
      .argument("<code>", "a code of the authenticator app")
      .action((code: string, flags: OwnPasswordFlags) => run(cli, { ...flags, code }));
  },
} satisfies CommandModule;

/** Turns the second factor off. */
async function runTotpDisable(cli: CliContext, options: TotpDisableOptions): Promise<void> {
  await cli.prompts.confirm("Disable the second factor?");
  await cli.client.call(forge.disableTwoFactor, {}, await signInByPassword(cli, options));
  await cli.output.done({ enabled: false }, "The password alone signs in from now on.");
}

/** Flags of every command that changes how the caller signs in. */
interface OwnPasswordFlags {
  readonly passwordStdin?: true;
  /** A code of the second factor that is on. */
  readonly code?: string;
}

function addPasswordFlag(command: Command): Command {
  return command.option("--password-stdin", "read your password from standard input");
}

/** Signs a call in with the caller's own password, because these routes refuse tokens. */
async function signInByPassword(
  cli: CliContext,
  { passwordStdin, code }: OwnPasswordFlags,
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
