import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { setStatus } from "./user-status.ts";

export const operations = [vault.setUserStatus, vault.listUsers];
export const output = resourceOf(vault.setUserStatus);

/** What the command was given. */
export interface UserDeactivateOptions {
  readonly user: string;
}

export function define(command: Command, cli: CliContext, run = runUserDeactivate): void {
  command
    .argument("<user>", "the user's handle or id")
    .action((user: string) => run(cli, { user }));
}

/** Shuts a user out with the next request, everywhere. Nothing of theirs is deleted. */
async function runUserDeactivate(cli: CliContext, { user }: UserDeactivateOptions): Promise<void> {
  await setStatus(cli, user, false);
}
