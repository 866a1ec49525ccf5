import { toBasic } from "../client/authorize.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { shape } from "../output/spec.ts";
import { readNewSecret, readSecret, readSecretLines } from "../support/secrets.ts";
import { addTotpFlag, readTotp, type TotpFlags, toTotpHeaders } from "../support/totp-flag.ts";
import { type CommandModule, type Entry, noun, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb(
    "view",
    "Show your profile and preferences",
    async () => (await import("./account-profile.ts")).viewAccount,
  ),
  verb(
    "edit",
    "Edit your profile and preferences",
    async () => (await import("./account-profile.ts")).editAccount,
  ),
  noun("avatar", "Manage your picture", async () => ({
    entries: (await import("./account-profile.ts")).avatarEntries,
  })),
  noun("hook", "Hooks of all your own repositories", async () => ({
    entries: (await import("./hook/hook.ts")).ownEntries,
  })),
  verb("password", "Change your forge password", () => changePassword),
  verb(
    "reset-password",
    "Mail yourself a link to reset a forgotten password",
    async () => (await import("./account-reset.ts")).requestReset,
  ),
  verb(
    "confirm-reset",
    "Set a password with the link from the mail",
    async () => (await import("./account-reset.ts")).confirmReset,
  ),
];

export interface AccountPasswordOptions {
  /** The user signed in to the profile when absent. */
  readonly username?: string;
  readonly passwordStdin?: true;
  /** A code of the second factor. */
  readonly totp?: string;
}

export const changePassword = {
  operations: [forge.changeOwnPassword],
  output: shape({ changed: "boolean", username: "string" }),
  define(command, cli, run = runPasswordChange): void {
    command
      .option("--username <name>", "your user name; by default, the user who is signed in")
      .option("--password-stdin", "read the current and the new password, a line each");
    addTotpFlag(command).action(
      ({ totp, otp, ...rest }: Omit<AccountPasswordOptions, "totp"> & TotpFlags) => {
        const code = readTotp({ totp, otp });
        return run(cli, { ...rest, ...(code === undefined ? {} : { totp: code }) });
      },
    );
  },
} satisfies CommandModule;

/** Changes the caller's password. Works before the first sign-in, and leaves tokens as they are. */
async function runPasswordChange(
  cli: CliContext,
  { username: usernameFlag, passwordStdin, totp }: AccountPasswordOptions,
): Promise<void> {
  const { forge: signedIn } = await cli.profiles.inUse();
  const known = usernameFlag ?? signedIn?.username;
  await cli.prompts.require([
    { flag: "--username", isMissing: known === undefined },
    { flag: "--password-stdin", isMissing: passwordStdin !== true },
  ]);
  const username = known ?? (await cli.prompts.text("User name:", "--username"));
  const { current, next } = await readPasswords(cli, username, passwordStdin === true);
  await cli.client.call(
    forge.changeOwnPassword,
    { body: { current_password: current, new_password: next } },
    {
      authorization: toBasic(username, current),
      ...toTotpHeaders(totp),
    },
  );
  await cli.output.done(
    { changed: true, username },
    `Changed the forge password of ${username}. "croft login forge --username ${username}" signs in with it.`,
  );
}

async function readPasswords(
  cli: CliContext,
  username: string,
  fromInput: boolean,
): Promise<{ readonly current: string; readonly next: string }> {
  const flag = "--password-stdin";
  if (fromInput) {
    const { current = "", next = "" } = await readSecretLines(cli, ["current", "next"], flag);
    return { current, next };
  }
  const question = `Current password of ${username}:`;
  const current = await readSecret(cli, { fromInput, question, flag });
  return {
    current,
    next: await readNewSecret(cli, { fromInput, question: "New password:", flag }),
  };
}
