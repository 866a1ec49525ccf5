import { describeStrengthRules } from "../../../daemon/contract/vault/password-rules.ts";
import { vault } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { resourceOf } from "../../output/spec.ts";
import { readNewSecret, readSecret } from "../../support/secrets.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";
import { toEndedText } from "./session.ts";

export const entries: readonly Entry[] = [
  verb("change", "Change your password", () => changePassword),
  verb("reset", "Mail yourself a password reset link", () => resetPassword),
  verb("confirm", "Set a new password with a mailed link", () => confirmPassword),
];

export interface PasswordChangeOptions {
  readonly fromInput: boolean;
}

export const changePassword = {
  operations: [vault.changePassword],
  output: resourceOf(vault.changePassword),
  define(command, cli, run = runPasswordChange): void {
    command
      .option("--password-stdin", "read the current and the new password, a line each")
      .action(({ passwordStdin }: { readonly passwordStdin?: true }) =>
        run(cli, { fromInput: passwordStdin === true }),
      );
  },
} satisfies CommandModule;

/** Changes the caller's password. All other sessions end. */
async function runPasswordChange(
  cli: CliContext,
  { fromInput }: PasswordChangeOptions,
): Promise<void> {
  const { proof, newPassword } = await readTwoSecrets(cli, {
    fromInput,
    flag: "--password-stdin",
    first: "Current password:",
    second: "New password:",
  });
  const { body } = await cli.client.call(vault.changePassword, {
    body: { current_password: proof, new_password: newPassword },
  });
  await cli.output.done(body, `Changed the password. ${toEndedText(body.sessions_revoked)}`);
}

export interface PasswordResetOptions {
  readonly email: string;
}

export const resetPassword = {
  operations: [vault.requestPasswordReset],
  output: resourceOf(vault.requestPasswordReset, 202),
  define(command, cli, run = runPasswordReset): void {
    command
      .requiredOption("--email <address>", "the account's e-mail address")
      .action((flags: PasswordResetOptions) => run(cli, flags));
  },
} satisfies CommandModule;

/** Requests a reset link by mail. The response is the same whether or not the address has an account. */
async function runPasswordReset(cli: CliContext, { email }: PasswordResetOptions): Promise<void> {
  const { body } = await cli.client.call(
    vault.requestPasswordReset,
    { body: { email } },
    { authorization: "none" },
  );
  await cli.output.done(body, `${body.message} "croft vault password confirm" takes it.`);
}

export interface PasswordConfirmOptions {
  readonly fromInput: boolean;
}

export const confirmPassword = {
  operations: [vault.confirmPasswordReset],
  output: resourceOf(vault.confirmPasswordReset),
  define(command, cli, run = runPasswordConfirm): void {
    command
      .option("--password-stdin", "read the link and the new password, a line each")
      .action(({ passwordStdin }: { readonly passwordStdin?: true }) =>
        run(cli, { fromInput: passwordStdin === true }),
      );
  },
} satisfies CommandModule;

/** Sets a new password with the token of a mailed link. It does not sign in, and it ends every session. */
async function runPasswordConfirm(
  cli: CliContext,
  { fromInput }: PasswordConfirmOptions,
): Promise<void> {
  const { proof, newPassword } = await readTwoSecrets(cli, {
    fromInput,
    flag: "--password-stdin",
    first: "Link from the mail:",
    second: "New password:",
  });
  const { body } = await cli.client.call(
    vault.confirmPasswordReset,
    { body: { token: toToken(proof), new_password: newPassword } },
    { authorization: "none" },
  );
  await cli.output.done(body, body.message);
}

/** Returns the token in a link; any other text is the token itself. */
function toToken(linkOrToken: string): string {
  const link = URL.canParse(linkOrToken) ? new URL(linkOrToken) : undefined;
  return link?.searchParams.get("token") ?? linkOrToken;
}

/** The lines of standard input, or the prompts in their place. */
interface TwoQuestions {
  readonly fromInput: boolean;
  /** The flag that a refusal names. */
  readonly flag: string;
  readonly first: string;
  readonly second: string;
}

/** Reads a secret and a new one: two lines of standard input, or prompts, for the new one twice. */
async function readTwoSecrets(
  cli: Pick<CliContext, "io" | "prompts">,
  { fromInput, flag, first, second }: TwoQuestions,
): Promise<{ readonly proof: string; readonly newPassword: string }> {
  if (!fromInput) {
    const proof = await readSecret(cli, { fromInput, flag, question: first });
    const rules = `${describeStrengthRules()}.`;
    return {
      proof,
      newPassword: await readNewSecret(cli, { fromInput, flag, question: second, rules }),
    };
  }
  const [proof = "", newPassword = "", ...more] = (await cli.io.readInput(64 * 1024)).split(
    /\r?\n/,
  );
  if (proof === "" || newPassword === "" || more.length > 0)
    throw new CliError("missing_input", `${flag}: standard input must be two lines`);
  return { proof, newPassword };
}
