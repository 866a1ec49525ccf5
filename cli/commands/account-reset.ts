import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { shape } from "../output/spec.ts";
import { readNewSecret, readSecret, readSecretLines } from "../support/secrets.ts";
import type { CommandModule } from "../tree/entry.ts";

export interface RequestResetOptions {
  readonly email: string;
}

export const requestReset = {
  operations: [forge.requestUserPasswordReset],
  output: shape({ requested: "boolean", email: "string" }),
  define(command, cli, run = runRequestReset): void {
    command
      .requiredOption("--email <address>", "a verified e-mail address of your account")
      .action((flags: RequestResetOptions) => run(cli, flags));
  },
} satisfies CommandModule;

/** Requests a reset link by mail. The response is the same whether or not an account has the address. */
async function runRequestReset(cli: CliContext, { email }: RequestResetOptions): Promise<void> {
  await cli.client.call(
    forge.requestUserPasswordReset,
    { body: { email } },
    { authorization: "none" },
  );
  await cli.output.done(
    { requested: true, email },
    'If an account has this address, a mail with a link is on its way. "croft account confirm-reset" takes it.',
  );
}

export interface ConfirmResetOptions {
  readonly passwordStdin?: true;
}

export const confirmReset = {
  operations: [forge.confirmUserPasswordReset],
  output: shape({ changed: "boolean" }),
  prompted: ["--password-stdin"],
  define(command, cli, run = runConfirmReset): void {
    command
      .option("--password-stdin", "read the link and the new password, a line each")
      .action((flags: ConfirmResetOptions) => run(cli, flags));
  },
} satisfies CommandModule;

/** Sets a password with a mailed link. Does not sign in. */
async function runConfirmReset(
  cli: CliContext,
  { passwordStdin }: ConfirmResetOptions,
): Promise<void> {
  const { link, next } = await readLinkAndPassword(cli, passwordStdin === true);
  await cli.client.call(
    forge.confirmUserPasswordReset,
    { body: { token: toToken(link), new_password: next } },
    { authorization: "none" },
  );
  await cli.output.done(
    { changed: true },
    'Changed your forge password. "croft login forge" signs in with it.',
  );
}

async function readLinkAndPassword(
  cli: CliContext,
  fromInput: boolean,
): Promise<{ readonly link: string; readonly next: string }> {
  const flag = "--password-stdin";
  if (fromInput) {
    const { link = "", next = "" } = await readSecretLines(cli, ["link", "next"], flag);
    return { link, next };
  }
  const link = await readSecret(cli, { fromInput, question: "Link from the mail:", flag });
  return { link, next: await readNewSecret(cli, { fromInput, question: "New password:", flag }) };
}

/** Returns the token of a link, or a text that is not a link as it is. */
function toToken(linkOrToken: string): string {
  const link = URL.canParse(linkOrToken) ? new URL(linkOrToken) : undefined;
  return link?.searchParams.get("code") ?? linkOrToken;
}
