import type { Command } from "commander";
import type { addOwnEmails as addOwnEmailsEndpoint } from "../../../daemon/contract/forge/accounts/emails.ts";
import { operation } from "../../client/operation.ts";
import type { CliContext } from "../../context.ts";
import { wholeList } from "../../output/pages.ts";
import type { OutputSpec } from "../../output/spec.ts";
import { emailColumns } from "./email-columns.ts";

const addEmails = operation<typeof addOwnEmailsEndpoint>(
  "forge.user.emails.add",
  "POST",
  "/api/v1/user/emails",
);

export const operations = [addEmails];
export const output: OutputSpec = {
  kind: "reply",
  operation: addEmails,
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
  const { body } = await cli.client.call(addEmails, { body: { emails: [...emails] } });
  await cli.output.list(wholeList(body), emailColumns);
}
