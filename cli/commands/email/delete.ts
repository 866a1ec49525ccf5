import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { shape } from "../../output/spec.ts";
import type { EmailOptions } from "./add.ts";

export const operations = [forge.deleteOwnEmails];
export const output = shape({ deleted: "boolean", emails: "string" });
/** It can be added again. */
export const destructive = false;

export function define(command: Command, cli: CliContext, run = runEmailDelete): void {
  command
    .argument("<email...>", "addresses of yours besides the primary one")
    .action((emails: readonly string[]) => run(cli, { emails }));
}

/** Deletes addresses of the caller's account, all or none. */
async function runEmailDelete(cli: CliContext, { emails }: EmailOptions): Promise<void> {
  await cli.client.call(forge.deleteOwnEmails, { body: { emails: [...emails] } });
  const names = emails.join(", ");
  await cli.output.done({ deleted: true, emails: names }, `Deleted ${names}.`);
}
