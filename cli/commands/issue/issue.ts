import type { WireComment } from "../../../daemon/contract/forge/issues/issues.ts";
import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import { CliError } from "../../errors.ts";
import { type Column, time } from "../../output/cells.ts";
import { listOf, resourceOf } from "../../output/spec.ts";
import { addValue, issueColumns, issueLines, toListState } from "../../support/issues.ts";
import { openPage, toLogins } from "../../support/person.ts";
import { repositoryArgument, issueArgument } from "../../support/repository.ts";
import { readTextFlags } from "../../support/input.ts";
import { type Entry, noun } from "../../tree/entry.ts";
import { command } from "../../tree/command.ts";

export const entries: readonly Entry[] = [
  command("list", "List issues of a repository", {
    aliases: ["ls"],
    args: repositoryArgument,
    flags: {
      "-s, --state <state>": { help: "open, closed or all; open when absent", parse: toListState },
      "-S, --search <text>": "found in title or text",
      "-A, --author <username>": "opened by this user; @me is you",
      "-a, --assignee <username>": "assigned to this user; @me is you",
      "--mentions <username>": "mentioning this user in the text or a comment; @me is you",
      "-l, --label <name>": { help: "with this label; may be repeated", parse: addValue },
      "-m, --milestone <title>": "in this milestone",
      "--since <time>": "changed at this time or later, such as 2026-11-21T12:00:00Z",
      "--before <time>": "changed at this time or earlier",
    },
    calls: [forge.listIssues, forge.getCurrentUser],
    output: listOf(forge.listIssues),
    examples: [
      ["List open issues", "croft issue list keeper/notes"],
      ["List the issues assigned to you", "croft issue list keeper/notes -a @me"],
      [
        "List closed bugs of a user",
        "croft issue list keeper/notes --state closed --label bug --assignee mira",
      ],
    ],
    /** Prints issues of a repository, newest first. */
    async run(cli, { repository, ...flags }) {
      const options = { ...repository, ...flags };
      const { owner, repo, state, search, label, milestone, since, before } = options;
      const [author, assignee, mentions] = await toLogins(cli, [
        options.author,
        options.assignee,
        options.mentions,
      ]);
      const query = {
        type: "issues",
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
    },
  }),
  command(
    "search",
    "Search the issues of all repositories",
    async () => (await import("./search.ts")).searchIssues,
  ),
  command(
    "status",
    "List open issues that concern you",
    async () => (await import("./search.ts")).issueStatus,
  ),
  command("view", "Show an issue and its comments", {
    args: issueArgument,
    flags: { "-c, --comments": "with its comments", "-w, --web": "open its page in the browser" },
    calls: [forge.getIssue, forge.listIssueComments],
    output: resourceOf(forge.getIssue, 200, {
      comment_list: { type: "array", items: { type: "object" } },
    }),
    examples: [
      ["Show an issue", "croft issue view keeper/notes#7"],
      ["Show it with its comments", "croft issue view keeper/notes#7 --comments"],
    ],
    /** Prints one issue, optionally with its comments. */
    async run(cli, { comments = false, web = false, issue: { owner, repo, index } }) {
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
    },
  }),
  command(
    "timeline",
    "List the comments and events of an issue",
    async () => (await import("./search.ts")).listTimeline,
  ),
  command("create", "Create an issue", async () => (await import("./create.ts")).createIssue),
  command(
    "develop",
    "Make a branch for an issue and switch to it",
    async () => (await import("./develop.ts")).developIssue,
  ),
  command(
    "edit",
    "Edit, close or reopen an issue",
    async () => (await import("./edit.ts")).editIssue,
  ),
  command("close", "Close an issue", async () => (await import("./edit.ts")).closeIssue),
  command("reopen", "Reopen an issue", async () => (await import("./edit.ts")).reopenIssue),
  command("comment", "Comment on an issue", {
    args: issueArgument,
    flags: {
      "-b, --body <text>": 'the text, as Markdown; "-" reads standard input',
      "-F, --body-file <file>": 'a file with the text; "-" reads standard input',
    },
    calls: [forge.createIssueComment],
    output: resourceOf(forge.createIssueComment, 201),
    examples: [
      ["Comment on an issue", 'croft issue comment keeper/notes#7 --body "Seen here as well"'],
      ["Comment with a text from a file", "croft issue comment keeper/notes#7 --body - < notes.md"],
    ],
    async run(cli, { issue: { owner, repo, index }, ...flags }) {
      const body = await readTextFlags(cli, flags);
      if (body === undefined)
        throw new CliError("missing_input", "the comment has no text: give --body or --body-file");
      const { body: comment } = await cli.client.call(forge.createIssueComment, {
        params: { owner, repo, index },
        body: { body },
      });
      await cli.output.resource(comment, commentColumns);
    },
  }),
  command(
    "attach",
    "Attach a file to an issue or a comment",
    async () => (await import("./attachment.ts")).attachFile,
  ),
  noun("attachment", "Manage the files of issues and comments", () => import("./attachment.ts")),
  command(
    "react",
    "React to an issue or a comment",
    async () => (await import("./states.ts")).react,
  ),
  command("lock", "Lock an issue", async () => (await import("./states.ts")).lockIssue),
  command("unlock", "Unlock an issue", async () => (await import("./states.ts")).unlockIssue),
  command("pin", "Pin an issue", async () => (await import("./states.ts")).pinIssue),
  command("unpin", "Unpin an issue", async () => (await import("./states.ts")).unpinIssue),
  command(
    "templates",
    "List the issue templates of a repository",
    async () => (await import("./create.ts")).listTemplates,
  ),
  noun("dependency", "Manage dependencies of issues", () => import("./dependency.ts")),
  noun("time", "Track time on issues", () => import("./time.ts")),
  command(
    "delete",
    "Delete an issue with its comments",
    async () => (await import("./states.ts")).deleteIssue,
    { aliases: ["rm"] },
  ),
];

const commentColumns: readonly Column<WireComment>[] = [
  { header: "id", cell: ({ id }) => id },
  { header: "author", cell: ({ user }) => user?.login },
  { header: "created", cell: ({ created_at: createdAt }) => time(createdAt) },
  { header: "body", cell: ({ body }) => body },
];
