import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { issueLines } from "./issue-columns.ts";
import { type IssueName, toIssueName } from "./issue-name.ts";

export const operations = [forge.getIssue, forge.listIssueComments];
export const output = resourceOf(forge.getIssue, 200, {
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
  const { body: issue } = await cli.client.call(forge.getIssue, { params });
  if (!comments) return cli.output.resource(issue, issueLines);
  const { body: list } = await cli.client.call(forge.listIssueComments, { params });
  const lines = list.map((comment, at) => ({
    header: `comment ${at + 1}`,
    cell: () => `${comment.user?.login ?? "somebody"}: ${comment.body}`,
  }));
  await cli.output.resource({ ...issue, comment_list: list }, [...issueLines, ...lines]);
}
