import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { shape } from "../../../output/spec.ts";
import { findUserId } from "./find-user.ts";

export const operations = [vault.deleteUser, vault.listUsers];
export const output = shape({ deleted: "boolean", id: "string" });
export const destructive = true;

/** What the command was given. */
export interface UserDeleteOptions {
  readonly user: string;
}

export function define(command: Command, cli: CliContext, run = runUserDelete): void {
  command
    .argument("<user>", "the user's handle or id")
    .action((user: string) => run(cli, { user }));
}

/** Deletes a user with sessions, connections and cached bytes. Files of connected storages and audit records stay. */
async function runUserDelete(cli: CliContext, { user }: UserDeleteOptions): Promise<void> {
  const id = await findUserId(cli, user);
  await cli.prompts.confirm(`Delete the vault user ${user} and forget all of their connections?`);
  await cli.client.call(vault.deleteUser, { params: { id } });
  await cli.output.done({ deleted: true, id }, `Deleted the vault user ${user}.`);
}
