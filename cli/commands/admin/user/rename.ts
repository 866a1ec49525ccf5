import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { shape } from "../../../output/spec.ts";

export const operations = [forge.renameUser];
export const output = shape({ renamed: "boolean", from: "string", username: "string" });

/** What the command was given. */
export interface UserRenameOptions {
  readonly username: string;
  readonly newName: string;
}

export function define(command: Command, cli: CliContext, run = runUserRename): void {
  command
    .argument("<username>", "the user's name")
    .argument("<new-name>", "the name from now on; the old one redirects to it")
    .action((username: string, newName: string) => run(cli, { username, newName }));
}

/** Renames a user. */
async function runUserRename(
  cli: CliContext,
  { username, newName }: UserRenameOptions,
): Promise<void> {
  await cli.client.call(forge.renameUser, {
    params: { username },
    body: { new_username: newName },
  });
  await cli.output.done(
    { renamed: true, from: username, username: newName },
    `Renamed ${username} to ${newName}.`,
  );
}
