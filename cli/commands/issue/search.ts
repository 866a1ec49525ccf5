import type { WireTimelineEntry } from "../../../daemon/contract/forge/issues/issue-states.ts";
import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import { type Column, time } from "../../output/cells.ts";
import { listOf, unpagedList } from "../../output/spec.ts";
import { addValue, issueColumns, toListState } from "../../support/issues.ts";
import { issueArgument, repositoryArgument } from "../../support/repository.ts";
import { readPages, wholeList } from "../../output/pages.ts";
import { toLogins } from "../../support/person.ts";
import { commandDetails } from "../../tree/command.ts";

export const searchIssues = commandDetails({
  args: { "[term]": "found in title or text" },
  flags: {
    "--state <state>": { help: "open, closed or all; open when absent", parse: toListState },
    "--owner <name>": "in repositories of this user or organization",
    "--label <name>": { help: "with any of these labels; may be repeated", parse: addValue },
    "--milestone <title>": { help: "in any of these milestones; may be repeated", parse: addValue },
    "--assigned": "assigned to you",
    "--created": "opened by you",
    "--mentioned": "that mention you",
  },
  calls: [forge.searchIssues],
  output: listOf(forge.searchIssues),
  examples: [
    ["List the issues assigned to you", "croft issue search --assigned"],
    ["Search the issues of an organization", "croft issue search crash --owner acme --state all"],
  ],
  /** Prints issues of all repositories, newest first. */
  async run(cli, options) {
    const { term, label, milestone, ...flags } = options;
    const query = {
      type: "issues",
      ...flags,
      ...(term === undefined ? {} : { q: term }),
      ...(label === undefined ? {} : { labels: label.join(",") }),
      ...(milestone === undefined ? {} : { milestones: milestone.join(",") }),
    };
    await cli.output.list(forgePages(cli.client, forge.searchIssues, { query }), [
      { header: "repository", cell: ({ repository }) => repository.full_name },
      ...issueColumns,
    ]);
  },
});

export const listTimeline = commandDetails({
  args: issueArgument,
  calls: [forge.listIssueTimeline],
  output: listOf(forge.listIssueTimeline),
  examples: [
    ["List comments and events", "croft issue timeline keeper/notes#7"],
    ["Print them as JSON, one a line", "croft issue timeline keeper/notes#7 --all --ndjson"],
  ],
  /** Prints the comments and events of an issue, oldest first. */
  async run(cli, { issue: params }) {
    await cli.output.list(
      forgePages(cli.client, forge.listIssueTimeline, { params }),
      entryColumns,
    );
  },
});

const entryColumns: readonly Column<WireTimelineEntry>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "created", cell: ({ created_at: createdAt }) => time(createdAt) },
  { header: "user", cell: ({ user }) => user?.login },
  { header: "type", cell: ({ type }) => type },
  { header: "about", cell: (entry) => toAbout(entry) },
];

/** Returns a short description of an event. */
function toAbout(entry: WireTimelineEntry): string {
  const { label, assignee, milestone, old_milestone: former } = entry;
  if (label !== null) return `${entry.body === "1" ? "+" : "-"}${label.name}`;
  if (assignee !== null) return `${entry.removed_assignee ? "-" : "+"}${assignee.login}`;
  if (entry.type === "milestone") return `${former?.title ?? ""} -> ${milestone?.title ?? ""}`;
  if (entry.type === "change_title") return `${entry.old_title} -> ${entry.new_title}`;
  if (entry.ref_commit_sha !== "") return entry.ref_commit_sha.slice(0, 10);
  return entry.body;
}

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

export const issueStatus = commandDetails({
  args: repositoryArgument,
  calls: [forge.listIssues, forge.getCurrentUser],
  output: unpagedList({
    relation: "string",
    number: "integer",
    title: "string",
    html_url: "string",
    updated_at: "string",
  }),
  examples: [
    ["List your issues of a repository", "croft issue status keeper/notes"],
    [
      "Print the numbers of those assigned to you",
      "croft issue status keeper/notes --jq '.[] | select(.relation == \"assigned\") | .number'",
    ],
  ],
  /** Prints the open issues that are assigned to the caller, mention them or were opened by them. */
  async run(cli, { repository: params }) {
    const [login] = await toLogins(cli, ["@me"]);
    const rows: StatusRow[] = [];
    const flags = { page: undefined, limit: undefined, all: true };
    for (const [relation, filter] of Object.entries(relations)) {
      const source = forgePages(cli.client, forge.listIssues, {
        params,
        query: { type: "issues", state: "open", [filter]: login },
      });
      for await (const { items } of readPages(source, flags))
        for (const { number, title, html_url: url, updated_at: updatedAt } of items)
          rows.push({ relation, number, title, html_url: url, updated_at: updatedAt });
    }
    await cli.output.list(wholeList(rows), statusColumns);
  },
});

const statusColumns: readonly Column<StatusRow>[] = [
  { header: "relation", cell: ({ relation }) => relation },
  { header: "number", cell: ({ number }) => number },
  { header: "title", cell: ({ title }) => title },
  { header: "updated", cell: ({ updated_at: updatedAt }) => time(updatedAt) },
];
