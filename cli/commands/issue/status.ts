import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { type Column, time } from "../../output/cells.ts";
import { readPages, wholeList } from "../../output/pages.ts";
import { unpagedList } from "../../output/spec.ts";
import { toLogins } from "../../support/person.ts";
import { type RepositoryName, toRepositoryName } from "../../support/repository.ts";
import type { CommandModule } from "../../tree/entry.ts";

/** How an issue concerns the caller, and the filter of the list that finds it. */
const relations = {
  assigned: "assigned_by",
  mentioned: "mentioned_by",
  opened: "created_by",
} as const;

/** An issue in one of the lists. */
interface StatusRow {
  readonly relation: string;
  readonly number: number;
  readonly title: string;
  readonly html_url: string;
  readonly updated_at: string;
}

export const issueStatus = {
  operations: [forge.listIssues, forge.getCurrentUser],
  output: unpagedList({
    relation: "string",
    number: "integer",
    title: "string",
    html_url: "string",
    updated_at: "string",
  }),
  define(command, cli, run = runIssueStatus): void {
    command
      .argument("<repository>", "the repository as OWNER/NAME")
      .action((repository: string) => run(cli, toRepositoryName(repository)));
  },
} satisfies CommandModule;

/** Prints the open issues that are assigned to the caller, mention them or were opened by them. */
async function runIssueStatus(cli: CliContext, params: RepositoryName): Promise<void> {
  const [login] = await toLogins(cli, ["@me"]);
  const rows: StatusRow[] = [];
  const flags = { page: undefined, limit: undefined, all: true };
  for (const [relation, filter] of Object.entries(relations)) {
    const source = forgePages(cli.client, forge.listIssues, {
      params,
      query: { state: "open", [filter]: login },
    });
    for await (const { items } of readPages(source, flags))
      for (const { number, title, html_url: url, updated_at: updatedAt } of items)
        rows.push({ relation, number, title, html_url: url, updated_at: updatedAt });
  }
  await cli.output.list(wholeList(rows), statusColumns);
}

const statusColumns: readonly Column<StatusRow>[] = [
  { header: "relation", cell: ({ relation }) => relation },
  { header: "number", cell: ({ number }) => number },
  { header: "title", cell: ({ title }) => title },
  { header: "updated", cell: ({ updated_at: updatedAt }) => time(updatedAt) },
];
