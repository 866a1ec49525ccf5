import { vault } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { accountColumns } from "./account-columns.ts";

export const operations = [vault.me];
export const output = resourceOf(vault.me);

export function define(command: Command, cli: CliContext, run = runMe): void {
  command.action(() => run(cli));
}

/** Prints the caller's account. */
async function runMe(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(vault.me);
  await cli.output.resource(body, accountColumns);
}
