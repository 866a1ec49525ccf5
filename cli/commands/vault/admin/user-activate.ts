import { vault } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { resourceOf } from "../../../output/spec.ts";
import { setStatus } from "./user-status.ts";

export const operations = [vault.setUserStatus, vault.listUsers];
export const output = resourceOf(vault.setUserStatus);

/** What the command was given. */
export interface UserActivateOptions {
  readonly user: string;
}

export function define(command: Command, cli: CliContext, run = runUserActivate): void {
  command
    .argument("<user>", "the user's handle or id")
    .action((user: string) => run(cli, { user }));
}

/** Lets a user sign in again. Sessions from before stay ended. */
async function runUserActivate(cli: CliContext, { user }: UserActivateOptions): Promise<void> {
  await setStatus(cli, user, true);
}
