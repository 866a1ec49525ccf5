import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { shape } from "../../../output/spec.ts";

export const operations = [forge.deleteUserKey];
export const output = shape({ deleted: "boolean", username: "string", id: "string" });
export const destructive = true;

/** What the command was given. */
export interface UserKeyDeleteOptions {
  readonly username: string;
  readonly id: string;
}

export function define(command: Command, cli: CliContext, run = runUserKeyDelete): void {
  command
    .argument("<username>", "the user's name")
    .argument("<id>", "the key's id")
    .action((username: string, id: string) => run(cli, { username, id }));
}

/** Deletes a user's public key. */
async function runUserKeyDelete(
  cli: CliContext,
  { username, id }: UserKeyDeleteOptions,
): Promise<void> {
  await cli.prompts.confirm(`Delete the public key ${id} of ${username}?`);
  await cli.client.call(forge.deleteUserKey, { params: { username, id } });
  await cli.output.done({ deleted: true, username, id }, `Deleted the key ${id} of ${username}.`);
}
