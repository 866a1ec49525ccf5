import type { WireComment } from "../../../daemon/contract/forge/issues/issues.ts";
import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import type { CliContext } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { type Column, time } from "../../output/cells.ts";
import { listOf, resourceOf } from "../../output/spec.ts";
import { addValue, issueColumns, issueLines, toListState } from "../../support/issues.ts";
import { openPage, toLogins } from "../../support/person.ts";
import {
  type IssueName,
  type RepositoryName,
  toIssueName,
  toRepositoryName,
} from "../../support/repository.ts";
import { readTextFlags, type TextFlags } from "../../support/input.ts";
import { type CommandModule, type Entry, noun, verb } from "../../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List issues of a repository", () => listIssues, { aliases: ["ls"] }),
  verb(
    "search",
    "Search the issues of all repositories",
    async () => (await import("./search.ts")).searchIssues,
  ),
  verb(
    "status",
    "List open issues that concern you",
    async () => (await import("./search.ts")).issueStatus,
  ),
  verb("view", "Show an issue and its comments", () => viewIssue),
  verb(
    "timeline",
    "List the comments and events of an issue",
    async () => (await import("./search.ts")).listTimeline,
  ),
  verb("create", "Create an issue", async () => (await import("./create.ts")).createIssue),
  verb("edit", "Edit, close or reopen an issue", async () => (await import("./edit.ts")).editIssue),
  verb("close", "Close an issue", async () => (await import("./edit.ts")).closeIssue),
  verb("reopen", "Reopen an issue", async () => (await import("./edit.ts")).reopenIssue),
  verb("comment", "Comment on an issue", () => commentIssue),
  verb(
    "attach",
    "Attach a file to an issue or a comment",
    async () => (await import("./attachment.ts")).attachFile,
  ),
  noun("attachment", "Manage the files of issues and comments", () => import("./attachment.ts")),
  verb("react", "React to an issue or a comment", async () => (await import("./states.ts")).react),
  verb("lock", "Lock an issue", async () => (await import("./states.ts")).lockIssue),
  verb("unlock", "Unlock an issue", async () => (await import("./states.ts")).unlockIssue),
  verb("pin", "Pin an issue", async () => (await import("./states.ts")).pinIssue),
  verb("unpin", "Unpin an issue", async () => (await import("./states.ts")).unpinIssue),
  verb(
    "templates",
    "List the issue templates of a repository",
    async () => (await import("./create.ts")).listTemplates,
  ),
  noun("dependency", "Manage dependencies of issues", () => import("./dependency.ts")),
  noun("time", "Track time on issues", () => import("./time.ts")),
  verb(
    "delete",
    "Delete an issue with its comments",
    async () => (await import("./states.ts")).deleteIssue,
    { aliases: ["rm"] },
  ),
];

interface IssueListOptions extends RepositoryName {
  readonly state?: string;
  readonly search?: string;
  readonly author?: string;
  readonly assignee?: string;
  readonly mentions?: string;
  readonly label?: readonly string[];
  readonly milestone?: string;
  readonly since?: string;
  readonly before?: string;
}

const listIssues = {
  operations: [forge.listIssues, forge.getCurrentUser],
  output: listOf(forge.listIssues),
  define(command, cli, run = runIssueList): void {
    command
      .argument("<repository>", "the repository as OWNER/NAME")
      .option("-s, --state <state>", "open, closed or all; open when absent", toListState)
      .option("-S, --search <text>", "found in title or text")
      .option("-A, --author <username>", "opened by this user; @me is you")
      .option("-a, --assignee <username>", "assigned to this user; @me is you")
      .option("--mentions <username>", "mentioning this user in the text or a comment; @me is you")
      .option("-l, --label <name>", "with this label; may be repeated", addValue)
      .option("-m, --milestone <title>", "in this milestone")
      .option("--since <time>", "changed at this time or later, such as 2026-11-21T12:00:00Z")
      .option("--before <time>", "changed at this time or earlier")
      .action((repository: string, flags: Omit<IssueListOptions, keyof RepositoryName>) =>
        run(cli, { ...toRepositoryName(repository), ...flags }),
      );
  },
} satisfies CommandModule;

/** Prints issues of a repository, newest first. */
async function runIssueList(cli: CliContext, options: IssueListOptions): Promise<void> {
  const { owner, repo, state, search, label, milestone, since, before } = options;
  const [author, assignee, mentions] = await toLogins(cli, [
    options.author,
    options.assignee,
    options.mentions,
  ]);
  const query = {
    ...(state === undefined ? {} : { state }),
    ...(search === undefined ? {} : { q: search }),
    ...(author === undefined ? {} : { created_by: author }),
    ...(assignee === undefined ? {} : { assigned_by: assignee }),
    ...(mentions === undefined ? {} : { mentioned_by: mentions }),
    ...(label === undefined ? {} : { labels: label.join(",") }),
    ...(milestone === undefined ? {} : { milestones: milestone }),
    ...(since === undefined ? {} : { since }),
    ...(before === undefined ? {} : { before }),
  };
  const pages = forgePages(cli.client, forge.listIssues, { params: { owner, repo }, query });
  await cli.output.list(pages, issueColumns);
}

interface IssueViewOptions extends IssueName {
  readonly comments?: boolean;
  readonly web?: boolean;
}

export const viewIssue = {
  operations: [forge.getIssue, forge.listIssueComments],
  output: resourceOf(forge.getIssue, 200, {
    comment_list: { type: "array", items: { type: "object" } },
  }),
  define(command, cli, run = runIssueView): void {
    command
      .argument("<issue>", "the issue as OWNER/NAME#NUMBER")
      .option("-c, --comments", "with its comments")
      .option("-w, --web", "open its page in the browser")
      .action((issue: string, flags: Pick<IssueViewOptions, "comments" | "web">) =>
        run(cli, { ...toIssueName(issue), ...flags }),
      );
  },
} satisfies CommandModule;

/** Prints one issue, optionally with its comments. */
async function runIssueView(
  cli: CliContext,
  { comments = false, web = false, owner, repo, index }: IssueViewOptions,
): Promise<void> {
  const params = { owner, repo, index };
  const { body: issue } = await cli.client.call(forge.getIssue, { params });
  if (web) openPage(cli, issue.html_url);
  if (!comments) return cli.output.resource(issue, issueLines);
  const { body: list } = await cli.client.call(forge.listIssueComments, { params });
  const lines = list.map((comment, at) => ({
    header: `comment ${at + 1}`,
    cell: () => `${comment.user?.login ?? "a deleted account"}: ${comment.body}`,
  }));
  await cli.output.resource({ ...issue, comment_list: list }, [...issueLines, ...lines]);
}

interface IssueCommentOptions extends IssueName, TextFlags {}

const commentIssue = {
  operations: [forge.createIssueComment],
  output: resourceOf(forge.createIssueComment, 201),
  define(command, cli, run = runIssueComment): void {
    command
      .argument("<issue>", "the issue as OWNER/NAME#NUMBER")
      .option("-b, --body <text>", 'the text, as Markdown; "-" reads standard input')
      .option("-F, --body-file <file>", 'a file with the text; "-" reads standard input')
      .action((issue: string, flags: TextFlags) => run(cli, { ...toIssueName(issue), ...flags }));
  },
} satisfies CommandModule;

async function runIssueComment(
  cli: CliContext,
  { owner, repo, index, ...flags }: IssueCommentOptions,
): Promise<void> {
  const body = await readTextFlags(cli, flags);
  if (body === undefined)
    throw new CliError("missing_input", "the comment has no text: give --body or --body-file");
  const { body: comment } = await cli.client.call(forge.createIssueComment, {
    params: { owner, repo, index },
    body: { body },
  });
  await cli.output.resource(comment, commentColumns);
}

const commentColumns: readonly Column<WireComment>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "author", cell: ({ user }) => user?.login },
  { header: "created", cell: ({ created_at: createdAt }) => time(createdAt) },
  { header: "body", cell: ({ body }) => body },
];
