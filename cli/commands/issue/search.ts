import type { WireTimelineEntry } from "../../../daemon/contract/forge/issues/issue-states.ts";
import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { type Column, time } from "../../output/cells.ts";
import { listOf } from "../../output/spec.ts";
import { addValue, issueColumns, toListState } from "../../support/issues.ts";
import { type IssueName, toIssueName } from "../../support/repository.ts";
import type { CommandModule } from "../../tree/entry.ts";

interface IssueSearchOptions {
  readonly term?: string;
  readonly state?: string;
  readonly owner?: string;
  readonly label?: readonly string[];
  readonly milestone?: readonly string[];
  readonly assigned?: boolean;
  readonly created?: boolean;
  readonly mentioned?: boolean;
}

export const searchIssues = {
  operations: [forge.searchIssues],
  output: listOf(forge.searchIssues),
  define(command, cli, run = runSearch): void {
    command
      .argument("[term]", "found in title or text")
      .option("--state <state>", "open, closed or all; open when absent", toListState)
      .option("--owner <name>", "in repositories of this user or organization")
      .option("--label <name>", "with any of these labels; may be repeated", addValue)
      .option("--milestone <title>", "in any of these milestones; may be repeated", addValue)
      .option("--assigned", "assigned to you")
      .option("--created", "opened by you")
      .option("--mentioned", "that mention you")
      .action((term: string | undefined, flags: Omit<IssueSearchOptions, "term">) =>
        run(cli, { ...(term === undefined ? {} : { term }), ...flags }),
      );
  },
} satisfies CommandModule;

/** Prints issues of all repositories, newest first. */
async function runSearch(cli: CliContext, options: IssueSearchOptions): Promise<void> {
  const { term, label, milestone, ...flags } = options;
  const query = {
    ...flags,
    ...(term === undefined ? {} : { q: term }),
    ...(label === undefined ? {} : { labels: label.join(",") }),
    ...(milestone === undefined ? {} : { milestones: milestone.join(",") }),
  };
  await cli.output.list(forgePages(cli.client, forge.searchIssues, { query }), [
    { header: "repository", cell: ({ repository }) => repository.full_name },
    ...issueColumns,
  ]);
}

export const listTimeline = {
  operations: [forge.listIssueTimeline],
  output: listOf(forge.listIssueTimeline),
  define(command, cli, run = runTimeline): void {
    command
      .argument("<issue>", "the issue as OWNER/NAME#NUMBER")
      .action((issue: string) => run(cli, toIssueName(issue)));
  },
} satisfies CommandModule;

/** Prints the comments and events of an issue, oldest first. */
async function runTimeline(cli: CliContext, params: IssueName): Promise<void> {
  await cli.output.list(forgePages(cli.client, forge.listIssueTimeline, { params }), entryColumns);
}

const entryColumns: readonly Column<WireTimelineEntry>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "created", cell: ({ created_at: createdAt }) => time(createdAt) },
  { header: "user", cell: ({ user }) => user?.login },
  { header: "type", cell: ({ type }) => type },
  { header: "about", cell: (entry) => toAbout(entry) },
];

/** Describes an event in a few words. */
function toAbout(entry: WireTimelineEntry): string {
  const { label, assignee, milestone, old_milestone: former } = entry;
  if (label !== null) return `${entry.body === "1" ? "+" : "-"}${label.name}`;
  if (assignee !== null) return `${entry.removed_assignee ? "-" : "+"}${assignee.login}`;
  if (entry.type === "milestone") return `${former?.title ?? ""} -> ${milestone?.title ?? ""}`;
  if (entry.type === "change_title") return `${entry.old_title} -> ${entry.new_title}`;
  return entry.body;
}
