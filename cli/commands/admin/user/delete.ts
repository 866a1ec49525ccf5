import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../../context.ts";
import { shape } from "../../../output/spec.ts";

export const operations = [forge.deleteUser];
export const output = shape({ deleted: "boolean", username: "string", purged: "boolean" });
export const destructive = true;

/** What the command was given. */
export interface UserDeleteOptions {
  readonly username: string;
  readonly purge: boolean;
}

export function define(command: Command, cli: CliContext, run = runUserDelete): void {
  command
    .argument("<username>", "the user's name")
    .option("--purge", "also what the user owns: repositories, packages, organizations")
    .action((username: string, { purge = false }: { readonly purge?: boolean }) =>
      run(cli, { username, purge }),
    );
}

/** Deletes a user. A purge takes everything along, so the name must be typed for it. */
async function runUserDelete(
  cli: CliContext,
  { username, purge }: UserDeleteOptions,
): Promise<void> {
  if (purge)
    await cli.prompts.confirm(`Delete the user ${username} and everything it owns?`, username);
  else await cli.prompts.confirm(`Delete the user ${username}?`);
  await cli.client.call(forge.deleteUser, { params: { username }, query: { purge } });
  await cli.output.done(
    { deleted: true, username, purged: purge },
    `Deleted the user ${username}${purge ? " and everything it owned" : ""}.`,
  );
}
