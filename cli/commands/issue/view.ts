import type { Command } from "commander";
import type {
  getIssue as getIssueEndpoint,
  listIssueComments as listIssueCommentsEndpoint,
} from "../../../daemon/contract/forge/issues.ts";
import { operation } from "../../client/operation.ts";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { issueLines } from "./issue-columns.ts";
import { type IssueName, toIssueName } from "./issue-name.ts";

const getIssue = operation<typeof getIssueEndpoint>(
  "forge.issues.get",
  "GET",
  "/api/v1/repos/:owner/:repo/issues/:index",
);
const listIssueComments = operation<typeof listIssueCommentsEndpoint>(
  "forge.issues.comments.list",
  "GET",
  "/api/v1/repos/:owner/:repo/issues/:index/comments",
);

export const operations = [getIssue, listIssueComments];
export const output = resourceOf(getIssue, 200, {
  comment_list: { type: "array", items: { type: "object" } },
});

/** What the command was given. */
export interface IssueViewOptions extends IssueName {
  readonly comments?: boolean;
}

export function define(command: Command, cli: CliContext, run = runIssueView): void {
  command
    .argument("<issue>", "the issue as OWNER/NAME#NUMBER")
    .option("--comments", "with its comments")
    .action((given: string, options: { readonly comments?: boolean }) =>
      run(cli, { ...toIssueName(given), ...options }),
    );
}

/** Prints one issue, with its comments when they are asked for. */
async function runIssueView(
  cli: CliContext,
  { comments = false, owner, repo, index }: IssueViewOptions,
): Promise<void> {
  const params = { owner, repo, index };
  const { body: issue } = await cli.client.call(getIssue, { params });
  if (!comments) return cli.output.resource(issue, issueLines);
  const { body: list } = await cli.client.call(listIssueComments, { params });
  const lines = list.map((comment, at) => ({
    header: `comment ${at + 1}`,
    cell: () => `${comment.user?.login ?? "somebody"}: ${comment.body}`,
  }));
  await cli.output.resource({ ...issue, comment_list: list }, [...issueLines, ...lines]);
}
