import type { Command } from "commander";
import type { listOwnEmails as listOwnEmailsEndpoint } from "../../../daemon/contract/forge/accounts/emails.ts";
import { operation } from "../../client/operation.ts";
import type { CliContext } from "../../context.ts";
import { wholeList } from "../../output/pages.ts";
import { listOf } from "../../output/spec.ts";
import { emailColumns } from "./email-columns.ts";

const listEmails = operation<typeof listOwnEmailsEndpoint>(
  "forge.user.emails.list",
  "GET",
  "/api/v1/user/emails",
);

export const operations = [listEmails];
export const output = listOf(listEmails);

export function define(command: Command, cli: CliContext, run = runEmailList): void {
  command.action(() => run(cli));
}

/** Prints the caller's addresses, the primary one first. */
async function runEmailList(cli: CliContext): Promise<void> {
  const { body } = await cli.client.call(listEmails, {});
  await cli.output.list(wholeList(body), emailColumns);
}
