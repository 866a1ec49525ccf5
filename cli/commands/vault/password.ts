import { describeStrengthRules } from "../../../daemon/contract/password-rules.ts";
import { vault } from "../../client/operations.ts";
import type { CliContext } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { resourceOf } from "../../output/spec.ts";
import { readNewSecret, readSecret } from "../../support/secrets.ts";
import type { Entry } from "../../tree/entry.ts";
import { toEndedText } from "./session.ts";
import { command } from "../../tree/command.ts";

export const entries: readonly Entry[] = [
  command("change", "Change your password", {
    flags: { "--password-stdin": "read the current and the new password, a line each" },
    calls: [vault.changePassword],
    output: resourceOf(vault.changePassword),
    examples: [
      ["Change your password", "croft vault password change --password-stdin < passwords.txt"],
      [
        "Show the request only",
        "croft vault password change --password-stdin --dry-run < passwords.txt",
      ],
    ],
    /** Changes the caller's password. All other sessions end. */
    async run(cli, { passwordStdin: fromInput = false }) {
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
    },
  }),
  command("reset", "Mail yourself a password reset link", {
    flags: { "--email <address>": { help: "the account's e-mail address", required: true } },
    calls: [vault.requestPasswordReset],
    output: resourceOf(vault.requestPasswordReset, 202),
    examples: [
      ["Mail yourself a link", "croft vault password reset --email mira@example.org"],
      ["Show the request only", "croft vault password reset --email mira@example.org --dry-run"],
    ],
    /** Requests a reset link by mail. The response is the same whether or not the address has an account. */
    async run(cli, { email }) {
      const { body } = await cli.client.call(
        vault.requestPasswordReset,
        { body: { email } },
        { authorization: "none" },
      );
      await cli.output.done(body, `${body.message} "croft vault password confirm" takes it.`);
    },
  }),
  command("confirm", "Set a new password with a mailed link", {
    flags: { "--password-stdin": "read the link and the new password, a line each" },
    calls: [vault.confirmPasswordReset],
    output: resourceOf(vault.confirmPasswordReset),
    examples: [
      [
        "Set a new password with the link of the mail",
        "croft vault password confirm --password-stdin < reset.txt",
      ],
      [
        "Show the request only",
        "croft vault password confirm --password-stdin --dry-run < reset.txt",
      ],
    ],
    /** Sets a new password with the token of a mailed link. It does not sign in, and it ends every session. */
    async run(cli, { passwordStdin: fromInput = false }) {
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
    },
  }),
];

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
