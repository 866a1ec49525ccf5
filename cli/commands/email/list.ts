import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { wholeList } from "../../output/pages.ts";
import { listOf } from "../../output/spec.ts";
import { emailColumns } from "./email-columns.ts";

export const operations = [forge.listOwnEmails];
export const output = listOf(forge.listOwnEmails);

export function define(command: Command, cli: CliContext, run = runEmailList): void {
  command.action(() => run(cli));
}

/** Prints the caller's addresses, the primary one first. */
async function runEmailList(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(forge.listOwnEmails, {});
  await cli.output.list(wholeList(body), emailColumns);
}
