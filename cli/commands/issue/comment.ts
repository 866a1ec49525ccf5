import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { commentColumns } from "./issue-columns.ts";
import { type IssueName, readText, toIssueName } from "./issue-name.ts";

export const operations = [forge.createIssueComment];
export const output = resourceOf(forge.createIssueComment, 201);

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
  const { body: comment } = await cli.client.call(forge.createIssueComment, {
    params: { owner, repo, index },
    body: { body: await readText(cli, body) },
  });
  await cli.output.resource(comment, commentColumns);
}
