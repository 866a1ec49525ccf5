import { toBasic } from "../client/authorize.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { shape, resourceOf } from "../output/spec.ts";
import { readNewSecret, readSecret, readSecretLines } from "../support/secrets.ts";
import { type CommandModule, type Entry, noun, verb } from "../tree/entry.ts";
import type { WireUserSettings } from "../../daemon/contract/forge/accounts/settings.ts";
import { usageError } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import {
  readTrueOrFalse,
  addTotpFlag,
  readTotp,
  type TotpFlags,
  toTotpHeaders,
} from "../support/flag-values.ts";
import { readPicture } from "../support/input.ts";

export const entries: readonly Entry[] = [
  verb("view", "Show your profile and preferences", () => viewAccount),
  verb("edit", "Edit your profile and preferences", () => editAccount),
  noun("avatar", "Manage your picture", async () => ({ entries: avatarEntries })),
  noun("hook", "Hooks of all your own repositories", async () => ({
    entries: (await import("./hook/hook.ts")).ownEntries,
  })),
  verb("password", "Change your forge password", () => changePassword),
  verb("reset-password", "Mail yourself a link to reset a forgotten password", () => requestReset),
  verb("confirm-reset", "Set a password with the link from the mail", () => confirmReset),
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

const avatarEntries: readonly Entry[] = [
  verb("set", "Upload a picture of yourself", () => setAvatar),
  verb("delete", "Delete your picture and use the generated one", () => deleteAvatar, {
    aliases: ["rm"],
  }),
];

const settingsLines: readonly Column<WireUserSettings>[] = [
  { header: "full name", cell: ({ full_name: fullName }) => fullName },
  { header: "website", cell: ({ website }) => website },
  { header: "location", cell: ({ location }) => location },
  { header: "description", cell: ({ description }) => description },
  { header: "language", cell: ({ language }) => language },
  { header: "hide email", cell: ({ hide_email: hideEmail }) => hideEmail },
  { header: "hide activity", cell: ({ hide_activity: hideActivity }) => hideActivity },
  { header: "mails", cell: ({ email_notifications: mails }) => mails },
];

const viewAccount = {
  operations: [forge.getUserSettings],
  output: resourceOf(forge.getUserSettings),
  define(command, cli, run = runAccountView): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

/** Prints the caller's profile and preferences. */
async function runAccountView(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(forge.getUserSettings, {});
  await cli.output.resource(body, settingsLines);
}

/** Undefined members stay as they are. */
export interface AccountEditOptions {
  readonly fullName?: string;
  readonly website?: string;
  readonly location?: string;
  readonly description?: string;
  readonly language?: string;
  readonly hideEmail?: string;
  readonly hideActivity?: string;
  readonly emailNotifications?: string;
}

export const editAccount = {
  operations: [forge.editUserSettings],
  output: resourceOf(forge.editUserSettings),
  define(command, cli, run = runAccountEdit): void {
    command
      .option("--full-name <name>", "your full name")
      .option("--website <url>", "your website; empty to clear it")
      .option("--location <text>", "your location")
      .option("--description <text>", "a short description of yourself")
      .option("--language <tag>", "the language of pages, such as en-US")
      .option("--hide-email <true|false>", "whether other users see your e-mail address")
      .option("--hide-activity <true|false>", "whether other users see your activity")
      .option(
        "--email-notifications <which>",
        "enabled, andyourown or disabled: mails about your runs that fail or recover, about all of them, or none",
      )
      .action((flags: AccountEditOptions) => {
        if (Object.keys(flags).length === 0)
          throw usageError(
            "nothing to change",
            "give at least one flag of those that --help lists",
          );
        return run(cli, flags);
      });
  },
} satisfies CommandModule;

/** Changes the caller's profile and prints it; absent fields keep their values. */
async function runAccountEdit(cli: CliContext, options: AccountEditOptions): Promise<void> {
  const { fullName, hideEmail, hideActivity, emailNotifications, ...rest } = options;
  const { body } = await cli.client.call(forge.editUserSettings, {
    body: {
      ...rest,
      full_name: fullName,
      hide_email: readTrueOrFalse("--hide-email", hideEmail),
      hide_activity: readTrueOrFalse("--hide-activity", hideActivity),
      email_notifications: emailNotifications,
    },
  });
  await cli.output.resource(body, settingsLines);
}

const setAvatar = {
  operations: [forge.setOwnAvatar],
  output: shape({ set: "boolean" }),
  define(command, cli, run = runAvatarSet): void {
    command
      .argument("<file>", "a PNG, JPEG, GIF or WebP image")
      .action((file: string) => run(cli, file));
  },
} satisfies CommandModule;

async function runAvatarSet(cli: CliContext, file: string): Promise<void> {
  await cli.client.call(forge.setOwnAvatar, { body: { image: await readPicture(cli, file) } });
  await cli.output.done({ set: true }, "Uploaded your picture.");
}

const deleteAvatar = {
  operations: [forge.deleteOwnAvatar],
  output: shape({ deleted: "boolean" }),
  destructive: true,
  define(command, cli, run = runAvatarDelete): void {
    command.action(() => run(cli));
  },
} satisfies CommandModule;

async function runAvatarDelete(cli: CliContext): Promise<void> {
  await cli.prompts.confirm("Delete your picture?");
  await cli.client.call(forge.deleteOwnAvatar, {});
  await cli.output.done({ deleted: true }, "Deleted your picture.");
}

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

/** Returns the token in a link; any other text is the token itself. */
function toToken(linkOrToken: string): string {
  const link = URL.canParse(linkOrToken) ? new URL(linkOrToken) : undefined;
  return link?.searchParams.get("code") ?? linkOrToken;
}
