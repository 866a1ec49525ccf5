import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { usageError } from "../../errors.ts";
import { listOf } from "../../output/spec.ts";
import { type RepositoryName, toRepositoryName } from "../repo/repo-name.ts";
import { issueColumns } from "./issue-columns.ts";

export const operations = [forge.listIssues];
export const output = listOf(forge.listIssues);

/** What the command was given. */
export interface IssueListOptions extends RepositoryName {
  readonly state?: string;
  readonly search?: string;
  readonly author?: string;
  readonly assignee?: string;
  readonly mentions?: string;
  readonly label?: readonly string[];
  readonly since?: string;
  readonly before?: string;
}

export function define(command: Command, cli: CliContext, run = runIssueList): void {
  command
    .argument("<repository>", "the repository as OWNER/NAME")
    .option("--state <state>", "open, closed or all; open when absent", toState)
    .option("--search <text>", "found in title or text")
    .option("--author <username>", "opened by this user")
    .option("--assignee <username>", "assigned to this user")
    .option("--mentions <username>", "naming this user in their text or a comment")
    .option(
      "--label <name>",
      "with this label; may be repeated",
      (name: string, all?: readonly string[]) => [...(all ?? []), name],
    )
    .option("--since <time>", "changed at this time or later, such as 2026-11-21T12:00:00Z")
    .option("--before <time>", "changed at this time or earlier")
    .action((given: string, options: Omit<IssueListOptions, keyof RepositoryName>) =>
      run(cli, { ...toRepositoryName(given), ...options }),
    );
}

/** Prints issues of a repository, newest first. */
async function runIssueList(cli: CliContext, options: IssueListOptions): Promise<void> {
  const { owner, repo, state, search, author, assignee, mentions, label, since, before } = options;
  const query = {
    ...(state === undefined ? {} : { state }),
    ...(search === undefined ? {} : { q: search }),
    ...(author === undefined ? {} : { created_by: author }),
    ...(assignee === undefined ? {} : { assigned_by: assignee }),
    ...(mentions === undefined ? {} : { mentioned_by: mentions }),
    ...(label === undefined ? {} : { labels: label.join(",") }),
    ...(since === undefined ? {} : { since }),
    ...(before === undefined ? {} : { before }),
  };
  const pages = forgePages(cli.client, forge.listIssues, { params: { owner, repo }, query });
  await cli.output.list(pages, issueColumns);
}

function toState(given: string): string {
  if (given === "open" || given === "closed" || given === "all") return given;
  throw usageError(`--state takes open, closed or all, not ${JSON.stringify(given)}`);
}
