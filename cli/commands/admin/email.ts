import type { WireEmail } from "../../../daemon/contract/forge/accounts/admin-emails.ts";
import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import type { Column } from "../../output/cells.ts";
import { listOf } from "../../output/spec.ts";
import { type CommandModule, type Entry, verb } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List and search e-mail addresses", () => listUserEmails, {
    aliases: ["ls"],
  }),
];

const columns: readonly Column<WireEmail>[] = [
  { header: "email", cell: ({ email }) => email },
  { header: "user", cell: ({ username }) => username },
  { header: "primary", cell: ({ primary }) => primary },
  { header: "verified", cell: ({ verified }) => verified },
];

interface EmailListOptions {
  readonly search?: string;
}

export const listUserEmails = {
  operations: [forge.listEmails, forge.searchEmails],
  output: listOf(forge.listEmails),
  define(command, cli, run = runEmailList): void {
    command
      .option("--search <text>", "in the address, the owner's user name and full name")
      .action((flags: EmailListOptions) => run(cli, flags));
  },
} satisfies CommandModule;

/** Prints e-mail addresses of users. */
async function runEmailList(cli: CliContext, { search }: EmailListOptions): Promise<void> {
  const pages =
    search === undefined
      ? forgePages(cli.client, forge.listEmails, {})
      : forgePages(cli.client, forge.searchEmails, { query: { q: search } });
  await cli.output.list(pages, columns);
}
