import type { Command } from "commander";
import type { createIssueComment as createIssueCommentEndpoint } from "../../../daemon/contract/forge/issues.ts";
import { operation } from "../../client/operation.ts";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { commentColumns } from "./issue-columns.ts";
import { type IssueName, readText, toIssueName } from "./issue-name.ts";

const createIssueComment = operation<typeof createIssueCommentEndpoint>(
  "forge.issues.comments.create",
  "POST",
  "/api/v1/repos/:owner/:repo/issues/:index/comments",
);

export const operations = [createIssueComment];
export const output = resourceOf(createIssueComment, 201);

/** What the command was given. */
export interface IssueCommentOptions extends IssueName {
  readonly body: string;
}

export function define(command: Command, cli: CliContext, run = runIssueComment): void {
  command
    .argument("<issue>", "the issue as OWNER/NAME#NUMBER")
    .requiredOption("--body <text>", 'the text, as Markdown; "-" reads standard input')
    .action((given: string, options: { readonly body: string }) =>
      run(cli, { ...toIssueName(given), ...options }),
    );
}

/** Adds a comment and prints it. */
async function runIssueComment(
  cli: CliContext,
  { owner, repo, index, body }: IssueCommentOptions,
): Promise<void> {
  const { body: comment } = await cli.client.call(createIssueComment, {
    params: { owner, repo, index },
    body: { body: await readText(cli, body) },
  });
  await cli.output.resource(comment, commentColumns);
}
