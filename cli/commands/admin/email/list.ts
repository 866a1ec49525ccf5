import type { Command } from "commander";
import type {
  listEmails as listEmailsEndpoint,
  searchEmails as searchEmailsEndpoint,
  WireEmail,
} from "../../../../daemon/contract/forge/accounts/admin-emails.ts";
import { operation } from "../../../client/operation.ts";
import { forgePages } from "../../../client/paging.ts";
import type { CliContext } from "../../../context.ts";
import type { Column } from "../../../output/cells.ts";
import { listOf } from "../../../output/spec.ts";

const listEmails = operation<typeof listEmailsEndpoint>(
  "forge.admin.emails.list",
  "GET",
  "/api/v1/admin/emails",
);
const searchEmails = operation<typeof searchEmailsEndpoint>(
  "forge.admin.emails.search",
  "GET",
  "/api/v1/admin/emails/search",
);

export const operations = [listEmails, searchEmails];
export const output = listOf(listEmails);

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
      ? forgePages(cli.client, listEmails, {})
      : forgePages(cli.client, searchEmails, { query: { q: search } });
  await cli.output.list(pages, columns);
}
