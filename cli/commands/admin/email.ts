import type { WireEmail } from "../../../daemon/contract/forge/accounts/admin-emails.ts";
import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { Column } from "../../output/cells.ts";
import { listOf } from "../../output/spec.ts";
import type { Entry } from "../../tree/entry.ts";
import { command } from "../../tree/command.ts";

export const entries: readonly Entry[] = [
  command("list", "List and search e-mail addresses", {
    aliases: ["ls"],
    flags: { "--search <text>": "in the address, the owner's user name and full name" },
    calls: [forge.listEmails, forge.searchEmails],
    output: listOf(forge.listEmails),
    examples: [
      ["List e-mail addresses", "croft admin email list"],
      ["Search addresses", "croft admin email list --search example.org"],
    ],
    /** Prints e-mail addresses of users. */
    async run(cli, { search }) {
      const pages =
        search === undefined
          ? forgePages(cli.client, forge.listEmails, {})
          : forgePages(cli.client, forge.searchEmails, { query: { q: search } });
      await cli.output.list(pages, columns);
    },
  }),
];

const columns: readonly Column<WireEmail>[] = [
  { header: "email", cell: ({ email }) => email },
  { header: "user", cell: ({ username }) => username },
  { header: "primary", cell: ({ primary }) => primary },
  { header: "verified", cell: ({ verified }) => verified },
];
