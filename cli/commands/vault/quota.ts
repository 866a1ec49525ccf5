import { vault } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { quotaColumns } from "./quota-columns.ts";

export const operations = [vault.myQuota];
export const output = resourceOf(vault.myQuota);

export function define(command: Command, cli: CliContext, run = runQuota): void {
  command.action(() => run(cli));
}

/** Prints the caller's storage quota. Connected storages do not count. */
async function runQuota(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(vault.myQuota);
  await cli.output.resource(body, quotaColumns);
}
