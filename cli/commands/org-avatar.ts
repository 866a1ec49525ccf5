import { forge } from "../client/operations.ts";
import type { CliContext } from "../context.ts";
import { shape } from "../output/spec.ts";
import { readPicture } from "../support/picture.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("set", "Upload the picture of an organization", () => setAvatar),
  verb("delete", "Delete the picture and use the generated one", () => deleteAvatar, {
    aliases: ["rm"],
  }),
];

const nameArgument = ["<name>", "the organization"] as const;

const setAvatar = {
  operations: [forge.setOrganizationAvatar],
  output: shape({ set: "boolean", name: "string" }),
  define(command, cli, run = runAvatarSet): void {
    command
      .argument(...nameArgument)
      .argument("<file>", "a PNG, JPEG, GIF or WebP image")
      .action((name: string, file: string) => run(cli, name, file));
  },
} satisfies CommandModule;

/** Uploads the picture of an organization. */
async function runAvatarSet(cli: CliContext, name: string, file: string): Promise<void> {
  const image = await readPicture(cli, file);
  await cli.client.call(forge.setOrganizationAvatar, { params: { org: name }, body: { image } });
  await cli.output.done({ set: true, name }, `Uploaded the picture of ${name}.`);
}

const deleteAvatar = {
  operations: [forge.deleteOrganizationAvatar],
  output: shape({ deleted: "boolean", name: "string" }),
  destructive: true,
  define(command, cli, run = runAvatarDelete): void {
    command.argument(...nameArgument).action((name: string) => run(cli, name));
  },
} satisfies CommandModule;

/** Deletes the uploaded picture of an organization. */
async function runAvatarDelete(cli: CliContext, name: string): Promise<void> {
  await cli.prompts.confirm(`Delete the picture of ${name}?`);
  await cli.client.call(forge.deleteOrganizationAvatar, { params: { org: name } });
  await cli.output.done({ deleted: true, name }, `Deleted the picture of ${name}.`);
}
