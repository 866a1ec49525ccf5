import type { WireChangedFile } from "../../../daemon/contract/forge/pulls/pull-changes.ts";
import type { WireReview, WireReviewLine } from "../../../daemon/contract/forge/pulls/reviews.ts";
import { forge } from "../../client/operations.ts";
import { forgePages } from "../../client/paging.ts";
import { CliError, usageError } from "../../errors.ts";
import { readAll, readPages, wholeList } from "../../output/pages.ts";
import { type Column, time } from "../../output/cells.ts";
import { listOf, resourceOf, shape, unpagedList } from "../../output/spec.ts";
import { printText } from "../repo-log.ts";
import { readTextFlags } from "../../support/input.ts";
import { addValue, findMilestoneId, toListState } from "../../support/issues.ts";
import { findIssueLabelIds } from "../../support/labels.ts";
import { openPage, toLogins } from "../../support/person.ts";
import { readStatuses } from "../../support/commit-threads.ts";
import { findPullName, pullArgument, pullColumns, pullLines } from "../../support/pulls.ts";
import { repositoryArgument } from "../../support/repository.ts";
import type { Entry } from "../../tree/entry.ts";
import { command } from "../../tree/command.ts";

const all = { page: undefined, limit: undefined, all: true } as const;

export const entries: readonly Entry[] = [
  command(
    "create",
    "Open a pull request from the current branch",
    async () => (await import("./create.ts")).createPull,
    { aliases: ["new"] },
  ),
  command("list", "List pull requests of a repository", {
    aliases: ["ls"],
    args: repositoryArgument,
    flags: {
      "-s, --state <state>": { help: "open, closed or all; open when absent", parse: toListState },
      "-A, --author <username>": "opened by this user; @me is you",
      "-B, --base <branch>": "into this branch",
      "-l, --label <name>": { help: "with this label; may be repeated", parse: addValue },
      "-m, --milestone <title>": "in this milestone",
      "--sort <order>": {
        help: "the order; the newest first by default",
        choices: ["oldest", "recentupdate", "leastupdate", "mostcomment", "leastcomment"],
      },
    },
    calls: [
      forge.listPulls,
      forge.listLabels,
      forge.listOrgLabels,
      forge.getMilestone,
      forge.getCurrentUser,
    ],
    output: listOf(forge.listPulls),
    examples: [
      ["List the open pull requests", "croft pr list keeper/notes"],
      ["List all of yours into main", "croft pr list keeper/notes -s all -A @me --base main"],
    ],
    async run(cli, { repository: params, author, base, label, milestone, ...flags }) {
      const [poster] = await toLogins(cli, author === undefined ? [] : [author]);
      const labels = label && (await findIssueLabelIds(cli, params, label));
      const query = {
        state: flags.state ?? "open",
        ...(flags.sort === undefined ? {} : { sort: flags.sort }),
        ...(poster === undefined ? {} : { poster }),
        ...(base === undefined ? {} : { base_branch: base }),
        ...(labels === undefined ? {} : { labels: labels.map(String) }),
        ...(milestone === undefined
          ? {}
          : { milestone: await findMilestoneId(cli, params, milestone) }),
      };
      await cli.output.list(
        forgePages(cli.client, forge.listPulls, { params, query }),
        pullColumns,
      );
    },
  }),
  command("status", "List open pull requests that concern you", {
    args: repositoryArgument,
    calls: [forge.listPulls, forge.getCurrentUser],
    output: unpagedList({
      relation: "string",
      number: "integer",
      title: "string",
      html_url: "string",
      updated_at: "string",
    }),
    examples: [
      ["List your pull requests and those that wait for you", "croft pr status keeper/notes"],
      [
        "Print the numbers of those that wait for your review",
        "croft pr status keeper/notes --jq '.[] | select(.relation == \"review\") | .number'",
      ],
    ],
    /** Prints the open pull requests of the caller, those assigned to them, and those that wait for their review. */
    async run(cli, { repository: params }) {
      const [login] = await toLogins(cli, ["@me"]);
      const isMe = (user: { readonly login: string } | null) => user?.login === login;
      const rows: StatusRow[] = [];
      const source = forgePages(cli.client, forge.listPulls, { params, query: { state: "open" } });
      for await (const { items } of readPages(source, all))
        for (const pull of items) {
          const relations = {
            created: isMe(pull.user),
            review: pull.requested_reviewers?.some(isMe) === true,
            assigned: pull.assignees?.some(isMe) === true,
          };
          const { number, title, html_url: url, updated_at: updatedAt } = pull;
          for (const [relation, holds] of Object.entries(relations))
            if (holds) rows.push({ relation, number, title, html_url: url, updated_at: updatedAt });
        }
      await cli.output.list(wholeList(rows), statusColumns);
    },
  }),
  command("view", "Show a pull request", {
    args: pullArgument,
    flags: {
      "-c, --comments": "with its comments and reviews",
      "-w, --web": "open its page in the browser",
    },
    calls: [
      forge.listPulls,
      forge.getPull,
      forge.listIssueComments,
      forge.listReviews,
      forge.listPullReviewLines,
    ],
    output: resourceOf(forge.getPull, 200, {
      comment_list: { type: "array", items: { type: "object" } },
      review_list: { type: "array", items: { type: "object" } },
      line_list: { type: "array", items: { type: "object" } },
    }),
    examples: [
      ["Show a pull request", "croft pr view keeper/notes#7"],
      ["Show it with its comments and reviews", "croft pr view keeper/notes#7 --comments"],
    ],
    async run(cli, { comments = false, web = false, ...flags }) {
      const params = await findPullName(cli, flags);
      const { body: pull } = await cli.client.call(forge.getPull, { params });
      if (web) openPage(cli, pull.html_url);
      if (!comments) return cli.output.resource(pull, pullLines);
      const { body: list } = await cli.client.call(forge.listIssueComments, { params });
      const reviews = await readAll(forgePages(cli.client, forge.listReviews, { params }));
      const { body: onLines } = await cli.client.call(forge.listPullReviewLines, { params });
      const lines = [
        ...list.map(({ user, body }, at) => ({
          header: `comment ${at + 1}`,
          cell: () => `${user?.login ?? "a deleted account"}: ${body}`,
        })),
        ...reviews.map((review, at) => ({
          header: `review ${at + 1}`,
          cell: () => describeReview(review),
        })),
        ...onLines.map((line) => ({
          header: `comment on line ${line.id}`,
          cell: () => describeLine(line),
        })),
      ];
      const whole = { ...pull, comment_list: list, review_list: reviews, line_list: onLines };
      await cli.output.resource(whole, [...pullLines, ...lines]);
    },
  }),
  command("checks", "Show the checks of a pull request", {
    args: pullArgument,
    calls: [forge.listPulls, forge.getPull, forge.getCombinedStatus],
    output: unpagedList({
      context: "string",
      status: "string",
      description: "string",
      target_url: "string",
    }),
    examples: [
      ["Show the checks", "croft pr checks keeper/notes#7"],
      ["Print the names of those that failed", "croft pr checks keeper/notes#7 --jq '.[].context'"],
    ],
    /** Prints the latest status of each check of the head. */
    async run(cli, flags) {
      const params = await findPullName(cli, flags);
      const { body: pull } = await cli.client.call(forge.getPull, { params });
      const statuses = await readStatuses(cli, { ...params, ref: pull.head.sha });
      const rows = statuses.map((status) => ({
        context: status.context,
        status: status.status,
        description: status.description,
        target_url: status.target_url,
      }));
      await cli.output.list(wholeList(rows), [
        { header: "check", cell: ({ context }) => context },
        { header: "status", cell: ({ status }) => status },
        { header: "description", cell: ({ description }) => description },
        { header: "address", cell: ({ target_url: address }) => address },
      ]);
    },
  }),
  command(
    "checkout",
    "Switch to the branch of a pull request",
    async () => (await import("./checkout.ts")).checkoutPull,
    { aliases: ["co"] },
  ),
  command("diff", "Show the changes of a pull request", {
    args: pullArgument,
    flags: {
      "--patch": "as patches for git am, one for each commit",
      "--binary": "with the bytes of binary files, for git apply",
      "--name-only": "the files alone",
    },
    calls: [forge.listPulls, forge.listPullFiles, forge.getPullDiff, forge.getPullPatch],
    output: listOf(forge.listPullFiles),
    examples: [
      ["Show the changes", "croft pr diff keeper/notes#7"],
      ["List the changed files", "croft pr diff keeper/notes#7 --name-only"],
    ],
    /** Prints the diff; in machine modes and with `--name-only` the changed files. */
    async run(cli, { patch = false, binary = false, nameOnly = false, ...flags }) {
      if (patch && (binary || nameOnly))
        throw usageError("--patch excludes --binary and --name-only");
      const params = await findPullName(cli, flags);
      if (nameOnly || cli.output.isMachine) {
        const pages = forgePages(cli.client, forge.listPullFiles, { params });
        return cli.output.list(pages, fileColumns);
      }
      return printText(
        cli,
        patch
          ? await cli.client.download(forge.getPullPatch, { params })
          : await cli.client.download(forge.getPullDiff, { params, query: { binary } }),
      );
    },
  }),
  command("merge", "Merge a pull request", async () => (await import("./merge.ts")).mergePull),
  command(
    "revert",
    "Open a pull request that takes a merged one back",
    async () => (await import("./merge.ts")).revertPull,
  ),
  command("update", "Bring the commits of the base into a pull request", {
    args: pullArgument,
    flags: { "--rebase": "apply its commits on top of the base instead of a merge" },
    calls: [forge.listPulls, forge.updatePull],
    output: shape({ updated: "boolean", number: "string" }),
    examples: [
      ["Merge the base into the branch", "croft pr update keeper/notes#7"],
      ["Rebase the branch", "croft pr update keeper/notes#7 --rebase"],
    ],
    async run(cli, { rebase = false, ...flags }) {
      const params = await findPullName(cli, flags);
      const query = { style: rebase ? "rebase" : "merge" };
      await cli.client.call(forge.updatePull, { params, query });
      const name = `${params.owner}/${params.repo}#${params.index}`;
      await cli.output.done({ updated: true, number: params.index }, `Updated ${name}.`);
    },
  }),
  command("edit", "Edit a pull request", async () => (await import("./edit.ts")).editPull),
  command(
    "ready",
    "Mark a draft as ready for review",
    async () => (await import("./edit.ts")).markReady,
  ),
  command("close", "Close a pull request", async () => (await import("./edit.ts")).closePull),
  command("reopen", "Reopen a pull request", async () => (await import("./edit.ts")).reopenPull),
  command("review", "Review a pull request", async () => (await import("./review.ts")).reviewPull),
  command(
    "apply",
    "Apply suggestions of a review",
    async () => (await import("./review.ts")).applySuggestions,
  ),
  command("comment", "Comment on a pull request", {
    args: pullArgument,
    flags: {
      "-b, --body <text>": 'the text, as Markdown; "-" reads standard input',
      "-F, --body-file <file>": 'a file with the text; "-" reads standard input',
    },
    calls: [forge.listPulls, forge.createIssueComment],
    output: resourceOf(forge.createIssueComment, 201),
    examples: [
      ["Comment on a pull request", 'croft pr comment keeper/notes#7 --body "Well done"'],
      ["Comment with a text from a file", "croft pr comment keeper/notes#7 --body - < notes.md"],
    ],
    async run(cli, { pull, body: text, bodyFile, ...rest }) {
      const body = await readTextFlags(cli, { body: text, bodyFile });
      if (body === undefined)
        throw new CliError("missing_input", "the comment has no text: give --body or --body-file");
      const params = await findPullName(cli, { pull, ...rest });
      const { body: comment } = await cli.client.call(forge.createIssueComment, {
        params,
        body: { body },
      });
      await cli.output.resource(comment, [
        { header: "id", cell: ({ id }) => id },
        { header: "author", cell: ({ user }) => user?.login },
        { header: "address", cell: ({ html_url: address }) => address },
        { header: "body", cell: ({ body: written }) => written },
      ]);
    },
  }),
];

const fileColumns: readonly Column<WireChangedFile>[] = [
  { header: "file", cell: ({ filename }) => filename },
  { header: "status", cell: ({ status }) => status },
  { header: "additions", cell: ({ additions }) => additions },
  { header: "deletions", cell: ({ deletions }) => deletions },
];

/** A pull request in one of the lists of `status`. */
interface StatusRow {
  readonly relation: string;
  readonly number: number;
  readonly title: string;
  readonly html_url: string;
  readonly updated_at: string;
}

const statusColumns: readonly Column<StatusRow>[] = [
  { header: "relation", cell: ({ relation }) => relation },
  { header: "number", cell: ({ number }) => number },
  { header: "title", cell: ({ title }) => title },
  { header: "updated", cell: ({ updated_at: updatedAt }) => time(updatedAt) },
];

function describeReview({ user, team, state, body }: WireReview): string {
  const who = user?.login ?? team?.name ?? "a deleted account";
  const text = body === "" ? "" : `: ${body}`;
  return `${who}, ${state.toLowerCase().replaceAll("_", " ")}${text}`;
}

function describeLine({ user, path, line, outdated, resolver, body }: WireReviewLine): string {
  const place = outdated ? `${path}, outdated` : `${path}:${line}`;
  const state = resolver === null ? "" : ", resolved";
  return `${user?.login ?? "a deleted account"}, ${place}${state}: ${body}`;
}
