import type { WireComment, WireIssue } from "../../daemon/contract/forge/issues.ts";
import { forge } from "../client/operations.ts";
import { forgePages } from "../client/paging.ts";
import type { CliContext } from "../context.ts";
import { CliError, usageError } from "../errors.ts";
import { type Column, time } from "../output/cells.ts";
import { listOf, resourceOf } from "../output/spec.ts";
import {
  type IssueName,
  readText,
  type RepositoryName,
  toIssueName,
  toRepositoryName,
} from "../support/repository.ts";
import { type CommandModule, type Entry, verb } from "../tree/entry.ts";

export const entries: readonly Entry[] = [
  verb("list", "List issues of a repository", () => listIssues, { aliases: ["ls"] }),
  verb("view", "Show an issue and its comments", () => viewIssue),
  verb("create", "Create an issue", () => createIssue),
  verb("edit", "Edit, close or reopen an issue", () => editIssue),
  verb("comment", "Comment on an issue", () => commentIssue),
];

interface IssueListOptions extends RepositoryName {
  readonly state?: string;
  readonly search?: string;
  readonly author?: string;
  readonly assignee?: string;
  readonly mentions?: string;
  readonly label?: readonly string[];
  readonly since?: string;
  readonly before?: string;
}

const listIssues = {
  operations: [forge.listIssues],
  output: listOf(forge.listIssues),
  define(command, cli, run = runIssueList): void {
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
  },
} satisfies CommandModule;

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

interface IssueViewOptions extends IssueName {
  readonly comments?: boolean;
}

export const viewIssue = {
  operations: [forge.getIssue, forge.listIssueComments],
  output: resourceOf(forge.getIssue, 200, {
    comment_list: { type: "array", items: { type: "object" } },
  }),
  define(command, cli, run = runIssueView): void {
    command
      .argument("<issue>", "the issue as OWNER/NAME#NUMBER")
      .option("--comments", "with its comments")
      .action((given: string, options: { readonly comments?: boolean }) =>
        run(cli, { ...toIssueName(given), ...options }),
      );
  },
} satisfies CommandModule;

/** Prints one issue, with its comments on request. */
async function runIssueView(
  cli: CliContext,
  { comments = false, owner, repo, index }: IssueViewOptions,
): Promise<void> {
  const params = { owner, repo, index };
  const { body: issue } = await cli.client.call(forge.getIssue, { params });
  if (!comments) return cli.output.resource(issue, issueLines);
  const { body: list } = await cli.client.call(forge.listIssueComments, { params });
  const lines = list.map((comment, at) => ({
    header: `comment ${at + 1}`,
    cell: () => `${comment.user?.login ?? "somebody"}: ${comment.body}`,
  }));
  await cli.output.resource({ ...issue, comment_list: list }, [...issueLines, ...lines]);
}

interface IssueCreateOptions extends RepositoryName {
  readonly title: string;
  readonly body?: string;
  readonly assign?: readonly string[];
}

export const createIssue = {
  operations: [forge.createIssue],
  output: resourceOf(forge.createIssue, 201),
  define(command, cli, run = runIssueCreate): void {
    command
      .argument("<repository>", "the repository as OWNER/NAME")
      .requiredOption("--title <text>", "what it is about")
      .option("--body <text>", 'its text, as Markdown; "-" reads standard input')
      .option("--assign <username...>", "assign these users")
      .action((given: string, options: Omit<IssueCreateOptions, keyof RepositoryName>) =>
        run(cli, { ...toRepositoryName(given), ...options }),
      );
  },
} satisfies CommandModule;

/** Opens an issue and prints it. */
async function runIssueCreate(
  cli: CliContext,
  { owner, repo, title, body, assign }: IssueCreateOptions,
): Promise<void> {
  const { body: issue } = await cli.client.call(forge.createIssue, {
    params: { owner, repo },
    body: {
      title,
      ...(body === undefined ? {} : { body: await readText(cli, body) }),
      ...(assign === undefined ? {} : { assignees: [...assign] }),
    },
  });
  await cli.output.resource(issue, issueLines);
}

interface IssueEditOptions extends IssueName {
  readonly title?: string;
  readonly body?: string;
  readonly assign?: readonly string[];
  readonly close?: boolean;
  readonly reopen?: boolean;
}

export const editIssue = {
  operations: [forge.editIssue],
  output: resourceOf(forge.editIssue, 201),
  define(command, cli, run = runIssueEdit): void {
    command
      .argument("<issue>", "the issue as OWNER/NAME#NUMBER")
      .option("--title <text>", "a new title")
      .option("--body <text>", 'a new text; "-" reads standard input')
      .option("--assign <username...>", "exactly these users")
      .option("--close", "close it")
      .option("--reopen", "open it again")
      .action((given: string, options: Omit<IssueEditOptions, keyof IssueName>) =>
        run(cli, { ...toIssueName(given), ...options }),
      );
  },
} satisfies CommandModule;

/** Changes an issue and prints it. */
async function runIssueEdit(cli: CliContext, options: IssueEditOptions): Promise<void> {
  const { owner, repo, index, title, body, assign, close, reopen } = options;
  if (close === true && reopen === true)
    throw usageError("--close and --reopen exclude each other");
  const changes = {
    ...(title === undefined ? {} : { title }),
    ...(body === undefined ? {} : { body: await readText(cli, body) }),
    ...(assign === undefined ? {} : { assignees: [...assign] }),
    ...(close === true ? { state: "closed" } : {}),
    ...(reopen === true ? { state: "open" } : {}),
  };
  if (Object.keys(changes).length === 0)
    throw new CliError("missing_input", "say what to change: --title, --body, --assign, --close");
  const { body: issue } = await cli.client.call(forge.editIssue, {
    params: { owner, repo, index },
    body: changes,
  });
  await cli.output.resource(issue, issueLines);
}

interface IssueCommentOptions extends IssueName {
  readonly body: string;
}

const commentIssue = {
  operations: [forge.createIssueComment],
  output: resourceOf(forge.createIssueComment, 201),
  define(command, cli, run = runIssueComment): void {
    command
      .argument("<issue>", "the issue as OWNER/NAME#NUMBER")
      .requiredOption("--body <text>", 'the text, as Markdown; "-" reads standard input')
      .action((given: string, options: { readonly body: string }) =>
        run(cli, { ...toIssueName(given), ...options }),
      );
  },
} satisfies CommandModule;

/** Adds a comment and prints it. */
async function runIssueComment(
  cli: CliContext,
  { owner, repo, index, body }: IssueCommentOptions,
): Promise<void> {
  const { body: comment } = await cli.client.call(forge.createIssueComment, {
    params: { owner, repo, index },
    body: { body: await readText(cli, body) },
  });
  await cli.output.resource(comment, commentColumns);
}

/** An issue in a table. */
const issueColumns: readonly Column<WireIssue>[] = [
  { header: "number", cell: ({ number }) => number },
  { header: "state", cell: ({ state }) => state },
  { header: "title", cell: ({ title }) => title },
  { header: "author", cell: ({ user }) => user?.login },
  { header: "comments", cell: ({ comments }) => comments },
  { header: "updated", cell: ({ updated_at: updatedAt }) => time(updatedAt) },
];

/** One issue, with what does not fit into a table. */
const issueLines: readonly Column<WireIssue>[] = [
  ...issueColumns,
  { header: "assignees", cell: ({ assignees }) => (assignees ?? []).map(({ login }) => login) },
  { header: "labels", cell: ({ labels }) => labels.map(({ name }) => name) },
  { header: "due", cell: ({ due_date: due }) => (due === null ? undefined : time(due)) },
  { header: "address", cell: ({ html_url: address }) => address },
  { header: "body", cell: ({ body }) => body },
];

const commentColumns: readonly Column<WireComment>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "author", cell: ({ user }) => user?.login },
  { header: "created", cell: ({ created_at: createdAt }) => time(createdAt) },
  { header: "body", cell: ({ body }) => body },
];
