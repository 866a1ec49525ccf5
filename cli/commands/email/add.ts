import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { wholeList } from "../../output/pages.ts";
import type { OutputSpec } from "../../output/spec.ts";
import { emailColumns } from "./email-columns.ts";

export const operations = [forge.addOwnEmails];
export const output: OutputSpec = {
  kind: "reply",
  operation: forge.addOwnEmails,
  status: 201,
  list: true,
};

/** What the command was given. */
export interface EmailOptions {
  readonly emails: readonly string[];
}

export function define(command: Command, cli: CliContext, run = runEmailAdd): void {
  command
    .argument("<email...>", "addresses that nobody has")
    .action((emails: readonly string[]) => run(cli, { emails }));
}

/** Adds addresses to the caller's account, all or none. */
async function runEmailAdd(cli: CliContext, { emails }: EmailOptions): Promise<void> {
  const { body } = await cli.client.call(forge.addOwnEmails, { body: { emails: [...emails] } });
  await cli.output.list(wholeList(body), emailColumns);
}
