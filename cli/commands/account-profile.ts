import type { WireUserSettings } from "../../daemon/contract/forge/accounts/settings.ts";
import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import type { Column } from "../output/cells.ts";
import { resourceOf, shape } from "../output/spec.ts";
import { readTrueOrFalse } from "../support/flag-values.ts";
import { readPicture } from "../support/picture.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";

export const avatarEntries: readonly Entry[] = [
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

export const viewAccount = {
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
      .option("--location <text>", "where you are")
      .option("--description <text>", "a sentence about you")
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

/** Uploads the caller's picture. */
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

/** Deletes the caller's uploaded picture. */
async function runAvatarDelete(cli: CliContext): Promise<void> {
  await cli.prompts.confirm("Delete your picture?");
  await cli.client.call(forge.deleteOwnAvatar, {});
  await cli.output.done({ deleted: true }, "Deleted your picture.");
}
