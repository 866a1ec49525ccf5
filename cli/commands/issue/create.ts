import { forge } from "../../client/operations.ts";
import type { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { resourceOf } from "../../output/spec.ts";
import { type RepositoryName, toRepositoryName } from "../repo/repo-name.ts";
import { issueLines } from "./issue-columns.ts";
import { readText } from "./issue-name.ts";

export const operations = [forge.createIssue];
export const output = resourceOf(forge.createIssue, 201);

/** What the command was given. */
export interface IssueCreateOptions extends RepositoryName {
  readonly title: string;
  readonly body?: string;
  readonly assign?: readonly string[];
}

export function define(command: Command, cli: CliContext, run = runIssueCreate): void {
  command
    .argument("<repository>", "the repository as OWNER/NAME")
    .requiredOption("--title <text>", "what it is about")
    .option("--body <text>", 'its text, as Markdown; "-" reads standard input')
    .option("--assign <username...>", "assign these users")
    .action((given: string, options: Omit<IssueCreateOptions, keyof RepositoryName>) =>
      run(cli, { ...toRepositoryName(given), ...options }),
    );
}

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
