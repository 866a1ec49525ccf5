import { forge } from "../../../client/operations.ts";
import type { Command } from "commander";
import type { WireEmail } from "../../../../daemon/contract/forge/accounts/admin-emails.ts";
import { forgePages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import type { Column } from "../../../output/cells.ts";
import { listOf } from "../../../output/spec.ts";

export const operations = [forge.listEmails, forge.searchEmails];
export const output = listOf(forge.listEmails);

const columns: readonly Column<WireEmail>[] = [
  { header: "email", cell: ({ email }) => email },
  { header: "user", cell: ({ username }) => username },
  { header: "primary", cell: ({ primary }) => primary },
  { header: "verified", cell: ({ verified }) => verified },
];

/** What the command was given. */
export interface EmailListOptions {
  readonly search?: string;
}

export function define(command: Command, cli: CliContext, run = runEmailList): void {
  command
    .option("--search <text>", "in the address, the owner's user name and full name")
    .action((flags: EmailListOptions) => run(cli, flags));
}

/** Prints e-mail addresses of users. */
async function runEmailList(cli: CliContext, { search }: EmailListOptions): Promise<void> {
  const pages =
    search === undefined
      ? forgePages(cli.client, forge.listEmails, {})
      : forgePages(cli.client, forge.searchEmails, { query: { q: search } });
  await cli.output.list(pages, columns);
}
