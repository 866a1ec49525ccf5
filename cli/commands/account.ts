import { toBasic } from "../client/authorize.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { shape, resourceOf } from "../output/spec.ts";
import { readNewSecret, readSecret, readSecretLines } from "../support/secrets.ts";
import { type Entry, noun } from "../tree/entry.ts";
import type { WireUserSettings } from "../../daemon/contract/forge/accounts/settings.ts";
import { usageError } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { readTrueOrFalse, toTotpHeaders, totpFlag } from "../support/flag-values.ts";
import { readPicture } from "../support/input.ts";
import { command } from "../tree/command.ts";

export const entries: readonly Entry[] = [
  command("view", "Show your profile and preferences", {
    calls: [forge.getUserSettings],
    output: resourceOf(forge.getUserSettings),
    examples: [
      ["Show your profile", "croft account view"],
      ["Print your language as JSON", "croft account view --json"],
    ],
    /** Prints the caller's profile and preferences. */
    async run(cli) {
      const { body } = await cli.client.call(forge.getUserSettings, {});
      await cli.output.resource(body, settingsLines);
    },
  }),
  command("edit", "Edit your profile and preferences", {
    flags: {
      "--full-name <name>": "your full name",
      "--website <url>": "your website; empty to clear it",
      "--location <text>": "your location",
      "--description <text>": "a short description of yourself",
      "--language <tag>": "the language of pages, such as en-US",
      "--hide-email <true|false>": "whether other users see your e-mail address",
      "--hide-activity <true|false>": "whether other users see your activity",
      "--email-notifications <which>":
        "enabled, andyourown or disabled: mails about issues, pull requests, releases and your runs that fail or recover; also about all of your runs; or none",
    },
    calls: [forge.editUserSettings],
    output: resourceOf(forge.editUserSettings),
    examples: [
      ["Change your full name", 'croft account edit --full-name "Mira Lind"'],
      ["Get no mails about others' work", "croft account edit --email-notifications disabled"],
      ["Show the request only", "croft account edit --location Bergen --dry-run"],
    ],
    /** Changes the caller's profile and prints it; absent fields keep their values. */
    async run(cli, flags) {
      if (Object.keys(flags).length === 0)
        throw usageError("nothing to change", "give at least one flag of those that --help lists");
      const options = flags;

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
    },
  }),
  noun("avatar", "Manage your picture", async () => ({ entries: avatarEntries })),
  noun("hook", "Hooks of all your own repositories", async () => ({
    entries: (await import("./hook/hook.ts")).ownEntries,
  })),
  command("password", "Change your forge password", {
    flags: {
      "--username <name>": "your user name; by default, the user who is signed in",
      "--password-stdin": "read the current and the new password, a line each",
      ...totpFlag,
    },
    calls: [forge.changeOwnPassword],
    output: shape({ changed: "boolean", username: "string" }),
    examples: [
      ["Change your password", "croft account password --password-stdin < passwords.txt"],
      [
        "Change it with a second factor",
        "croft account password --totp 123456 --password-stdin < passwords.txt",
      ],
    ],
    /** Changes the caller's password. Works before the first sign-in, and leaves tokens as they are. */
    async run(cli, { username: usernameFlag, passwordStdin, totp }) {
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
    },
  }),
  command("reset-password", "Mail yourself a link to reset a forgotten password", {
    flags: {
      "--email <address>": { help: "a verified e-mail address of your account", required: true },
    },
    calls: [forge.requestUserPasswordReset],
    output: shape({ requested: "boolean", email: "string" }),
    examples: [
      ["Mail yourself a link", "croft account reset-password --email mira@example.org"],
      ["Show the request only", "croft account reset-password --email mira@example.org --dry-run"],
    ],
    /** Requests a reset link by mail. The response is the same whether or not an account has the address. */
    async run(cli, { email }) {
      await cli.client.call(
        forge.requestUserPasswordReset,
        { body: { email } },
        { authorization: "none" },
      );
      await cli.output.done(
        { requested: true, email },
        'If an account has this address, a mail with a link is on its way. "croft account confirm-reset" takes it.',
      );
    },
  }),
  command("confirm-reset", "Set a password with the link from the mail", {
    flags: { "--password-stdin": "read the link and the new password, a line each" },
    calls: [forge.confirmUserPasswordReset],
    output: shape({ changed: "boolean" }),
    prompted: ["--password-stdin"],
    examples: [
      [
        "Set a new password with the link of the mail",
        "croft account confirm-reset --password-stdin < reset.txt",
      ],
      [
        "Show the request only",
        "croft account confirm-reset --password-stdin --dry-run < reset.txt",
      ],
    ],
    /** Sets a password with a mailed link. Does not sign in. */
    async run(cli, { passwordStdin }) {
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
    },
  }),
];

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
  command("set", "Upload a picture of yourself", {
    args: { "<file>": "a PNG, JPEG, GIF or WebP image" },
    calls: [forge.setOwnAvatar],
    output: shape({ set: "boolean" }),
    examples: [
      ["Upload a picture", "croft account avatar set face.png"],
      ["Show the request only", "croft account avatar set face.png --dry-run"],
    ],
    async run(cli, { file }) {
      await cli.client.call(forge.setOwnAvatar, { body: { image: await readPicture(cli, file) } });
      await cli.output.done({ set: true }, "Uploaded your picture.");
    },
  }),
  command("delete", "Delete your picture and use the generated one", {
    aliases: ["rm"],
    calls: [forge.deleteOwnAvatar],
    output: shape({ deleted: "boolean" }),
    destructive: true,
    examples: [
      ["Go back to the drawn picture", "croft account avatar delete --yes"],
      ["Show the request only", "croft account avatar delete --dry-run"],
    ],
    async run(cli) {
      await cli.prompts.confirm("Delete your picture?");
      await cli.client.call(forge.deleteOwnAvatar, {});
      await cli.output.done({ deleted: true }, "Deleted your picture.");
    },
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
